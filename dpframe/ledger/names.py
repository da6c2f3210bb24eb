"""Names of data sets: which are valid, which look alike, and which one was probably meant.

Two names that a reader cannot tell apart would be two budgets for the same people. Look-alikes are letters of other
scripts that are drawn as Latin ones; ASCII characters differ from each other, so that "wave-1" is not "wave-l".
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any

from dpframe.errors import PlanError

LONGEST_NAME = 200

_MARKS = str.maketrans("‐‒–—―−⁃˗ʹʼˈ‘’′`´⁄∕∙⋅", "--------''''''''//··")
_LOWER = _MARKS | str.maketrans(
    "аеорсухѕіјԁһԛԝѵӏкгпё" + "αονρικτυχγησ" + "օսհոցզ" + "ıɑɡɩȷ" + "ᴄᴏᴠᴡᴢꜱᴜ",
    "aeopcyxsijdhqwvlkrnë" + "aovpiktuxyno" + "ouhngq" + "iagij" + "covwzsu",
)
_UPPER = _MARKS | str.maketrans(
    "АВЕЅІЈКМНОРСТУХҮԌԚԜѴӀЗЁ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ՏՕԼՍ" + "ᎠᎡᎢᎪᎬᎳᎷᎻᏀᏃᏒᏔᏚᏞᏟᏢᏦᏴ",
    "ABESIJKMHOPCTYXYGQWVI3Ë" + "ABEZHIKMNOPTYX" + "SOLU" + "DRTAEWMHGZRWSLCPKB",
)
_INVISIBLE = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)))
) | frozenset(map(chr, range(0xE0100, 0xE01F0)))
"""Characters that Unicode counts as printable letters or marks and that are not drawn."""


_LUNATE = str.maketrans("ϲϹϳ", "cCj")  # NFKC would make a sigma of the first two
_BLANK = "\u2800"  # a Braille pattern without dots: drawn as a space


def check_name(name: Any) -> str:
    """The name itself; raises PlanError unless it is printable, trimmed, of moderate length and in NFC.

    Args:
        name: the name of a data set.
    """
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= LONGEST_NAME
        or not name.isprintable()
        or name != name.strip()
        or name != unicodedata.normalize("NFC", name)
    ):
        raise PlanError(
            f"the name of a data set must be 1 to {LONGEST_NAME} printable characters, without spaces at its ends and "
            f"in composed form (NFC); got {name!r}."
        )
    return name


def same_name(name: str) -> str:
    """The form in which names that differ only in case or width are equal: the rule for all ledgers ever written.

    Args:
        name: the name of a data set.
    """
    return unicodedata.normalize("NFKC", name).casefold()


def alike(name: str, other: str) -> bool:
    """Whether a reader could take one name for the other: in capitals, in small letters, or as they are written.

    Args:
        name: the name of a data set.
        other: another one.

    >>> alike("Clinic", "сlinic"), alike("нос", "HOC"), alike("wave-1", "wave-l")  # the first letter of two is Cyrillic
    (True, True, False)
    """
    return any(look == another for look, another in zip(_looks(name), _looks(other), strict=True))


def _looks(name: str) -> tuple[str, str, str]:
    """What the name looks like in small letters, in capitals, and as it is written."""
    normal = unicodedata.normalize("NFKC", name.translate(_LUNATE))
    drawn = "".join(each for each in normal if each not in _INVISIBLE)
    written = " ".join(drawn.replace(_BLANK, " ").split())
    folded = same_name(written)
    return folded.translate(_LOWER), folded.upper().translate(_UPPER), written.translate(_LOWER | _UPPER).casefold()


def meant(name: Any, names: Iterable[str]) -> str | None:
    """The name that was probably meant; None where none is close.

    Args:
        name: what was asked for.
        names: the names that there are.
    """
    if not isinstance(name, str):
        return None
    there = list(names)
    if same := next((other for other in there if alike(name, other)), None):
        return same
    folded = {_looks(other)[0]: other for other in there}
    close = difflib.get_close_matches(_looks(name)[0], folded, n=1)
    return folded[close[0]] if close else None
