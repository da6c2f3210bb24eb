"""Tests lie where the modules they are about lie, share by tests/support and not by each other, and none is long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CORE = TESTS.parent / "dpframe"
MOST_LINES = 500
NO_MIRRORS = {"support", "properties", "golden"}
"""What is shared, what spans modules, and data."""


def imported(tree: ast.Module) -> Iterator[str]:
    """Everything that a module imports, wherever it does, in dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def of_files(tests: Path) -> Iterator[str]:
    """Tests that import tests, and files that are too long."""
    for path in sorted(tests.rglob("*.py")):
        name, text = path.relative_to(tests).as_posix(), path.read_text(encoding="utf-8")
        for module in imported(ast.parse(text)):
            if any(part.startswith("test_") for part in module.split(".")):
                yield f"{name} imports {module}: what tests share is in tests/support"
        if (lines := len(text.splitlines())) > MOST_LINES:
            yield f"{name} has {lines} lines, more than {MOST_LINES}"


def of_folders(tests: Path, core: Path) -> Iterator[str]:
    """Folders of tests that are no package, or mirror none."""
    for folder in sorted({path.parent for path in tests.rglob("*.py")} - {tests}):
        name = folder.relative_to(tests)
        if not (folder / "__init__.py").exists():
            yield f"{name.as_posix()} has no __init__.py"
        if name.parts[0] not in NO_MIRRORS and not (core / name / "__init__.py").exists():
            yield f"{name.as_posix()} mirrors no package of {core.name}"


def test_tests_import_no_tests_and_are_short() -> None:
    assert [] == list(of_files(TESTS))


def test_folders_mirror_packages() -> None:
    assert [] == list(of_folders(TESTS, CORE))


IMPORTS = [
    "import tests.noise.test_laws",
    "from tests.noise.test_laws import CASES",
    "from tests.noise import exact, test_laws",
    "from .test_laws import CASES",
    "from . import test_laws",
    "def test() -> None:\n    from tests.noise.test_laws import CASES",
    "if TYPE_CHECKING:\n    from tests.noise.test_laws import Case",
]


@pytest.mark.parametrize("code", IMPORTS)
def test_an_import_of_a_test_is_found(code: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import pytest\nfrom tests.support import laws\n", encoding="utf-8")
    assert [] == list(of_files(tmp_path))
    (tmp_path / "conftest.py").write_text(code, encoding="utf-8")
    (found,) = of_files(tmp_path)
    assert found.startswith("conftest.py imports ")


def test_a_long_file_is_found(tmp_path: Path) -> None:
    path = tmp_path / "support" / "planted.py"
    path.parent.mkdir()
    path.write_text("\n" * MOST_LINES, encoding="utf-8")
    assert [] == list(of_files(tmp_path))
    path.write_text("\n" * (MOST_LINES + 1), encoding="utf-8")
    assert ["support/planted.py has 501 lines, more than 500"] == list(of_files(tmp_path))


def test_a_folder_that_mirrors_nothing_is_found(tmp_path: Path) -> None:
    tests, core = tmp_path / "tests", tmp_path / "core"
    for folder in (core / "reading" / "kernels", *(tests / name for name in ("reading/kernels", "support", "golden"))):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder.parent / "__init__.py").touch()
    (tests / "gone" / "__pycache__").mkdir(parents=True)  # left behind by a move
    assert [] == list(of_folders(tests, core))
    for name in ("writing", "reading/pixels"):
        (tests / name).mkdir()
        (tests / name / "test_it.py").touch()
    (tests / "writing" / "__init__.py").touch()
    expected = [
        "reading/pixels has no __init__.py",
        "reading/pixels mirrors no package of core",
        "writing mirrors no package of core",
    ]
    assert expected == list(of_folders(tests, core))
