"""The packages in ``examples/``, from wheel to removal, in an environment where nothing else is installed.

They are no part of the development environment: here they meet dpframe as any third-party package does, as wheels next
to its wheel, with the dependencies that their metadata name.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpframe.cli.scaffold import new_plugin
from tests.support.packages import ROOT, empty_environment, pip, run, wheels
from tests.support.pages import blocks, stable

EXAMPLES = {
    "dpframe-oja": ["mechanism noisy-oja-sum", "mechanism oja", "postprocessor oja-step", "statistic oja-sum"],
    "dpframe-varimax": ["postprocessor varimax"],
}
UNKNOWN = {
    "dpframe-oja": "no installed plugin provides a mechanism named 'oja'",
    "dpframe-varimax": "no installed plugin provides a postprocessor named 'varimax'",
}
PLAN = """format = 1

[rows]
neighbors = "add-remove"
norm = 2.0

[budget]
epsilon = 1.0
delta = 1e-6

"""
STEPS = {
    "dpframe-oja": """
[[steps]]
release = "top"
with = "oja"
rounds = 4
clip = 0.25
""",
    "dpframe-varimax": """
[[steps]]
release = "moment"
with = "gaussian"

[[steps]]
derive = "components"
with = "top-subspace"
of = {ref = "moment"}
k = 2

[[steps]]
derive = "top"
with = "varimax"
of = {ref = "components"}
""",
}


def test_every_example_is_here() -> None:
    assert set(EXAMPLES) == {path.parent.name for path in ROOT.glob("examples/*/pyproject.toml")}


def test_examples_from_wheel_to_removal(tmp_path: Path) -> None:
    """One environment for all of it, since making it is most of the work."""
    python = fresh_environment(tmp_path)
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((2000, 4)))
    assert run(python, "-c", "import dpframe; print(dpframe.__file__)", cwd=tmp_path).startswith(str(tmp_path))
    for name, provides in EXAMPLES.items():
        assert ("active", "0.1.0", provides) == told(python, tmp_path)[name]
        run_plan(python, name, tmp_path)
        run_readme(python, name, tmp_path)
        run_tests(python, name, tmp_path)
    words = ["compare.py", "--repeats", "1", "--rows", "300"]
    assert "| oja, clip=0.2 |" in run(python, *words, cwd=ROOT / "examples" / "dpframe-oja")
    run(python, "-m", "dpframe", "new-plugin", "lengths", cwd=tmp_path)  # the whole template is in the wheel
    assert texts(new_plugin("lengths", tmp_path / "here")) == texts(tmp_path / "dpframe-lengths")
    for name, reason in UNKNOWN.items():
        pip(python, "uninstall", "--yes", name)
        assert name not in told(python, tmp_path)
        words = ["run", f"{name}.toml", "rows.npy", "-o", "again"]
        assert reason in run(python, "-m", "dpframe", *words, cwd=tmp_path, fails=True)
        assert not (tmp_path / "again").exists()
    assert {"active"} == {status for status, _, _ in told(python, tmp_path).values()}


def fresh_environment(folder: Path) -> Path:
    """The interpreter of an environment with the wheels of dpframe-core, dpframe-gaussian and the examples."""
    python = empty_environment(folder)
    (folder / "wheels").mkdir()
    folders = [ROOT / "core", ROOT / "plugins" / "dpframe-gaussian", *(ROOT / "examples" / name for name in EXAMPLES)]
    built = wheels(folders, folder / "wheels")
    assert len(folders) == len(built)
    examples = [f"{wheel}[test]" for wheel in built if wheel.name.replace("_", "-").startswith(tuple(EXAMPLES))]
    pip(python, "install", "--no-compile", *map(str, built), *examples)  # most modules are never imported here
    return python


def texts(folder: Path) -> dict[str, str]:
    """Every file of a folder."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def told(python: Path, folder: Path) -> dict[str, Any]:
    """What ``dpframe plugins`` says of each plugin."""
    plugins = json.loads(run(python, "-m", "dpframe", "plugins", "--json", cwd=folder))
    return {plugin["name"]: (plugin["status"], plugin["version"], plugin["provides"]) for plugin in plugins}


def run_plan(python: Path, name: str, folder: Path) -> None:
    (folder / f"{name}.toml").write_text(PLAN + STEPS[name])
    run(python, "-W", "error", "-m", "dpframe", "run", f"{name}.toml", "rows.npy", "-o", f"{name}-result", cwd=folder)
    result = json.loads((folder / f"{name}-result" / "result.json").read_text())
    assert name in result["versions"]
    with np.load(folder / f"{name}-result" / "arrays.npz", allow_pickle=False) as arrays:
        top = arrays["top"]
    assert np.eye(top.shape[1]) == pytest.approx(top.T @ top, abs=1e-9)


def run_tests(python: Path, name: str, folder: Path) -> None:
    """Its own tests and doctests, away from its source, so that they meet the package of the wheel."""
    package = name.replace("-", "_")
    tests = shutil.copytree(ROOT / "examples" / name / "tests", folder / f"{package}_tests")
    words = ["-q", "-W", "error", "--doctest-modules", "--pyargs", package, str(tests)]
    done = run(python, "-P", "-m", "pytest", *words, cwd=folder)
    assert "checks passed, 0 failed" in done  # the kit's own words


def run_readme(python: Path, name: str, folder: Path) -> None:
    """Its Python blocks run, and print what it shows."""
    found = blocks((ROOT / "examples" / name / "README.md").read_text(encoding="utf-8"))
    code = "\n".join(block.body for block in found if block.language == "python")
    shown = "".join(block.body for block in found if block.mark == "output")
    assert code
    assert stable(shown) == stable(run(python, "-W", "error", "-c", code, cwd=folder))
