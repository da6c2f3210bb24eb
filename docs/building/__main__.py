"""Build the site: ``python -m docs.building``. Ends with an error where a link or a formula is broken."""

from __future__ import annotations

import subprocess
import sys

from docs.building.links import problems
from docs.building.stage import ROOT, stage

SITE = ROOT / "build" / "docs"


def main() -> None:
    stage(ROOT / "build" / "pages")
    command = [sys.executable, "-m", "zensical", "build", "--config-file", "mkdocs.yml", "--strict", "--clean"]
    subprocess.run(command, cwd=ROOT, check=True)
    found = problems(SITE)
    if found:
        sys.exit("\n".join(found))
    print(f"{len(list(SITE.glob('**/*.html')))} pages in {SITE.relative_to(ROOT)}; every link leads somewhere.")


if __name__ == "__main__":
    main()
