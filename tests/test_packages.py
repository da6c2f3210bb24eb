"""``pip install dpframe``, from the wheels and source distributions that ``make dist`` makes, in an empty environment.

The other libraries are the newest that the declared dependencies allow: the development environment, with
``dpframe-pld``, holds some of them back.
"""

from __future__ import annotations

import json
import re
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import dpframe as dp
from dpframe import discovery
from tests.support.packages import ROOT, distributions, empty_environment, pip, run
from tests.support.pages import blocks

PLUGINS = {path.name: path for path in ROOT.glob("plugins/*") if path.is_dir()}
FOLDERS = {"dpframe": ROOT, "dpframe-core": ROOT / "core", **PLUGINS}
MISSION = {f"dpframe-{name}" for name in ("adaptive", "gaussian", "laplace", "orbit", "spiked")}
PLAN = """format = 1
rows = {neighbors = "add-remove", columns = [{name = "a", low = 0.0, high = 1.0}, {name = "b", low = 0.0, high = 1.0}]}
budget = {epsilon = 1.0, delta = 1e-6}
steps = [{release = "moment", with = "gaussian"}]
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of each distribution; its source distribution is beside it."""
    found = distributions(list(FOLDERS.values()), tmp_path_factory.mktemp("dist"))
    return {path.name.split("-")[0].replace("_", "-"): path for path in found}


@pytest.fixture(scope="module")
def installed(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment where ``pip install dpframe`` was said, and nothing else."""
    python = empty_environment(tmp_path_factory.mktemp("installed"))
    pip(python, "install", "--no-compile", "--find-links", str(built["dpframe"].parent), str(built["dpframe"]))
    return python


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def test_every_plugin_of_the_project_comes_with_it_or_is_an_extra() -> None:
    assert {name: name for name in FOLDERS} == {name: project(folder)["name"] for name, folder in FOLDERS.items()}
    whole = project(ROOT)
    brought = {Requirement(text).name for text in whole["dependencies"]}
    extras = {f"dpframe-{name}" for name in whole["optional-dependencies"]}
    assert MISSION | {"dpframe-core"} <= brought
    assert set(PLUGINS) == (brought | extras) & set(PLUGINS)


def test_each_is_built_from_its_source_and_points_to_no_folder(built: dict[str, Path]) -> None:
    assert set(FOLDERS) == set(built)
    for name, wheel in built.items():
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
            (metadata,) = [member for member in names if member.endswith(".dist-info/METADATA")]
            head = Parser().parsestr(opened.read(metadata).decode())
        wanted = [Requirement(text) for text in head.get_all("Requires-Dist", [])]
        assert [] == [each for each in wanted if each.url is not None]
        package = {"dpframe": None, "dpframe-core": "dpframe"}.get(name, name.replace("-", "_"))
        assert {package} - {None} == {member.split("/")[0] for member in names if ".dist-info/" not in member}
        source = wheel.with_name(re.sub(r"-py3-none-any\.whl$", ".tar.gz", wheel.name))
        with tarfile.open(source) as archive:
            assert any(member.endswith("/LICENSE") for member in archive.getnames())


def test_every_module_and_file_of_the_core_is_in_its_wheel(built: dict[str, Path]) -> None:
    here = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "dpframe").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(built["dpframe-core"]) as opened:
        assert here == {member for member in opened.namelist() if ".dist-info/" not in member}


def test_one_install_brings_everything_and_holds_no_library_back(installed: Path, tmp_path: Path) -> None:
    code = "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    versions = json.loads(run(installed, "-c", code, cwd=tmp_path))
    assert set(versions) >= {"dpframe", "dpframe-core", *MISSION}
    assert not {"dpframe-pld", "dp-accounting"} & set(versions)
    assert Version("24") <= Version(versions["attrs"])
    assert dp.__version__ == versions["dpframe"] == versions["dpframe-core"]
    plugins = json.loads(run(installed, "-m", "dpframe", "plugins", "--json", cwd=tmp_path))
    assert dict.fromkeys(["dpframe", *MISSION], "active") == {each["name"]: each["status"] for each in plugins}


def test_the_first_blocks_of_the_readme_run(installed: Path, tmp_path: Path) -> None:
    found = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    code = [block.body for block in found if block.language == "python"]
    where = "import dpframe; print(dpframe.__file__)\n"
    printed = run(installed, "-W", "error", "-c", where + code[0] + code[1], cwd=tmp_path)
    assert printed.startswith(str(installed.parent.parent))
    assert "epsilon=1, delta=1e-06" in printed


def test_the_command_runs_a_plan(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "data.csv").write_text("a,b\n" + "0.5,0.25\n" * 100)
    command = [str(installed.parent / "dpframe"), "run", "plan.toml", "data.csv", "-o", "out"]
    run(installed, "-W", "error", *command, cwd=tmp_path)
    result = dp.Result.load(tmp_path / "out" / "result.json")
    assert {"dpframe", *MISSION} == set(result.versions)
    assert "Protected is each person" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_what_is_not_installed_is_named_with_how_to_get_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.replace("budget", 'accountant = "pld"\nbudget'))
    told = run(installed, "-m", "dpframe", "explain", "plan.toml", cwd=tmp_path, fails=True)
    assert "provides an accountant named 'pld'. It is in dpframe-pld: pip install dpframe-pld." in told
    (tmp_path / "plan.toml").write_text(PLAN.replace("rows =", 'requires = {dpframe-pld = ">=0.1"}\nrows ='))
    told = run(installed, "-m", "dpframe", "explain", "plan.toml", cwd=tmp_path, fails=True)
    assert "requires dpframe-pld >=0.1, which is not installed. Get it: pip install dpframe-pld." in told


def test_names_of_the_projects_plugins_are_those_that_they_provide() -> None:
    """Whoever adds a name to a plugin adds it to the list from which the advice is taken."""
    typed = ("mechanism ", "postprocessor ", "accountant ")
    provided = {
        info.name: {each for each in info.provides if each.startswith(typed)}
        for info in dp.plugins()
        if info.name in discovery.OWN
    }
    assert {name: set(provides) for name, provides in discovery.OWN.items()} == provided
