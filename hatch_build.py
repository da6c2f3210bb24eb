"""In a clone, ``pip install .`` takes the core and the plugins of the clone instead of looking for them in an index.

The source distribution has no other package beside it: a wheel built from it, as ``make dist`` does, asks for them by
name and version alone. Nothing is added in an editable install, where the Makefile names every package itself.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackagesOfTheClone(BuildHookInterface):
    """Replaces each requirement that is a package of this clone by the folder of that package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        folders = {path.name: path for path in root.glob("plugins/*")} | {"dpframe-core": root / "core"}
        found = {name: folder for name, folder in folders.items() if folder.is_dir()}
        project = self.metadata.core
        for requirements in (project.dependencies, *project.optional_dependencies.values()):
            requirements[:] = [located(requirement, found) for requirement in requirements]


def located(requirement: str, folders: dict[str, Path]) -> str:
    """A requirement by name and version, such as "dpframe-core[fast]<0.2,>=0.1", or by folder where there is one."""
    name, _, marker = requirement.partition(";")
    name = name.split("<")[0]
    folder = folders.get(name.split("[")[0])
    return requirement if folder is None else " ;".join(filter(None, (f"{name} @ {folder.as_uri()}", marker)))
