"""``dpframe new-plugin``: a package that passes every check it comes with, untouched; or nothing at all."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import dpframe as dp
from dpframe import discovery
from dpframe.cli import main as cli
from dpframe.cli.scaffold import LONGEST, Names, new_plugin
from tests.support.packages import PIP, run
from tests.support.pages import blocks

NAMES = {"lengths": "dpframe-lengths", "dpframe-row-lengths-by-edge": "dpframe-row-lengths-by-edge"}
LONG = "x" * LONGEST

each_folder = pytest.mark.parametrize("folder", NAMES.values())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, untouched, and another, 'site', where they are installed."""
    target = tmp_path_factory.mktemp("written")
    for name in NAMES:
        assert 0 == cli.main(["new-plugin", name, "--directory", str(target)])
    folders = [str(target / folder) for folder in NAMES.values()]
    words = ["install", "--no-deps", "--no-build-isolation", "--target", str(target / "site"), *folders]
    run(sys.executable, *PIP, *words, cwd=target)
    return target


@pytest.mark.parametrize(
    "folder", ["dpframe-lengths", pytest.param(NAMES["dpframe-row-lengths-by-edge"], marks=pytest.mark.long)]
)
def test_it_passes_its_own_tests(written: Path, folder: str) -> None:
    told = run(sys.executable, "-m", "pytest", "-q", cwd=written / folder, path=written / "site")
    assert " passed" in told
    assert "skipped" not in told


def test_it_passes_its_own_style_and_types(written: Path, tmp_path: Path) -> None:
    extremes = [new_plugin(name, tmp_path) for name in (LONG, "a")]  # no line is too long, none could be joined
    for folder in (*extremes, *(written / name for name in NAMES.values())):
        run(sys.executable, "-m", "ruff", "check", ".", cwd=folder)
        run(sys.executable, "-m", "ruff", "format", "--check", ".", cwd=folder)
        run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), cwd=folder)


@each_folder
def test_it_is_found_by_its_entry_point_and_its_readme_runs(written: Path, folder: str) -> None:
    told = run(sys.executable, "-m", "dpframe", "plugins", "--json", cwd=written, path=written / "site")
    (found,) = [plugin for plugin in json.loads(told) if plugin["name"] == folder]
    mechanism = folder.removeprefix("dpframe-")
    assert ("active", "0.1.0", [f"mechanism {mechanism}"]) == (found["status"], found["version"], found["provides"])
    readme = (written / folder / "README.md").read_text(encoding="utf-8")
    (code,) = [block.body for block in blocks(readme) if block.language == "python"]
    run(sys.executable, "-W", "error", "-c", code, cwd=written, path=written / "site")


def test_it_asks_for_this_dpframe(written: Path) -> None:
    project = tomllib.loads((written / "dpframe-lengths" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = [Requirement(text) for text in project["dependencies"] if Requirement(text).name == "dpframe-core"]
    assert wanted.specifier.contains(dp.__version__)


def test_nothing_of_the_template_is_left_to_fill_in(written: Path) -> None:
    files = [path for folder in NAMES.values() for path in (written / folder).rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".toml", ".md")]
    assert [] == [text for text in texts if "@package@" in text or "@class@" in text or "@mechanism@" in text]
    assert [] == [path for path in files if "@" in path.name or path.suffix == ".template"]


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "distribution", "package", "mechanism", "class_"),
    [
        ("lengths", "dpframe-lengths", "dpframe_lengths", "lengths", "LengthsMechanism"),
        ("dpframe-lengths", "dpframe-lengths", "dpframe_lengths", "lengths", "LengthsMechanism"),
        ("a-2d-view", "dpframe-a-2d-view", "dpframe_a_2d_view", "a-2d-view", "A2dViewMechanism"),
        ("none", "dpframe-none", "dpframe_none", "none", "NoneMechanism"),
        (LONG, f"dpframe-{'x' * 32}", f"dpframe_{'x' * 32}", "x" * 32, f"X{'x' * 31}Mechanism"),
    ],
)
def test_names_follow_from_one(name: str, distribution: str, package: str, mechanism: str, class_: str) -> None:
    names = Names.of(name)
    assert (distribution, package, mechanism, class_) == (
        names.distribution,
        names.package,
        names.mechanism,
        names.class_,
    )


@pytest.mark.parametrize(
    "name",
    [
        *("", "-", "a-", "-a", "a--b", "Lengths", "row_lengths", "2d", "a b", "a/b", "../a", "längen", "a.b", "a\n"),
        *("dpframe", "dpframe-", "dpframe-2d", "dpframe-dpframe", "x" * (LONGEST + 1)),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == cli.main(["new-plugin", "--directory", str(tmp_path), "--", name])
    told = capsys.readouterr().err
    assert told.startswith("dpframe: the name of a plugin must be lowercase letters, digits and single hyphens")
    assert f"got {name!r}. Nothing was written." in told
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gaussian", "the mechanism name 'gaussian' is already provided by dpframe-gaussian"),
        ("dpframe-private-quantile", "the mechanism name 'private-quantile' is already provided by dpframe "),
        ("spiked", "the mechanism name 'spiked' is already provided by dpframe-spiked"),
        ("pld", "'dpframe-pld' is already installed"),
        ("later", "'dpframe-later' is the name of a plugin of the project itself"),
    ],
)
def test_a_name_that_is_taken_is_refused(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "OWN", {**discovery.OWN, "dpframe-later": ()})  # one that is not installed
    with pytest.raises(dp.PluginError, match=reason):
        new_plugin(name, tmp_path)
    assert [] == list(tmp_path.iterdir())


# -- places ----------------------------------------------------------------------------------------------------------


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = tmp_path / "dpframe-lengths"
    taken.mkdir()
    assert 1 == cli.main(["new-plugin", "lengths", "--directory", str(tmp_path)])
    assert "dpframe-lengths exists already; nothing was written" in capsys.readouterr().err
    assert ([taken], []) == (list(tmp_path.iterdir()), list(taken.iterdir()))


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "dpframe-lengths").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(dp.DataError, match="exists already"):
        new_plugin("lengths", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert 1 == cli.main(["new-plugin", "lengths", "--directory", str(tmp_path / "file")])
    assert "cannot be written" in capsys.readouterr().err


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.write_text

    def full(path: Path, text: str, encoding: str) -> int:
        if path.name == "README.md":
            raise OSError(28, "No space left on device")
        return real(path, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(dp.DataError, match=r"dpframe-lengths cannot be written: .*No space left"):
        new_plugin("lengths", tmp_path)
    assert [] == list(tmp_path.iterdir())


def test_folders_on_the_way_are_made_and_the_next_step_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 0 == cli.main(["new-plugin", "lengths", "--directory", str(tmp_path / "deep" / "er")])
    folder = tmp_path / "deep" / "er" / "dpframe-lengths"
    assert f"pip install -e '{folder}[dev]'" in capsys.readouterr().out
    assert (folder / "dpframe_lengths" / "py.typed").exists()
