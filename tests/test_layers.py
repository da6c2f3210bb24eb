"""Imports go from the higher layers to the lower ones, and plugins know the public namespaces only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from docs.figures.layers import APART, LAYERS

ROOT = Path(__file__).parent.parent
CORE = ROOT / "dpframe"
ORDER = [room for layer in LAYERS for room in layer]
TOP = ("__init__", "__main__", "plugin")
"""Modules above all layers: they gather what others define."""

LAZY = {
    ("interfaces", "statistics"): "a mechanism reads the second moment unless it says otherwise",
    ("discovery", "builtin"): "what the core provides is found in the same way as plugins",
    ("reading", "statistics"): "`PrivateData.moment` names the statistic that almost every mechanism reads",
    ("builtin", "forecast"): "the core's own oracle simulates; it is provided through a hook as others are",
    ("spec", "display"): "a promise about rows is shown as HTML in notebooks",
    ("spec", "run"): "it is shown in the words of reports",
    ("plan", "run"): "`plan.run` and `plan.explain` are methods of the plan for users",
    ("plan", "forecast"): "`plan.require` and `plan.required_rows` are methods of the plan for users",
    ("run", "plots"): "`result.plot` is a method of the result for users",
    ("forecast", "plots"): "`comparison.plot` is a method of the comparison for users",
    ("run", "ledger"): "a run is charged to a ledger only where one is given",
    ("run", "forecast"): "`plan.explain` simulates only where simulations= or rows= asks for it",
}
"""Imports inside functions that go up, each with its reason."""


@attrs.frozen
class Import:
    """One import of a module of the core, or of the names of its namespace."""

    room: str
    module: str
    line: int
    inside: bool  # a function


def imports(tree: ast.Module, package: str = "dpframe") -> Iterator[Import]:
    """What a module imports when it runs; what only a type checker reads does not count."""

    def walk(node: ast.AST, inside: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for other in node.orelse:
                yield from walk(other, inside)
            return
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [f"{base}.{alias.name}" for alias in node.names] if base == package else [base]
            if node.level:
                names = [f"{package}.?"]  # relative imports would hide the layer
        for name in names:
            if name == package or name.startswith(f"{package}."):
                yield Import(name.split(".")[1] if "." in name else "", name, getattr(node, "lineno", 0), inside)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    yield from walk(tree, False)


def upward(room: str, tree: ast.Module) -> list[str]:
    """The imports of a module of a room that the order of layers does not allow."""
    found = []
    for each in imports(tree):
        if each.room == room:
            continue
        known = each.room in ORDER
        allowed = known and ORDER.index(each.room) < ORDER.index(room) and not {room, each.room} <= APART
        if not allowed and not (each.inside and (room, each.room) in LAZY):
            found.append(f"line {each.line}: {room} imports {each.module}")
    return found


def sources() -> list[tuple[str, Path]]:
    """Every module of the core, with its room."""
    found = []
    for path in sorted(CORE.rglob("*.py")):
        room = path.relative_to(CORE).parts[0].removesuffix(".py")
        if room not in TOP:
            found.append((room, path))
    return found


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_room_has_its_layer() -> None:
    assert set(ORDER) == {room for room, _ in sources()}
    assert len(ORDER) == len(set(ORDER))


@pytest.mark.parametrize(("room", "path"), sources(), ids=lambda each: str(each).removeprefix(f"{CORE}/"))
def test_no_import_goes_up(room: str, path: Path) -> None:
    if room != "demo":  # it is written as users write
        assert [] == upward(room, parsed(path))


def test_every_exception_is_needed() -> None:
    used = {(room, each.room) for room, path in sources() for each in imports(parsed(path)) if each.inside}
    assert set() == set(LAZY) - used
    assert all(ORDER.index(low) < ORDER.index(high) or {low, high} <= APART for low, high in LAZY)


@pytest.mark.parametrize(
    ("room", "planted", "refused"),
    [
        ("lattice", "from dpframe.plan import Plan", True),
        ("lattice", "import dpframe.plan.steps", True),
        ("spec", "from dpframe import reading", True),
        ("spec", "from dpframe import Plan", True),
        ("spec", "import dpframe as dp", True),
        ("spec", "from .. import reading", True),
        ("spec", "def f():\n    from dpframe.reading import totals", True),
        ("plan", "from dpframe.run import runner", True),
        ("plan", "def f():\n    from dpframe.run import runner", False),
        ("ledger", "from dpframe.forecast import compare", True),
        ("reading", "if TYPE_CHECKING:\n    from dpframe.plan import Plan", False),
        ("plan", "from dpframe.spec.rows import Rows\nfrom dpframe import validators", False),
    ],
)
def test_a_planted_import_is_found(room: str, planted: str, refused: bool) -> None:
    assert refused == bool(upward(room, ast.parse(planted)))


PUBLIC = ("dpframe", "dpframe.plugin", "dpframe.testing")
OUTSIDE = sorted([*ROOT.glob("plugins/**/*.py"), *ROOT.glob("examples/**/*.py")])


def beyond_public(tree: ast.Module) -> list[str]:
    """Imports of the core by a plugin that are not of its public namespaces."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "dpframe":  # a submodule, or a name of the namespace
                modules = [f"dpframe.{alias.name}" for alias in node.names if not alias.name[0].isupper()]
        else:
            continue
        found += [name for name in modules if name.split(".")[0] == "dpframe" and name not in PUBLIC]
    return found


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_plugins_and_examples_import_public_namespaces_only(path: Path) -> None:
    assert [] == beyond_public(parsed(path))


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ("from dpframe.reading.chunk import Chunk", ["dpframe.reading.chunk"]),
        ("def f():\n    import dpframe.registry", ["dpframe.registry"]),
        ("from dpframe import lattice", ["dpframe.lattice"]),
        ("import dpframe.plugin as dp\nfrom dpframe.testing import seeded\nfrom dpframe import plugin", []),
    ],
)
def test_an_import_of_something_internal_is_found(planted: str, expected: list[str]) -> None:
    assert expected == beyond_public(ast.parse(planted))
