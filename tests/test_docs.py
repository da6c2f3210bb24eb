"""The documentation: every example runs, every output is real, every link and every name resolves.

The Python blocks of a page share one namespace and run in order, in an empty directory, with warnings as errors. What a
block prints stands in the next block, after one of two marks:

* ``<!-- output -->``: the same text, character by character;
* ``<!-- sample -->``: the same text but for its numbers, where a draw is not repeatable.

Blocks ``console`` are sessions in a shell, typed in the same directory: what a command prints stands below it, and
"..." for lines that are left out; ``<!-- sample -->`` may stand before such a block. In a page that has some, blocks
with a title are files.

``python -m tests.test_docs`` runs every page and writes what it printed into these blocks.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import dpframe as dp
from docs.building import stage
from dpframe import errors, hookspecs, plugin, postprocess
from tests.support.pages import FENCE, Block, agree, answers, blocks, stable, typed

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HERE = sorted(
    [*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("plugins/*/README.md"), ROOT / "core" / "README.md"]
)
PAGES = [*HERE, *sorted(ROOT.glob("examples/*/README.md"))]  # the last ones run where they are installed: test_examples
TERMINAL = {"COLUMNS": "100"}  # the width of a report follows the terminal
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
each_page_here = pytest.mark.parametrize("page", HERE, ids=lambda page: page.relative_to(ROOT).as_posix())


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# -- examples --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def workshop(directory: Path) -> Iterator[None]:
    """An empty directory, a terminal of known width, and warnings as errors."""
    colors = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    environment = {name: value for name, value in os.environ.items() if name not in colors} | TERMINAL
    with mock.patch.dict(os.environ, environment, clear=True), contextlib.chdir(directory), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def printed(page: Path, directory: Path) -> dict[int, str]:
    """Run the blocks of a page: what each of them prints, by the place where it starts."""
    namespace: dict[str, Any] = {"__name__": "documentation"}
    text = page.read_text(encoding="utf-8")
    found = {}
    try:
        with workshop(directory):
            for block in blocks(text):
                if block.language == "python":
                    code = compile("\n" * block.line + block.body, str(page), "exec")
                    with contextlib.redirect_stdout(io.StringIO()) as caught:
                        exec(code, namespace)
                    found[block.start] = "\n".join(map(str.rstrip, caught.getvalue().rstrip().splitlines()))
                elif block.title and "\n```console\n" in text:
                    Path(block.title).write_text(block.body, encoding="utf-8")
                elif block.language == "console":
                    lines = [(f"$ {command}", *answers(command)) for command, _ in typed(block.body)]
                    found[block.start] = "\n".join(line for part in lines for line in part)
    finally:
        for value in namespace.values():
            if inspect.isclass(value):
                dp.unregister(value)
    return found


def shape(text: str) -> str:
    """A text without its numbers, its spacing and lines, and the accountant that happened to be the tightest."""
    text = re.sub(r"\(accountant: [^)]*\)", "(accountant)", stable(text))
    return "".join(re.sub(r"[-+−]?\d[\d,.]*(e[-+]?\d+)?", "#", text).replace("─", "").split())


def shown(text: str, block: Block) -> Block | None:
    """The marked block that follows a block directly."""
    following = next((other for other in blocks(text) if other.start >= block.stop), None)
    between = text[block.stop : following.start].strip() if following else "nothing"
    wanted = following and following.mark and following.language != "console"
    return following if wanted and not between else None


def wrong_answers(block: Block, real: str) -> list[str]:
    """The commands of a session that do not print what the block shows."""
    alike = shape if block.mark == "sample" else stable
    pairs = zip(typed(block.body), typed(real), strict=True)
    return [command for (command, expected), (_, printed) in pairs if not agree(expected, printed, alike)]


@each_page_here
def test_examples_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    outputs = printed(page, tmp_path)
    checked = 0
    for block in blocks(text):
        if block.start not in outputs:
            continue
        if block.language == "console":
            assert [] == wrong_answers(block, outputs[block.start]), outputs[block.start]
            checked += bool(block.mark)
            continue
        real, expected = outputs[block.start], shown(text, block)
        if expected is None:
            assert not real or not page.is_relative_to(DOCS), f"line {block.line}: its output is not shown"
            continue
        checked += 1
        if expected.mark == "output":
            assert stable(expected.body) == stable(real)
        else:
            assert shape(expected.body) == shape(real)
    assert sum(bool(block.mark) for block in blocks(text)) == checked, "a mark does not follow a Python block"


def test_sessions_are_compared() -> None:
    """Lines may be left out where the page says so, and nowhere else; samples may differ in numbers only."""
    lines = ["one", "two 2", "three", "four"]
    for shown in (["one", "...", "four"], ["..."], ["...", "three", "..."], ["one", "..."]):
        assert agree(shown, lines, str)
    for shown in (["one", "four"], ["...", "two 3", "..."], ["...", "four", "..."], ["one", "...", "two 2", "three"]):
        assert not agree(shown, lines, str)
    assert agree(["one", "two 3", "..."], lines, shape)
    assert not agree(["one", "to 3", "..."], lines, shape)


def test_there_are_examples() -> None:
    """The search finds blocks: pages of each part have some, and so has the README."""
    for name in ("README.md", "docs/tutorial/first-release.md", "docs/how-to/register-a-mechanism.md"):
        assert [block for block in blocks((ROOT / name).read_text(encoding="utf-8")) if block.language == "python"]


@each_page
def test_every_fence_is_found(page: Path) -> None:
    """No block hides from the search, by indentation or by an unclosed fence."""
    text = page.read_text(encoding="utf-8")
    assert [] == re.findall(r"^[ \t]+(?:```|~~~)|^~~~|^````", text, re.M)
    assert 2 * len(blocks(text)) == len(re.findall(r"^```", text, re.M))
    assert sum(bool(b.mark) for b in blocks(text)) == text.count("<!-- output -->") + text.count("<!-- sample -->")


@each_page
def test_commands_exist(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "console":
            assert page in HERE, "sessions of other pages are not run"
            assert block.body.startswith("$ ")
        assert block.language not in ("bash", "shell", "zsh"), "use sh"
        if block.language == "sh":
            for line in block.body.splitlines():
                command = line.split("#")[0].split()
                assert command[:1] == ["make"] or command[:2] in (["pip", "install"], ["git", "clone"]), line
                assert command[0] != "make" or set(command[1:]) <= targets, line


@each_page
def test_data_blocks_parse(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "toml":
            tomllib.loads(block.body)
        if block.language == "json":
            json.loads(block.body)


def test_the_plugin_of_the_guide_works_once_installed(tmp_path: Path) -> None:
    """Its module and its entry point, as an installer would leave them, are found and used."""
    files = {block.title: block.body for block in blocks(read("how-to/register-a-mechanism.md")) if block.title}
    project = tomllib.loads(files["pyproject.toml"])["project"]
    (module,) = [name for name in files if name.endswith(".py")]
    (tmp_path / module).write_text(files[module], encoding="utf-8")
    info = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "".join(f"{name} = {target}\n" for name, target in project["entry-points"]["dpframe"].items())
    (info / "entry_points.txt").write_text("[dpframe]\n" + points)
    code = "import dpframe as dp; print(*[(p.name, p.status, *p.provides) for p in dp.plugins()], sep='\\n')"
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert str((project["name"], "active", "mechanism length-counts")) in done.stdout.splitlines()


# -- links -----------------------------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\s-]", "", title).strip().lower() for title in re.findall(r"^#+ (.+)$", text, re.M))
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


@each_page
def test_links_and_images_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if re.match(r"(https?|mailto):", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- (?:Home: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(place for place in stage.pages().values() if place.endswith(".md")) == sorted(listed)


def test_every_figure_is_used_and_every_picture_is_described() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    for figure in DOCS.glob("**/*.svg"):
        assert any(f"{figure.name})" in text for text in texts), figure.name
    assert [
        alternative for text in texts for alternative in re.findall(r"!\[([^\]]*)\]", text) if not alternative
    ] == []


# -- names -----------------------------------------------------------------------------------------------------------


def headings(name: str) -> set[str]:
    """The names in code among the headings of a page."""
    return set(re.findall(r"^#+ `(\w+)`$", read(name), re.M))


def test_every_hook_has_its_section() -> None:
    assert {name for name in vars(hookspecs) if name.startswith("dpframe_")} == headings("reference/hooks.md")


def test_every_error_has_its_section_and_its_place_in_the_tree() -> None:
    classes = [cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, dp.DPFrameError)]
    assert {cls.__name__ for cls in classes} == headings("reference/errors.md")
    drawn = re.findall(r"^([│ ├└─]*)([A-Z]\w+)(?: +\((\w+)\))?", blocks(read("reference/errors.md"))[0].body, re.M)
    above: list[str] = []
    tree = set()
    for indent, name, other in drawn:
        depth = len(indent) // 4
        above[depth:] = [name]
        tree.add((name, tuple(filter(None, (above[depth - 1] if depth else "Exception", other)))))
    assert {(cls.__name__, tuple(base.__name__ for base in cls.__bases__)) for cls in classes} == tree


def directives() -> set[str]:
    return set(re.findall(r"^::: (\S+)$", read("reference/api.md") + read("reference/plugin-api.md"), re.M))


def test_every_public_name_is_in_the_reference() -> None:
    written = {f"dpframe.{name}" for name in headings("reference/api.md")}
    assert set() == {f"dpframe.{name}" for name in dp.__all__} - directives() - written
    written = {f"dpframe.plugin.{name}" for name in headings("reference/plugin-api.md")}
    authors = {f"dpframe.plugin.{name}" for name in plugin.__all__ if name not in dp.__all__}
    assert set() == authors - directives() - written


def test_every_module_that_may_be_imported_is_in_the_reference() -> None:
    modules = {f"dpframe.{path.stem}" for path in Path(dp.__file__).parent.glob("*.py") if "__" not in path.stem}
    listed = set(re.findall(r"^\| `(dpframe[\w.]*)` \|", read("reference/modules.md"), re.M))
    assert modules | {"dpframe", "dpframe.demo", "dpframe.plots", "dpframe.testing"} == listed


def test_every_name_in_the_reference_exists() -> None:
    for path in directives():
        module, _, name = path.rpartition(".")
        owner = importlib.import_module(module)
        assert hasattr(owner, name), path


def test_every_post_processor_is_in_the_reference() -> None:
    classes = [getattr(postprocess, name) for name in postprocess.__all__]
    table = re.findall(r"^\| `([\w-]+)` \|", read("reference/api.md"), re.M)
    assert sorted(cls.name for cls in classes) == sorted(table)


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\| ([a-z][^|]*?) \|", read("reference/glossary.md"), re.M)
    assert len(words) > 50
    assert sorted(words) == words


def test_every_field_of_a_result_file_is_in_the_reference() -> None:
    rows = dp.Rows(columns=[dp.Column("a", 0, 1)], neighbors="replace", center=True)
    steps = [dp.release("moment", "gaussian"), dp.derive("mean", "mean", of="moment")]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    content = json.loads(plan.run(np.zeros((1, 1)), insecure_seed=1).to_json())
    values = content["results"].values()
    fields = {*content, *content["statement"], *(key for line in content["statement"]["lines"] for key in line)}
    fields |= {key for value in values for key in value} | {key for value in values for key in value["axes"]}
    described = set(re.findall(r"[`\"](\w+)[`\"]", "".join(re.findall(r"^\|.*\|$", read("reference/json.md"), re.M))))
    assert set() == fields - described


def rewrite(page: Path) -> None:
    """Put what the examples of a page print into the blocks that show it."""
    with tempfile.TemporaryDirectory() as directory:
        outputs = printed(page, Path(directory))
    text = page.read_text(encoding="utf-8")
    for block in reversed(blocks(text)):
        if block.start not in outputs:
            continue
        expected, real = shown(text, block), outputs[block.start]
        if block.language == "console" and wrong_answers(block, real):
            mark = f"<!-- {block.mark} -->\n" if block.mark else ""
            text = f"{text[: block.start]}{mark}```console\n{real}\n```{text[block.stop :]}"
        if expected is None:
            continue
        alike = shape if expected.mark == "sample" else stable
        if alike(expected.body) != alike(real):
            fresh = f"<!-- {expected.mark} -->\n```text\n{real}\n```"
            text = text[: expected.start] + fresh + text[expected.stop :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for each in HERE:
        rewrite(each)
