"""Bad data: one clear error each, before anything is charged, read or drawn, without a data value."""

import io
import types
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import sparse

import dpframe.plugin as dp
from tests.support.refusals import (
    AGES,
    COLUMNS,
    PLAIN,
    ROWS,
    SECRET,
    SECRETS,
    TABLE,
    WORD,
    WORDS,
    Counted,
    OneShot,
    Watch,
    check_refused,
    plan,
    rows,
)


@attrs.frozen(kw_only=True)
class Blocks(dp.Mechanism):
    """Reads a block moment in an earlier basis, so that a plan with it passes over the data twice."""

    name = "test-blocks"
    unit = "epsilon"
    gives = dp.Scalar

    basis: Any = dp.input(dp.Subspace)

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.BlockMoment(basis=self.basis, radii=(1.0, 1.0)),)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(data.parts(self.reads()[0])["residual"])


@pytest.fixture
def two_passes() -> Iterator[dp.Rows]:
    """A promise for plans with the mechanism above."""
    dp.register(Blocks)
    yield rows(dim=2)
    dp.unregister(Blocks)


def blocks_plan(promise: dp.Rows) -> dp.Plan:
    basis = dp.derive("basis", "top-subspace", of="moment", k=1)
    return plan(basis, dp.release("blocks", "test-blocks", basis=dp.ref("basis")), rows=promise)


def test_the_watch_sees_a_good_run(watch: Watch) -> None:
    source = Counted(TABLE, TABLE)
    plan(rows=rows(dim=2)).run(source)
    charges, reads, draws = watch.counts
    assert (1, 1) == (charges, reads)
    assert 2 <= draws
    assert 2 == source.asked


class FrameLike:
    """Like a data frame: has the data as an array, and iterates over the names of its columns."""

    columns = ("age", "hours")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return TABLE


class OwnSparse(sparse.csr_array):
    """A sparse array from another module than scipy's."""


def finished() -> Iterator[Any]:
    """A generator that was read before."""
    chunks = (chunk for chunk in [TABLE])
    assert 1 == len(list(chunks))
    return chunks


def structured(*fields: tuple[str, Any]) -> np.ndarray[Any, Any]:
    return np.zeros(ROWS, dtype=list(fields))


masked = np.ma.MaskedArray
BAD_DATA = [
    pytest.param(PLAIN, None, ("NoneType", "two-dimensional"), id="none"),
    pytest.param(PLAIN, SECRET, ("float", "two-dimensional"), id="number"),
    pytest.param(PLAIN, WORD, ("a str", "two-dimensional"), id="text"),
    pytest.param(PLAIN, WORD.encode(), ("a bytes", "two-dimensional"), id="bytes"),
    pytest.param(PLAIN, object(), ("a object", "two-dimensional"), id="object"),
    pytest.param(PLAIN, [[SECRET, SECRET]], ("a list", "two-dimensional"), id="rows as lists"),
    pytest.param(PLAIN, [SECRET, SECRET], ("a float", "two-dimensional"), id="list of numbers"),
    pytest.param(PLAIN, np.array([[WORD, "b"]]), ("numbers", "dp.Category"), id="array of strings"),
    pytest.param(PLAIN, np.array([[b"hush", b"b"]]), ("holds bytes", "numbers"), id="array of bytes"),
    pytest.param(
        PLAIN, np.array([[SECRET, WORD]], dtype=object), ("holds Python objects", "numbers"), id="array of objects"
    ),
    pytest.param(PLAIN, np.zeros((3, 2), dtype="M8[s]"), ("holds dates", "numbers"), id="array of dates"),
    pytest.param(PLAIN, AGES, ("two-dimensional", "1 dimensions"), id="one dimension"),
    pytest.param(PLAIN, np.array(SECRET), ("two-dimensional",), id="no dimension"),
    pytest.param(PLAIN, np.full((ROWS, 2, 2), SECRET), ("two-dimensional", "3 dimensions"), id="three dimensions"),
    pytest.param(PLAIN, np.zeros((ROWS, 0)), ("at least one column", "no columns"), id="zero columns"),
    pytest.param(PLAIN, np.zeros((0, 0)), ("at least one column",), id="neither rows nor columns"),
    pytest.param(PLAIN, TABLE.astype(complex), ("complex", "real"), id="complex"),
    pytest.param(PLAIN, masked(TABLE, mask=TABLE > 0), ("masked", "missing="), id="masked array"),
    pytest.param(PLAIN, [masked(TABLE, mask=TABLE > 0)], ("masked", "missing="), id="masked chunk"),
    pytest.param(
        COLUMNS, {"age": masked(AGES, mask=AGES > 0), "hours": AGES}, ("masked", "missing="), id="masked column"
    ),
    pytest.param(
        COLUMNS, masked(structured(("age", float), ("hours", float))), ("masked", "missing="), id="masked table"
    ),
    pytest.param(PLAIN, sparse.csr_array(TABLE), ("csr_array", "two-dimensional"), id="sparse array"),
    pytest.param(PLAIN, sparse.coo_matrix(TABLE), ("coo_matrix", "two-dimensional"), id="sparse matrix"),
    pytest.param(COLUMNS, sparse.csr_array(TABLE), ("csr_array", "two-dimensional"), id="sparse array for columns"),
    pytest.param(COLUMNS, OwnSparse(TABLE), ("OwnSparse", "two-dimensional"), id="derived sparse array"),
    pytest.param(PLAIN, [sparse.csr_array(TABLE)], ("csr_array", "two-dimensional"), id="sparse chunk"),
    pytest.param(COLUMNS, FrameLike(), ("FrameLike", "array"), id="foreign table"),
    pytest.param(PLAIN, [TABLE, TABLE[:, :1]], ("different numbers of columns",), id="ragged chunks"),
    pytest.param(rows(dim=2), [TABLE, TABLE[:, :1]], ("the 2 columns",), id="ragged chunks, known dimension"),
    pytest.param(PLAIN, [TABLE, AGES], ("two-dimensional",), id="chunk of one dimension"),
    pytest.param(rows(dim=3), TABLE, ("the 3 columns",), id="fewer columns than promised"),
    pytest.param(COLUMNS, np.full((ROWS, 3), SECRET), ("the 2 columns",), id="more columns than declared"),
    pytest.param(PLAIN, iter([TABLE]), ("dim=",), id="generator without dim"),
    pytest.param(PLAIN, Counted(TABLE), ("dim=",), id="iterable without dim"),
    pytest.param(PLAIN, [], ("dim=",), id="no chunks and no dim"),
    pytest.param(rows(dim=2), finished(), ("the generator was read before", "anew"), id="finished generator"),
    pytest.param(rows(dim=2), io.BytesIO(b"x"), ("BytesIO cannot be read", "path"), id="bytes of a file"),
    pytest.param(rows(dim=2), io.StringIO("x"), ("StringIO cannot be read", "path"), id="text of a file"),
    pytest.param(rows(dim=2), {SECRET}, ("a set cannot be read",), id="set"),
    pytest.param(rows(dim=2), bytearray(8), ("a bytearray cannot be read",), id="bytearray"),
    pytest.param(rows(dim=2), range(3), ("a range cannot be read",), id="range"),
    pytest.param(PLAIN, structured(("age", float)), ("named columns", "dp.Rows(columns="), id="table, plain rows"),
    pytest.param(PLAIN, {"age": AGES}, ("named columns", "dp.Rows(columns="), id="mapping, plain rows"),
    pytest.param(COLUMNS, {"age": AGES}, ("no column 'hours'", "it has: 'age'"), id="missing column"),
    pytest.param(
        COLUMNS,
        structured(("age", float), ("hour", float)),
        ("'hours'", "it has: 'age'."),
        id="missing structured column",
    ),
    pytest.param(COLUMNS, [{"age": AGES}], ("no column 'hours'",), id="missing column in a chunk"),
    pytest.param(COLUMNS, {"age": AGES, "hours": list(AGES)}, ("'hours'", "one-dimensional"), id="column as a list"),
    pytest.param(COLUMNS, {"age": AGES, "hours": TABLE}, ("'hours'", "one-dimensional"), id="column of a matrix"),
    pytest.param(COLUMNS, {"age": AGES, "hours": AGES[1:]}, ("different lengths",), id="columns of different lengths"),
    pytest.param(
        COLUMNS, {"age": AGES, "hours": np.array([WORD] * ROWS)}, ("'hours'", "numbers"), id="words in a range"
    ),
    pytest.param(COLUMNS, {"age": AGES, "hours": AGES * 1j}, ("'hours'", "complex"), id="complex column"),
    pytest.param(WORDS, TABLE, ("category 'sex'", "words", "numeric array"), id="words, numeric array"),
    pytest.param(WORDS, {"age": AGES, "sex": AGES}, ("category 'sex'", "float64"), id="words, numeric column"),
    pytest.param(
        WORDS, {"age": AGES, "sex": np.array([WORD] * ROWS, object)}, ("'sex'", "Python objects"), id="words as objects"
    ),
]


@pytest.mark.parametrize(("promise", "data", "says"), BAD_DATA)
def test_data(watch: Watch, promise: dp.Rows, data: Any, says: tuple[str, ...]) -> None:
    check_refused(watch, lambda: plan(rows=promise).run(data), dp.DataError, says)


@pytest.mark.parametrize(("promise", "data", "says"), BAD_DATA)
def test_check_refuses_the_same_data(watch: Watch, promise: dp.Rows, data: Any, says: tuple[str, ...]) -> None:
    check_refused(watch, lambda: dp.check(data, promise), dp.DataError, says)


def test_data_errors_are_value_errors() -> None:
    assert issubclass(dp.DataError, ValueError)
    assert issubclass(dp.PlanError, ValueError)


def test_one_shot_source_for_two_passes(watch: Watch, two_passes: dp.Rows) -> None:
    source = OneShot(TABLE, TABLE)
    says = ("2 times", "only once", "Nothing was charged")
    check_refused(watch, lambda: blocks_plan(two_passes).run(source), dp.DataError, says)
    assert 0 == source.asked


def test_one_shot_source_for_one_pass(watch: Watch) -> None:
    source = OneShot(TABLE, TABLE)
    plan(rows=rows(dim=2)).run(source)
    assert 2 == source.asked


def test_iterable_without_dim_is_not_touched(watch: Watch) -> None:
    source = Counted(TABLE)
    check_refused(watch, lambda: plan().run(source), dp.DataError, ("dim=",))
    assert 0 == source.asked


@pytest.mark.parametrize(
    ("chunk", "says"),
    [
        (TABLE[:, :1], "the array does not have the 2 columns of the plan"),
        (AGES, "two-dimensional"),
        ([SECRET], "a list cannot be read"),
        (TABLE * 1j, "complex"),
        (masked(TABLE, mask=TABLE > 0), "masked"),
    ],
    ids=["ragged", "one dimension", "list", "complex", "masked"],
)
def test_chunks_that_come_after_the_charge(watch: Watch, chunk: Any, says: str) -> None:
    """What an iterable holds is seen only when it is read: the charge stands and the error says so."""
    with pytest.raises(dp.ReleaseFailed) as caught:
        plan(rows=rows(dim=2)).run(iter([TABLE, chunk]))
    message = str(caught.value)
    assert says in message
    assert "charge of epsilon=1, delta=1e-06 stands" in message
    assert [] == [secret for secret in SECRETS if secret in message]
    assert ("moment", plan().spent) == (caught.value.step, caught.value.spent)
    assert (1, 1, 0) == watch.counts


def test_a_module_is_no_data(watch: Watch) -> None:
    check_refused(watch, lambda: plan().run(types), dp.DataError, ("module", "two-dimensional"))
