"""At most m rows of each person count: which ones, and how far a person can move a statistic then."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpframe.plugin as dp
from dpframe.reading.mapper import coordinates
from dpframe.reading.people import Counter, Tally, allotments, counted
from dpframe.sources import open_source
from tests.support.neighbors import moved

RELATIONS = ("add-remove", "replace")
COLUMNS = [dp.Column(name, -1, 1) for name in "abc"]
Table = dict[str, NDArray[Any]]
Blocks = Iterator[Any]
Rule = Callable[[list[Table], dp.Rows], Blocks]


def promise(relation: str = "add-remove", most: int = 2, **fields: Any) -> dp.Rows:
    return dp.Rows(columns=COLUMNS, norm=1.0, neighbors=relation, contributions=most, person="id", **fields)


def expected(ids: list[Any], most: int) -> list[bool]:
    """Which rows count, one after the other."""
    seen: dict[Any, int] = {}
    chosen = []
    for each in ids:
        if each is not None:
            seen[each] = seen.get(each, 0) + 1
        chosen.append(each is not None and seen[each] <= most)
    return chosen


# -- how far one person moves a statistic ------------------------------------------------------------------------------


def as_a_run(chunks: list[Table], rows: dp.Rows) -> Blocks:
    return open_source(chunks, rows).blocks()


def by_a_counter_of(choose: Callable[[Counter, NDArray[Any]], NDArray[Any]]) -> Rule:
    """A wrong rule: the same with another choice."""

    class Wrong(Counter):
        def choose(self, ids: NDArray[Any]) -> NDArray[Any]:
            return choose(self, ids)

    return lambda chunks, rows: counted(chunks, "id", Wrong(rows.contributions))


WRONG = {
    "the first rows of each block": by_a_counter_of(lambda _, ids: Counter(2).choose(ids)),
    "a counter that two people share": by_a_counter_of(lambda counter, ids: Counter.choose(counter, ids // 2)),
    "everything": by_a_counter_of(lambda _, ids: np.ones(len(ids), dtype=np.bool_)),
}


def statistics(dim: int) -> list[tuple[dp.Statistic, bool]]:
    """Every statistic of the core, and whether rows are centered."""
    skewed = dp.Subspace(np.linalg.qr(np.random.default_rng(3).standard_normal((dim, dim)))[0][:, :2])
    return [
        (dp.Moment(), False),
        (dp.Moment(), True),
        (dp.BlockMoment(basis=dp.Subspace(np.eye(dim)[:, :2]), radii=(1.0, 0.5)), False),
        (dp.BlockMoment(basis=skewed, radii=(0.3, 1.0)), False),
        (dp.NormHistogram(edges=(0.2, 0.6, 0.9)), True),
        (dp.ColumnHistogram(column="b", edges=(-0.5, 0.0, 0.5)), False),
    ]


def made_up(rng: np.random.Generator, size: int, ids: NDArray[Any]) -> NDArray[Any]:
    """Rows of an id and three cells: corners, longer than the norm, missing."""
    cells = rng.choice([-1.0, -0.5, 0.0, 0.25, 1.0, np.nan], p=[0.3, 0.1, 0.15, 0.1, 0.3, 0.05], size=(size, 3))
    alone = rng.random(size) < 0.5
    cells[alone] = np.eye(3)[rng.integers(3, size=alone.sum())] * rng.choice([-1.0, 1.0], size=(alone.sum(), 1))
    return np.column_stack([ids, cells])


def neighbors(rng: np.random.Generator, relation: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """All rows of one person gone, or exchanged for as many of the same id or of a new one, wherever they stand."""
    one = made_up(rng, size := int(rng.integers(1, 12)), rng.integers(4, size=size))
    person = rng.choice(one[:, 0])
    others, gone = one[one[:, 0] != person], int((one[:, 0] == person).sum())
    if relation == "add-remove":
        return one, others
    other = np.empty_like(one)
    theirs = np.sort(rng.permutation(size)[:gone])
    other[np.setdiff1d(np.arange(size), theirs)] = others
    other[theirs] = made_up(rng, gone, np.full(gone, rng.choice([person, 9.0])))
    return one, other


def cut(rng: np.random.Generator, records: NDArray[Any]) -> list[Table]:
    """Chunks of any sizes, empty ones too."""
    at = np.sort(rng.integers(0, len(records) + 1, size=2))
    return [
        {"id": part[:, 0].astype(np.int64), **dict(zip("abc", part[:, 1:].T, strict=True))}
        for part in np.split(records, at)
    ]


def kept(chunks: list[Table], rows: dp.Rows, rule: Rule) -> NDArray[Any]:
    """The coordinates of the rows that count."""
    return np.concatenate([np.zeros((0, 3)), *(coordinates(rows, block) for block in rule(chunks, rows))])


def exceeds(rule: Rule, relation: str, most: int, tables: int) -> tuple[bool, float]:
    """Whether neighbors are farther apart than declared anywhere, and the largest share of that otherwise."""
    rng = np.random.default_rng([most, RELATIONS.index(relation)])
    farthest = 0.0
    for _ in range(tables):
        one, other = (kept(cut(rng, records), promise(relation, most), rule) for records in neighbors(rng, relation))
        for statistic, center in statistics(3):
            rows = promise(relation, most, center=center)
            declared = statistic.sensitivity(rows)
            for part, (l1, l2_squared) in moved(statistic, rows, one, other).items():
                if l2_squared > declared[part].l2_squared or l1 > (declared[part].l1 or l1):
                    return True, farthest
                farthest = max(farthest, l2_squared / declared[part].l2_squared)
    return False, farthest


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_person_with_any_number_of_rows_moves_no_statistic_more_than_declared(relation: str, most: int) -> None:
    exceeded, farthest = exceeds(as_a_run, relation, most, 60)
    assert not exceeded
    assert farthest > 0.99  # so that an excess would show


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_rules_are_noticed_by_that(relation: str, wrong: str) -> None:
    exceeded, _ = exceeds(WRONG[wrong], relation, 2, 60)
    assert exceeded


def test_rows_that_go_to_people_who_are_there_are_no_replacement() -> None:
    """Why new rows must have an id that nobody else has: each of several others would have another row that counts."""
    rows, histogram = promise("replace", 1), dp.ColumnHistogram(column="a", edges=(0.0,))
    zeros = np.zeros(4)
    one = {"id": np.array([1, 1, 2, 3]), "a": np.array([-1.0, -1.0, 1.0, 1.0]), "b": zeros, "c": zeros}
    other = {**one, "id": np.array([2, 3, 2, 3])}
    first, second = (kept([each], rows, as_a_run) for each in (one, other))
    declared = histogram.sensitivity(rows)["counts"].l1
    assert (2, 3) == (declared, moved(histogram, rows, first, second)["counts"][0])


@pytest.mark.parametrize("most", [1, 2])
def test_the_choice_does_not_look_at_cells(most: int) -> None:
    rng = np.random.default_rng(5)
    ids = rng.integers(7, size=60)
    for _ in range(5):
        places = rng.permutation(60) / 60  # told apart by their cells
        chunks = [{"id": ids, "a": places, "b": rng.permutation(places), "c": rng.choice([0.0, np.nan], size=60)}]
        found = kept(chunks, promise(most=most), as_a_run)[:, 0]
        assert places[expected(ids.tolist(), most)].tolist() == found.tolist()


# -- counters ----------------------------------------------------------------------------------------------------------


def stream(ids: NDArray[Any], most: int, size: int) -> list[bool]:
    counter = Counter(most)
    return [bool(each) for at in range(0, len(ids), size) for each in counter.choose(ids[at : at + size])]


@pytest.mark.parametrize("most", [1, 3, 300])
@pytest.mark.parametrize("kind", ["int64", "int8", "uint64", "words", "variable width", "long", "objects"])
def test_the_first_rows_of_each_person_count_in_blocks_of_any_size(most: int, kind: str) -> None:
    rng = np.random.default_rng(most)
    ids = rng.integers(-20, 20, size=9000) if most > 3 else rng.integers(-3000, 3000, size=9000) * 2**48
    kinds: dict[str, NDArray[Any]] = {
        "int64": ids,
        "int8": ids.astype(np.int8),
        "uint64": ids.astype(np.uint64),
        "words": ids.astype(str),
        "variable width": ids.astype(np.dtypes.StringDType()),
        "long": lengthened(ids % 250),
        "objects": np.array([str(each).encode() for each in ids.tolist()], dtype=object),
    }
    cells = kinds[kind]
    for size in (1000, 9000, 1234):
        assert expected(cells.tolist(), most) == stream(cells, most, size)


def test_extreme_and_missing_ids() -> None:
    ends = [-(2**63), 2**63 - 1, 0, -1, 1, 2**63 - 1, 0, -(2**63)]
    assert expected(ends, 1) == stream(np.array(ends), 1, 3)
    beyond = [2**64 - 1, 2**63, 5, 2**64 - 1, 5]
    assert expected(beyond, 1) == stream(np.array(beyond, dtype=np.uint64), 1, 2)
    masked = np.ma.MaskedArray([1, 0, 1, 0, 1], [False, True, False, True, False])
    assert [True, False, True, False, False] == stream(masked, 2, 2)
    words = np.array(["a", "", "a", None, "a", 1.5, True, "b\0", "b", b"b", 7, "7"], dtype=object)
    told = ["a", None, "a", None, "a", None, None, "b\0", "b", "b", "7", "7"]
    assert expected(told, 1) == stream(words, 1, 3)
    assert [] == stream(np.array([], dtype=np.int64), 1, 3)


def test_an_id_is_its_text_whatever_the_type_of_the_column() -> None:
    counter = Counter(2)
    assert [True, True, False] == counter.choose(np.array([17, 17, 17])).tolist()
    assert [False, True, True] == counter.choose(np.array(["17", "18", "017"])).tolist()
    assert [False, True, False, True] == counter.choose(np.array([17, 18, 18, 19], dtype=np.uint8)).tolist()


def tallied(ids: NDArray[Any], most: int) -> Tally:
    counter = Counter(most)
    counter.choose(ids)
    return counter.tally()


def lengthened(ids: NDArray[Any]) -> NDArray[Any]:
    """Words of 1 to 150 bytes, one for each id."""
    return np.array([str(each) * (1 + each % 50) for each in ids.tolist()], dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("most", [1, 2, 5])
def test_partitions_that_are_counted_apart_choose_the_same_rows(most: int) -> None:
    rng = np.random.default_rng(most)
    parts = np.split(rng.integers(0, 250, size=2000), [0, 10, 700, 700, 1500])
    mixed = [part.astype(kind) for part, kind in zip(parts, itertools.cycle(["int64", "U", "uint8"]), strict=False)]
    for cells in (parts, [part.astype("U") for part in parts], [lengthened(part) for part in parts], mixed):
        allotted = list(allotments([tallied(part, most) for part in cells], most))
        chosen = [Counter(most, each).choose(part) for each, part in zip(allotted, cells, strict=True)]
        texts = [str(each) for part in cells for each in part.tolist()]
        assert expected(texts, most) == np.concatenate(chosen).tolist()


@pytest.mark.parametrize("most", [1, 2, 5])
def test_partitions_that_hold_other_rows_when_read_again_give_nobody_more(most: int) -> None:
    rng = np.random.default_rng(most)
    for turn in (np.asarray, lengthened):
        ids = turn(rng.integers(0, 40, size=600))
        allotted = list(allotments([tallied(part, most) for part in np.array_split(ids, 6)], most))
        others = turn(rng.integers(0, 60, size=600))
        chosen = [
            part[Counter(most, each).choose(part)]
            for each, part in zip(allotted, np.array_split(others, 6), strict=True)
        ]
        kept, counts = np.unique(np.concatenate(chosen), return_counts=True)
        assert most == counts.max()
        assert set(kept.tolist()) <= set(ids.tolist())


def test_what_holds_ids_shows_none() -> None:
    counter = Counter(1)
    counter.choose(np.array([4711]))
    assert "<Counter: private>" == repr(counter)
    assert "<Tally: private>" == repr(counter.tally())
    assert isinstance(counter.tally(), Tally)
