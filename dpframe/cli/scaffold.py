"""``dpframe new-plugin NAME``: write a complete package as the starting point of a plugin.

All names follow from NAME, with or without the prefix ``dpframe-``. For ``row-lengths``:

=============  ========================
distribution   ``dpframe-row-lengths``
import         ``dpframe_row_lengths``
mechanism      ``row-lengths``
class          ``RowLengthsMechanism``
=============  ========================

The files are in ``dpframe/templates/plugin``, with marks such as ``@package@`` in place of these names.
"""

from __future__ import annotations

import re
import tempfile
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from dpframe import discovery, registry
from dpframe.errors import DataError, PluginError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PREFIX = "dpframe-"
LONGEST = 32
"""The longest name that fits on the lines of the files."""

_WORDS = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MARK = re.compile(r"@(\w+)@")


@attrs.frozen
class Names:
    """The names that follow from NAME.

    Args:
        mechanism: the name of the mechanism in plans.

    >>> Names.of("dpframe-row-lengths").package
    'dpframe_row_lengths'
    """

    mechanism: str

    @classmethod
    def of(cls, name: str) -> Names:
        """The names for NAME; raises PluginError if it is invalid or taken."""
        words = name.removeprefix(PREFIX)
        if not _WORDS.fullmatch(words) or len(words) > LONGEST or words == PREFIX.rstrip("-"):
            raise PluginError(
                "the name of a plugin must be lowercase letters, digits and single hyphens, a letter first, at most "
                f"{LONGEST} characters, such as 'row-lengths' or 'dpframe-row-lengths'; got {name!r}. "
                "Nothing was written."
            )
        if words in {known.name for known in registry.classes("mechanism")}:
            owner = registry.provider("mechanism", words)
            origin = f"{owner.name} {owner.version}" if owner else discovery.HERE
            raise PluginError(f"the mechanism name {words!r} is already provided by {origin}. Nothing was written.")
        if PREFIX + words in {distribution.name for distribution in metadata.distributions()}:
            raise PluginError(f"{PREFIX + words!r} is already installed. Nothing was written.")
        if PREFIX + words in discovery.OWN:
            raise PluginError(f"{PREFIX + words!r} is the name of a plugin of the project itself. Nothing was written.")
        return cls(words)

    @property
    def distribution(self) -> str:
        """The name of the distribution, as pip knows it."""
        return PREFIX + self.mechanism

    @property
    def package(self) -> str:
        """The name of the package, as Python imports it."""
        return self.distribution.replace("-", "_")

    @property
    def class_(self) -> str:
        """The name of the class of the mechanism."""
        return "".join(word.capitalize() for word in self.mechanism.split("-")) + "Mechanism"

    def filled(self, text: str) -> str:
        """Replace the marks in a text of the template by the names."""
        names = {
            "distribution": self.distribution,
            "package": self.package,
            "mechanism": self.mechanism,
            "class": self.class_,
        }
        return _MARK.sub(lambda mark: names[mark[1]], text)


def new_plugin(name: str, directory: Path) -> Path:
    """Write a complete package for a plugin, and return its folder.

    Args:
        name: NAME, from which all other names follow.
        directory: where the folder is created; it must not exist yet. If writing fails, nothing is left there.
    """
    names = Names.of(name)
    folder = directory / names.distribution
    if folder.exists() or folder.is_symlink():
        raise DataError(f"{folder} exists already; nothing was written. Choose another name or --directory.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".new-plugin-") as scratch:
            unfinished = Path(scratch) / names.distribution
            _write(resources.files("dpframe") / "templates" / "plugin", unfinished, names)
            unfinished.rename(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error}.") from None
    return folder


def _write(template: Traversable, target: Path, names: Names) -> None:
    """Copy a template, file by file, and fill in the names."""
    target.mkdir()
    for part in template.iterdir():
        path = target / names.filled(part.name.removesuffix(".template"))
        if part.is_dir():
            _write(part, path, names)
        else:
            path.write_text(names.filled(part.read_text(encoding="utf-8")), encoding="utf-8")
