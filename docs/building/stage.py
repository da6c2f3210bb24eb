"""The pages of the site in one folder: those of ``docs``, and those of the repository that they link to."""

from __future__ import annotations

import os
import re
import shutil
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FURTHER = {
    "benchmarks/RESULTS.md": "project/benchmarks.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
"""Pages that stand elsewhere in the repository, and where they are on the site."""

LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def pages() -> dict[str, str]:
    """Where each file of the repository is on the site, by paths from the root."""
    found = sorted(
        [*DOCS.glob("**/*.md"), *DOCS.glob("**/*.svg"), *DOCS.glob("assets/*"), *DOCS.glob("experiments/*.py")]
    )
    own = {path.relative_to(ROOT).as_posix(): path.relative_to(DOCS).as_posix() for path in found}
    return own | FURTHER


def relinked(text: str, source: str, places: dict[str, str]) -> str:
    """A page with its links as they are on the site; one that leads to no page of the site is an error.

    Args:
        text: the page.
        source: where it is in the repository.
        places: where each file is on the site.
    """

    def moved(found: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), found[2]))
        if target not in places:
            raise ValueError(f"{source} links to {found[2]}, which is no page of the site")
        return f"{found[1]}{os.path.relpath(places[target], os.path.dirname(places[source]))}{found[3]}"

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.M | re.S)  # code stays as it is
    return "".join(part if part.startswith("`") else apart(LINK.sub(moved, part)) for part in parts)


def apart(text: str) -> str:
    """A text in which one remark in brackets after another is no link, as Markdown would have it.

    Args:
        text: Markdown.
    """
    return re.sub(r"\](\s)\[(?=[A-Z])", r"]\1\\[", text)


def stage(folder: Path) -> None:
    """Write the pages of the site into a folder, emptied before.

    Args:
        folder: where they go.
    """
    shutil.rmtree(folder, ignore_errors=True)
    places = pages()
    for source, place in places.items():
        written = folder / place
        written.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = (ROOT / source).read_text(encoding="utf-8")
            written.write_text(relinked(text, source, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, written)
    font = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"  # under the SIL Open Font License
    (folder / "assets" / font.name).write_bytes(font.read_bytes())
