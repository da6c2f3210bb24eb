"""Print the lowest declared version of every dependency as constraints for pip: numpy>=2.0 becomes numpy==2.0.

The declarations are those of dpframe, its plugins and the examples: what is needed to run and to test them. Extras for
other work, ``dev`` and ``docs``, are left out. With ``--build``: what is needed to build them, and nothing else.

A package that is declared in several places must have one minimum in all of them: only the highest would be tested.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path for folder in (".", "core", "plugins/*", "examples/*") for path in ROOT.glob(f"{folder}/pyproject.toml")
)
NOT_TESTED = ("dev", "docs")
FORM = re.compile(r"(?P<name>[\w.-]+)(\[[\w,]+\])?(>=(?P<lowest>[\d.]+)(,<[\d.]+)?)?")


def needed(package: dict, build: bool) -> list[str]:
    """The requirements of a package."""
    if build:
        return package["build-system"]["requires"]
    extras = package["project"].get("optional-dependencies", {})
    tested = [requirement for name, extra in extras.items() if name not in NOT_TESTED for requirement in extra]
    return package["project"]["dependencies"] + tested


def main(build: bool) -> None:
    packages = {file: tomllib.loads(file.read_text(encoding="utf-8")) for file in FILES}
    ours = {package["project"]["name"] for package in packages.values()}
    lowest: dict[str, str] = {}
    for file, package in packages.items():
        for requirement in needed(package, build):
            found = FORM.fullmatch(requirement)
            name = found and found["name"]
            if name in ours:
                continue  # installed from this tree
            if not (found and found["lowest"]):
                sys.exit(f"{file}: {requirement!r} is not of the form name>=lowest or name>=lowest,<next.")
            if lowest.setdefault(name, found["lowest"]) != found["lowest"]:
                sys.exit(
                    f"{file}: {requirement!r}, but another file has {name}>={lowest[name]}. Write the same in both."
                )
    print("\n".join(f"{name}=={version}" for name, version in sorted(lowest.items())))


if __name__ == "__main__":
    main(build="--build" in sys.argv[1:])
