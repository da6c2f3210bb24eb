"""Checks a built site: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src"), ("object", "data")}
"""What a browser loads without being asked; other links wait for a click."""


class Page(HTMLParser):
    """The anchors and the links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name"):
                self.anchors.add(value or "")
            if name in ("href", "src", "data"):
                self.links.append((tag, name, value or ""))


def problems(site: Path) -> list[str]:
    """What is wrong with the links of a site, a line each.

    Args:
        site: its folder.
    """
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in site.glob("**/*.html")}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # served from any place, so its links begin at the root of a server
            continue
        for tag, name, link in page.links:
            if trouble := _problem(path, tag, name, link, pages):
                found.append(f"{path.relative_to(site.resolve())}: {trouble}")
    for sheet in site.glob("**/*.css"):
        remote = re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)", sheet.read_text(encoding="utf-8"))
        found += [f"{sheet.relative_to(site)}: loads {each} from elsewhere" for each in remote]
    return found


def _problem(path: Path, tag: str, name: str, link: str, pages: dict[Path, Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme in ("http", "https") or parts.netloc:
        return f"loads {link} from elsewhere" if (tag, name) in LOADED else ""
    if parts.scheme:  # mailto:, data:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return f"{link} leads nowhere"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return f"{link} has no such anchor"
    return ""
