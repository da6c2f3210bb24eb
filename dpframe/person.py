"""At most m rows of each person count: the first m, in the order of the source.

Whether a row counts depends on the rows of the same person that come before it, and on nothing else: neither on cells
nor on other people. So the rows that count of two data sets that differ in one person, with any number of rows, differ
in at most m rows, all of that person, and ``contributions=m`` is a fact instead of a promise. Rows that do not count
are left out before anything else sees them. A row without a person does not count.

A person is an id as text: the integer 17, the word "17" and the bytes b"17" are one. Ids are kept whole, for if two
people shared a shortened one, the choice among the rows of one would depend on the other.

In a stream one counter goes along. Partitions that are read apart are counted apart (`Counter.tally`); then `before`
tells each partition what its people had in those before it, and counters that start there choose the same rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from dpframe.errors import DataError
from dpframe.private import Redacted
from dpframe.validators import is_int

Mask = NDArray[np.bool_]

SMALLEST = 1 << 10  # slots of an empty table
PLACE_BITS = 22  # of a row in its block
AT_ONCE = 1 << 20  # keys that are moved to a larger table at a time


@attrs.frozen
class Person:
    """The column that tells who a row belongs to; read beside the declared ones, and never a coordinate."""

    name: str


@attrs.frozen(repr=False, eq=False)
class Tally(Redacted):
    """How many rows of each of some people count.

    Args:
        ids: one for each person: integers, or bytes as objects.
        counts: at most m each.
    """

    ids: NDArray[Any]
    counts: NDArray[Any]


class Counter(Redacted):
    """How many rows of each person have counted so far.

    Args:
        most: how many count at most, m.
        start: what people had before the first row.
    """

    def __init__(self, most: int, start: Tally | None = None) -> None:
        self._most = most
        self._integers: _Integers | None = _Integers(most)
        self._words: dict[bytes, int] = {}
        if start is not None:
            self.add(start)

    def choose(self, ids: NDArray[Any]) -> Mask:
        """Which of the next rows count."""
        numbers, known = _as_integers(ids)
        if numbers is None or self._integers is None:
            return self._choose_words(ids)
        if known is None:
            return self._integers.choose(numbers)
        chosen = np.zeros(len(ids), dtype=np.bool_)
        chosen[known] = self._integers.choose(numbers[known])
        return chosen

    def _choose_words(self, ids: NDArray[Any]) -> Mask:
        self._forget_integers()
        counts, most = self._words, self._most
        chosen = bytearray(len(ids))
        for place, cell in enumerate(ids.tolist()):
            if word := cell if type(cell) is bytes else _word(cell):
                seen = counts.get(word, 0)
                if seen < most:
                    counts[word] = seen + 1
                    chosen[place] = 1
        return np.frombuffer(chosen, dtype=np.bool_)

    def _forget_integers(self) -> None:
        """From the first id on that is no integer, integers are words too."""
        if self._integers is not None:
            tally = self._integers.tally()
            self._words = dict(zip(map(_word, tally.ids.tolist()), tally.counts.tolist(), strict=True))
            self._integers = None

    def tally(self) -> Tally:
        """Everybody's count."""
        if self._integers is not None:
            return self._integers.tally()
        ids = np.empty(len(self._words), dtype=object)
        ids[:] = list(self._words)
        return Tally(ids, np.fromiter(self._words.values(), dtype=np.int64, count=len(self._words)))

    def add(self, tally: Tally) -> Tally:
        """Count the rows of other data, up to m for each person; what each had before."""
        if tally.ids.dtype != object and self._integers is not None:
            return self._integers.add(tally)
        self._forget_integers()
        words = [_word(each) for each in tally.ids.tolist()]
        found = np.fromiter((self._words.get(word, 0) for word in words), dtype=np.int64, count=len(words))
        for word, count in zip(words, np.minimum(found + tally.counts, self._most).tolist(), strict=True):
            self._words[word] = count
        return Tally(tally.ids, found)


def before(tallies: Iterable[Tally], most: int) -> Iterator[Tally]:
    """For each of several partitions, in their order: what its people had in those before it."""
    counter = Counter(most)
    for tally in tallies:
        yield counter.add(tally)


def counted(blocks: Iterable[Any], person: str, counter: Counter) -> Iterator[dict[str, NDArray[Any]]]:
    """The rows that count, in their order, without the column of ids."""
    for block in blocks:
        chosen = counter.choose(block[person])
        if chosen.any():
            yield {name: cells[chosen] for name, cells in block.items() if name != person}


class _Integers:
    """Counts by integer, in a hash table whose slots are searched for many keys at once.

    A slot holds 0 where it is free, and otherwise one more than the count of its key.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._salt, *self._factors = (np.uint64(secrets.randbits(64) | 1) for _ in range(3))
        self._used = 0
        self._make(SMALLEST)

    def _make(self, size: int) -> None:
        self._keys = np.zeros(size, dtype=np.int64)
        self._states = np.zeros(size, dtype=np.min_scalar_type(self._most + 1))
        self._shift = np.uint64(65 - size.bit_length())

    def choose(self, keys: NDArray[Any]) -> Mask:
        slots = self._slots(keys)
        places = np.arange(len(slots))
        by_slot = np.sort((slots << PLACE_BITS) | places)  # many times faster than a stable argsort
        slots, order = by_slot >> PLACE_BITS, by_slot & ((1 << PLACE_BITS) - 1)
        first = np.ones(len(slots), dtype=np.bool_)
        first[1:] = slots[1:] != slots[:-1]
        ranks = places - np.maximum.accumulate(np.where(first, places, 0))
        counts = ranks + self._states[slots]  # this row included
        last = np.append(first[1:], True)[: len(slots)]
        self._states[slots[last]] = np.minimum(counts[last], self._most) + 1
        chosen = np.empty(len(slots), dtype=np.bool_)
        chosen[order] = counts <= self._most
        return chosen

    def add(self, tally: Tally) -> Tally:
        slots = self._slots(tally.ids)
        found = self._states[slots].astype(np.int64) - 1
        self._states[slots] = np.minimum(found + tally.counts, self._most) + 1
        return Tally(tally.ids, found)

    def tally(self) -> Tally:
        used = self._states > 0
        return Tally(self._keys[used], self._states[used].astype(np.int64) - 1)

    def _slots(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """The slot of each key, a new one where it has none."""
        while 2 * (self._used + len(keys)) > len(self._keys):
            self._grow()
        hashes = (keys.view(np.uint64) ^ self._salt) * self._factors[0]
        hashes ^= hashes >> np.uint64(32)
        hashes *= self._factors[1]
        slots = (hashes >> self._shift).astype(np.int64)
        searching = np.arange(len(keys))
        while len(searching):
            at, wanted = slots[searching], keys[searching]
            free = self._states[at] == 0
            self._keys[at[free]] = wanted[free]  # where several want one slot, the last of them has it
            self._states[at[free]] = 1
            self._used += len(np.unique(at[free]))
            searching = searching[self._keys[at] != wanted]
            slots[searching] = (slots[searching] + 1) & (len(self._keys) - 1)
        return slots

    def _grow(self) -> None:
        keys, states = self._keys, self._states
        self._make(2 * len(keys))
        self._used = 0
        for start in range(0, len(keys), AT_ONCE):
            used = states[start : start + AT_ONCE] > 0
            slots = self._slots(keys[start : start + AT_ONCE][used])
            self._states[slots] = states[start : start + AT_ONCE][used]


# -- ids in tables -----------------------------------------------------------------------------------------------------


def _word(cell: Any) -> bytes:
    """An id as text in bytes; empty where it is missing."""
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogatepass")
    return b"%d" % cell if is_int(cell) else b""


def _as_integers(ids: NDArray[Any]) -> tuple[NDArray[np.int64] | None, Mask | None]:
    """Ids as 64-bit integers where that holds them, and which of them are there where some are missing."""
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
        raise _refused(f"column {person.name!r} holds {dtype}")


def _refused(holds: str) -> DataError:
    """What is said of a column that cannot hold ids."""
    return DataError(
        f"{holds}, but it tells who a row belongs to (person=): it must hold integers or text, plain or "
        "dictionary-encoded. Convert it first; integers with gaps that became floats are nullable integers again "
        'after .astype("Int64").'
    )


def check_type(types: Any, found: Any, holds: str) -> None:
    """Refuse an Arrow column that cannot hold ids."""
    text = (types.is_string, types.is_large_string, types.is_string_view)
    other = (types.is_null, types.is_integer, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if not any(fits(found) for fits in (*text, *other)):
        raise _refused(holds)


def from_arrow(arrow: Any, array: Any) -> NDArray[Any]:
    """Ids of an Arrow array: integers, masked where some are missing, or bytes and None."""
    types = arrow.types
    if types.is_dictionary(array.type):
        if types.is_integer(array.type.value_type):
            return from_arrow(arrow, array.dictionary_decode())
        words = np.append(from_arrow(arrow, array.dictionary), np.array([None]))
        codes: NDArray[Any] = array.indices.cast(arrow.int64()).fill_null(len(array.dictionary)).to_numpy()
        return np.asarray(words[codes])
    if types.is_integer(array.type):
        if not array.null_count:
            return np.asarray(array.to_numpy())
        return np.ma.MaskedArray(array.fill_null(0).to_numpy(), array.is_null().to_numpy(zero_copy_only=False))
    if types.is_string_view(array.type):
        array = array.cast(arrow.large_string())
    found: NDArray[Any] = array.cast(arrow.large_binary()).to_numpy(zero_copy_only=False)  # never decoded
    return found.astype(object, copy=False)


def from_objects(arrow: Any, cells: Iterable[Any]) -> Any:
    """An Arrow array of the ids among Python objects; whatever is no id is missing."""
    return arrow.array([_word(cell) or None for cell in cells], arrow.large_binary())
