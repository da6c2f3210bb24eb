"""At most m rows of each person count: the first m, in the order of the source.

Whether a row counts depends on the rows of the same person that come before it, and on nothing else: neither on cells
nor on other people. So the rows that count of two data sets that differ in one person, with any number of rows, differ
in at most m rows, all of that person, and ``contributions=m`` is a fact instead of a promise. Rows that do not count
are left out before anything else sees them. A row without an id does not count.

A person is an id as text: the integer 17, the word "17" and the bytes b"17" are one. Ids are stored in full: if two
people shared a shortened one, the choice among the rows of one would depend on the other.

A stream has one counter. Partitions that are read separately are counted separately (`Counter.tally`). Then
`allotments` computes how many rows of each person may count in each partition, at most m in all, and counters with
these allotments choose the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.display.redacted import Redacted
from dpframe.errors import DataError
from dpframe.reading.count_table import Counts, Keys
from dpframe.reading.type_names import type_name
from dpframe.validators import is_int

Mask = NDArray[np.bool_]

MAX_WORD_BYTES = 63  # of an id in the hash table; longer ones are in a dictionary, so as not to widen the table


@attrs.frozen
class Person:
    """The column of ids, which state the person a row belongs to; it is read with the declared ones, and is never a
    coordinate."""

    name: str


@attrs.frozen(repr=False, eq=False)
class Tally(Redacted):
    """The number of rows that count, for each of some people.

    Args:
        ids: one for each person: integers, or bytes as objects.
        counts: one for each person, at most m.
    """

    ids: NDArray[Any]
    counts: NDArray[Any]


class Counter(Redacted):
    """The number of rows of each person that have counted so far.

    Args:
        most: m, the most rows of a person that count.
        allotment: the most rows of each person instead, at most m; of anybody else, none count.
    """

    def __init__(self, most: int, allotment: Tally | None = None) -> None:
        self._most, self._unknown = most, 0 if allotment is None else most
        self._integers: Counts | None = Counts(most, 1, self._unknown)
        self._words = Counts(most, 1, self._unknown)
        self._long: dict[bytes, int] = {}
        if allotment is not None:
            self.add(Tally(allotment.ids, most - allotment.counts))

    def choose(self, ids: NDArray[Any]) -> Mask:
        """Which of the next rows count, by their ids."""
        numbers, known = _as_integers(ids)
        if numbers is None or self._integers is None:
            return self._choose_words([cell if type(cell) is bytes else _word(cell) for cell in ids.tolist()])
        if known is None:
            return self._integers.choose(_keys_of(numbers))
        chosen = np.zeros(len(ids), dtype=np.bool_)
        chosen[known] = self._integers.choose(_keys_of(numbers[known]))
        return chosen

    def _choose_words(self, words: list[bytes]) -> Mask:
        self._turn_to_words()
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        chosen = np.zeros(len(words), dtype=np.bool_)
        short = (0 < lengths) & (lengths <= MAX_WORD_BYTES)
        chosen[short] = self._words.choose(self._keys_of_words(words, lengths)[short])
        for place in np.flatnonzero(lengths > MAX_WORD_BYTES).tolist():
            seen = self._long.get(words[place], self._unknown)
            self._long[words[place]] = min(seen + 1, self._most)
            chosen[place] = seen < self._most
        return chosen

    def _keys_of_words(self, words: list[bytes], lengths: NDArray[np.int64]) -> Keys:
        """Ids as keys: their bytes, a 1 byte and then zeros, in 64-bit words; those that are too long are cut."""
        longest = int(np.minimum(lengths, MAX_WORD_BYTES).max(initial=0))
        if longest // 8 + 1 > self._words.width:
            self._words.widen(longest // 8 + 1)
        size = 8 * self._words.width
        letters = np.array(words, dtype=f"S{size}").view(np.uint8).reshape(len(words), size)
        letters[np.arange(len(words)), np.minimum(lengths, size - 1)] = 1
        return letters.view(np.uint64)

    def _turn_to_words(self) -> None:
        """Turn integers into text, from the first id on that is not an integer."""
        if self._integers is not None:
            tally, self._integers = self.tally(), None
            self.add(tally)

    def tally(self) -> Tally:
        """The counts of all people."""
        if self._integers is not None:
            keys, counts = self._integers.items()
            return Tally(keys[:, 0].view(np.int64), counts)
        keys, counts = self._words.items()
        ids = np.empty(len(keys) + len(self._long), dtype=object)
        ids[:] = [key.tobytes().rstrip(b"\0")[:-1] for key in keys] + list(self._long)
        return Tally(ids, np.append(counts, np.fromiter(self._long.values(), dtype=np.int64)))

    def add(self, tally: Tally) -> Tally:
        """Count the rows of other data, up to m for each person; return the counts before."""
        if tally.ids.dtype != object and self._integers is not None:
            return Tally(tally.ids, self._integers.add(_keys_of(tally.ids), tally.counts))
        self._turn_to_words()
        words = [_word(each) for each in tally.ids.tolist()]
        lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
        short = lengths <= MAX_WORD_BYTES
        before = np.zeros(len(words), dtype=np.int64)
        before[short] = self._words.add(self._keys_of_words(words, lengths)[short], tally.counts[short])
        for place in np.flatnonzero(~short).tolist():
            before[place] = seen = self._long.get(words[place], 0)
            self._long[words[place]] = min(seen + int(tally.counts[place]), self._most)
        return Tally(tally.ids, before)


def allotments(tallies: Iterable[Tally], most: int) -> Iterator[Tally]:
    """For each of several partitions, in their order: how many rows of its people may count in it.

    They are at most m in all for each person, whatever the partitions hold when they are read again.
    """
    counter = Counter(most)
    for tally in tallies:
        had = counter.add(tally).counts
        yield Tally(tally.ids, np.minimum(tally.counts, most - had))


def counted(blocks: Iterable[Any], person: str, counter: Counter) -> Iterator[dict[str, NDArray[Any]]]:
    """The rows of blocks that count, in their order, without the column of ids."""
    for block in blocks:
        chosen = counter.choose(block[person])
        if chosen.any():
            yield {name: cells[chosen] for name, cells in block.items() if name != person}


# -- ids in tables -----------------------------------------------------------------------------------------------------


def _word(cell: Any) -> bytes:
    """An id as text, in bytes; empty if it is missing."""
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogatepass")
    return b"%d" % cell if is_int(cell) else b""


def _keys_of(numbers: NDArray[np.int64]) -> Keys:
    """Integer ids as keys of one word."""
    return numbers.view(np.uint64)[:, None]


def _as_integers(ids: NDArray[Any]) -> tuple[NDArray[np.int64] | None, Mask | None]:
    """Ids as 64-bit integers, or None if they do not fit; and a mask of those that are not missing, or None for all."""
    if ids.dtype.kind not in "iu":
        return None, None
    known = None
    if isinstance(ids, np.ma.MaskedArray):
        ids, known = ids.filled(0), ~np.ma.getmaskarray(ids)
    if ids.dtype.kind == "u" and ids.dtype.itemsize == 8 and len(ids) and ids.max() > np.iinfo(np.int64).max:
        return None, None
    return np.ascontiguousarray(ids, dtype=np.int64), known


def check_dtype(dtype: np.dtype[Any], person: Person) -> None:
    """Refuse a NumPy column that cannot hold ids."""
    if dtype.kind not in "iuUT":
        raise _refused(f"column {person.name!r} holds {type_name(dtype)}")


def _refused(holds: str) -> DataError:
    """The error for a column that cannot hold ids."""
    return DataError(
        f"{holds}, but it tells who a row belongs to (person=): it must hold integers or text, plain or "
        "dictionary-encoded. Convert it first; integers with gaps that became floats are nullable integers again "
        'after .astype("Int64").'
    )


def check_type(types: Any, actual: Any, holds: str) -> None:
    """Refuse an Arrow column that cannot hold ids."""
    text = (types.is_string, types.is_large_string, types.is_string_view)
    binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    if not any(fits(actual) for fits in (*text, *binary, types.is_null, types.is_integer)):
        raise _refused(holds)


def from_arrow(arrow: Any, array: Any) -> NDArray[Any]:
    """Ids of an Arrow array: integers, masked if some are missing, or bytes and None."""
    types = arrow.types
    if types.is_dictionary(array.type):
        if types.is_string_view(array.type.value_type):
            words = array.dictionary.cast(arrow.large_string())
            array = arrow.DictionaryArray.from_arrays(array.indices, words)
        array = array.dictionary_decode()  # decode these rows only: the dictionary may hold the ids of all people
    if types.is_integer(array.type):
        if not array.null_count:
            return np.asarray(array.to_numpy())
        return np.ma.MaskedArray(array.fill_null(0).to_numpy(), array.is_null().to_numpy(zero_copy_only=False))
    if types.is_string_view(array.type):
        array = array.cast(arrow.large_string())
    cells: NDArray[Any] = array.cast(arrow.large_binary()).to_numpy(zero_copy_only=False)  # bytes, never decoded
    return cells.astype(object, copy=False)


def from_objects(arrow: Any, cells: Iterable[Any]) -> Any:
    """An Arrow array of the ids among Python objects; an object that is not an id is missing."""
    return arrow.array([_word(cell) or None for cell in cells], arrow.large_binary())
