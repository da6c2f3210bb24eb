"""Bad input: one clear error each, before anything is charged, read or drawn, without a data value."""

import io
import types
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import sparse

import dpframe.plugin as dp
from dpframe.noise import Keystream
from dpframe.sources import Source
from dpframe_gaussian import SymmetricGaussian

SECRET = 1234.5678
WORD = "hush-hush"
ROWS = 7919
SECRETS = ("1234", "5678", "hush", "7919", "7,919")

INFINITY, NAN = float("inf"), float("nan")
PLAIN = dp.Rows(norm=1.0, neighbors="add-remove")
COLUMNS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99)], neighbors="replace")
WORDS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"])], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)

AGES = np.full(ROWS, SECRET)
TABLE = np.full((ROWS, 2), SECRET)


def plan(*steps: dp.Step, rows: dp.Rows = PLAIN, budget: dp.Budget = BUDGET, **settings: Any) -> dp.Plan:
    return dp.Plan(rows=rows, budget=budget, steps=[dp.release("moment", "gaussian"), *steps], **settings)


def rows(**promise: Any) -> dp.Rows:
    return dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", **promise})


class Watch:
    """Counts what must not happen before the charge, and the charge itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.charges = self.reads = self.draws = 0
        take, blocks = Keystream.take, Source.blocks

        def counted_take(stream: Keystream, count: int) -> Any:
            self.draws += 1
            return take(stream, count)

        def counted_blocks(source: Source) -> Iterator[Any]:
            self.reads += 1
            return blocks(source)

        monkeypatch.setattr(Keystream, "take", counted_take)
        monkeypatch.setattr(Source, "blocks", counted_blocks)

    @dp.hookimpl
    def dpframe_before_charge(self, plan: dp.Plan) -> None:
        self.charges += 1

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.charges, self.reads, self.draws


class Counted:
    """An iterable of chunks that counts how often it is asked for one, and can be read again."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = chunks
        self.asked = 0

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks:
            self.asked += 1
            yield chunk


class OneShot(Counted):
    """The same as an iterator, which cannot."""

    def __init__(self, *chunks: Any) -> None:
        super().__init__(*chunks)
        self.left = super().__iter__()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.left)


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


def check_refused(
    watch: Watch, attempt: Callable[[], object], error: type[dp.DPFrameError], says: tuple[str, ...]
) -> dp.DPFrameError:
    with pytest.raises(dp.DPFrameError) as caught:
        attempt()
    message = str(caught.value)
    assert error is type(caught.value)
    assert [] == [part for part in says if part not in message], message
    assert [] == [secret for secret in SECRETS if secret in message], message
    assert (0, 0, 0) == watch.counts
    return caught.value


def test_the_watch_sees_a_good_run(watch: Watch) -> None:
    source = Counted(TABLE, TABLE)
    plan(rows=rows(dim=2)).run(source)
    charges, reads, draws = watch.counts
    assert (1, 1) == (charges, reads)
    assert 2 <= draws
    assert 2 == source.asked


# -- data ------------------------------------------------------------------------------------------------------------


class FrameLike:
    """Like a data frame: has the data as an array, and iterates over the names of its columns."""

    columns = ("age", "hours")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return TABLE


class OwnSparse(sparse.csr_array[Any]):
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
    pytest.param(PLAIN, np.array([[b"hush", b"b"]]), ("|S4", "numbers"), id="array of bytes"),
    pytest.param(PLAIN, np.array([[SECRET, WORD]], dtype=object), ("object", "numbers"), id="array of objects"),
    pytest.param(PLAIN, np.zeros((3, 2), dtype="M8[s]"), ("datetime64", "numbers"), id="array of dates"),
    pytest.param(PLAIN, AGES, ("two-dimensional", "rows"), id="one dimension"),
    pytest.param(PLAIN, np.array(SECRET), ("two-dimensional",), id="no dimension"),
    pytest.param(PLAIN, np.full((ROWS, 2, 2), SECRET), ("two-dimensional", "'rows', 2, 2"), id="three dimensions"),
    pytest.param(PLAIN, np.zeros((ROWS, 0)), ("at least one column", "'rows', 0"), id="zero columns"),
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
    pytest.param(PLAIN, [TABLE, TABLE[:, :1]], ("different numbers of columns", "[1, 2]"), id="ragged chunks"),
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
    pytest.param(COLUMNS, {"age": AGES}, ("no column 'hours'", "it has: age"), id="missing column"),
    pytest.param(
        COLUMNS, structured(("age", float), ("hour", float)), ("'hours'", "age, hour"), id="missing structured column"
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
        WORDS, {"age": AGES, "sex": np.array([WORD] * ROWS, object)}, ("'sex'", "object"), id="words as objects"
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


# -- promises --------------------------------------------------------------------------------------------------------

BAD_PROMISES = [
    pytest.param(lambda: dp.Rows(norm=1.0), ("'add-remove'", "'replace'", "nothing was said"), id="no neighbors"),
    pytest.param(lambda: rows(neighbors="swap"), ("'add-remove'", "'replace'", "'swap'"), id="unknown neighbors"),
    pytest.param(lambda: rows(neighbors=1), ("'add-remove'", "'replace'", "got 1"), id="neighbors not a word"),
    pytest.param(lambda: dp.Rows(neighbors="replace"), ("norm=", "columns="), id="neither norm nor columns"),
    *(
        pytest.param(
            lambda norm=norm: rows(norm=norm), ("Rows.norm must be a finite number", f"got {norm!r}"), id=label
        )
        for label, norm in {
            "norm zero": 0.0,
            "norm negative": -1.0,
            "norm infinite": INFINITY,
            "norm not a number": NAN,
            "norm a word": "1",
            "norm a truth value": True,
            "norm complex": 1j,
            "norm a list": [1.0],
            "norm too small": 1e-200,
            "norm too large": 1e200,
        }.items()
    ),
    *(
        pytest.param(
            lambda low=low, high=high: dp.Column("age", low, high), ("'age'", "low < high", f"high={high:g}"), id=label
        )
        for label, (low, high) in {"low = high": (1, 1), "low > high": (2, 1)}.items()
    ),
    *(
        pytest.param(
            lambda low=low, high=high: dp.Column("age", low, high),
            (f"Column.{field} must be a finite number", f"got {got}"),
            id=label,
        )
        for label, (low, high, field, got) in {
            "low not a number": (NAN, 1, "low", "nan"),
            "high infinite": (0, INFINITY, "high", "inf"),
            "low a word": ("0", 1, "low", "'0'"),
            "high a truth value": (0, True, "high", "True"),
        }.items()
    ),
    pytest.param(lambda: rows(norm=10**400), ("Rows.norm must be a finite number",), id="norm beyond any float"),
    pytest.param(lambda: dp.Column("age", 0, 10**400), ("Column.high must be a finite",), id="high beyond any float"),
    pytest.param(
        lambda: dp.Budget(epsilon=10**400), ("Budget.epsilon must be a finite",), id="epsilon beyond any float"
    ),
    pytest.param(lambda: dp.Column("age", -1e308, 1e308), ("'age'", "range"), id="range too wide"),
    pytest.param(lambda: dp.Column("age", 0.0, 5e-324), ("'age'", "range"), id="range too narrow"),
    pytest.param(lambda: dp.Column("age", 0.0, 1e-308), ("'age'", "range"), id="range too narrow to divide by"),
    pytest.param(lambda: dp.Column("age", 0, 1, missing=2), ("'age'", "missing=2", "[0, 1]"), id="missing outside"),
    pytest.param(lambda: dp.Column("age", 0, 1, missing=NAN), ("Column.missing", "nan"), id="missing not a number"),
    pytest.param(lambda: dp.Column(5, 0, 1), ("Column.name", "got 5"), id="column name a number"),  # type: ignore[arg-type]
    pytest.param(lambda: dp.Column("age", 0, 1, unit=5), ("Column.unit", "got 5"), id="unit a number"),  # type: ignore[arg-type]
    pytest.param(lambda: dp.Category(5, ["F"]), ("Category.name", "got 5"), id="category name a number"),  # type: ignore[arg-type]
    *(
        pytest.param(
            lambda levels=levels: dp.Category("sex", levels), ("'sex'", "distinct levels", repr(levels)), id=label
        )
        for label, levels in {
            "no levels": (),
            "levels repeated": ("F", "F"),
            "levels repeated as numbers": (1, 1.0),
            "levels mixed": ("F", 1),
            "levels one word": "FM",
            "levels a number": 5,
            "levels none": None,
            "levels truth values": (True, False),
            "levels not finite": (1.0, NAN),
        }.items()
    ),
    pytest.param(lambda: dp.Category("sex", ["F"], missing="X"), ("'sex'", "'X'", "['F']"), id="missing not a level"),
    pytest.param(lambda: rows(columns=[]), ("Rows.columns", "at least one"), id="no columns"),
    pytest.param(lambda: rows(columns=["age"]), ("Rows.columns", "dp.Column"), id="columns as words"),
    pytest.param(lambda: rows(columns="age"), ("Rows.columns", "dp.Column"), id="columns one word"),
    pytest.param(
        lambda: rows(columns=[dp.Column("age", 0, 1), dp.Column("age", 0, 2)]),
        ("'age'", "differ"),
        id="repeated column",
    ),
    pytest.param(
        lambda: rows(columns=[dp.Category("sex", ["F", "M"])], dim=1), ("dim is 1", "2 coordinates"), id="wrong dim"
    ),
    *(
        pytest.param(
            lambda field=field, value=value: rows(**{field: value}), (f"Rows.{field}", f"got {value!r}"), id=label
        )
        for label, (field, value) in {
            "no contributions": ("contributions", 0),
            "negative contributions": ("contributions", -1),
            "half a contribution": ("contributions", 1.5),
            "contributions a truth value": ("contributions", True),
            "contributions a word": ("contributions", "1"),
            "center a number": ("center", 1),
            "center a word": ("center", "yes"),
            "center none": ("center", None),
            "dim zero": ("dim", 0),
            "dim a fraction": ("dim", 2.5),
            "dim too large": ("dim", 1 << 30),
        }.items()
    ),
    *(
        pytest.param(
            lambda epsilon=epsilon: dp.Budget(epsilon=epsilon),
            ("Budget.epsilon must be a finite number", f"got {epsilon!r}"),
            id=f"epsilon {label}",
        )
        for label, epsilon in {
            "negative": -1.0,
            "infinite": INFINITY,
            "not a number": NAN,
            "a word": "1",
            "a truth value": True,
            "none": None,
        }.items()
    ),
    *(
        pytest.param(
            lambda delta=delta: dp.Budget(epsilon=1.0, delta=delta),
            ("Budget.delta must be a finite number of at least 0 and below 1", f"got {delta!r}"),
            id=f"delta {label}",
        )
        for label, delta in {
            "one": 1.0,
            "negative": -1e-9,
            "infinite": INFINITY,
            "not a number": NAN,
            "a word": "1e-6",
            "a truth value": False,
            "none": None,
        }.items()
    ),
]


@pytest.mark.parametrize(("attempt", "says"), BAD_PROMISES)
def test_promise(watch: Watch, attempt: Callable[[], object], says: tuple[str, ...]) -> None:
    check_refused(watch, attempt, dp.PlanError, says)


# -- steps and plans -------------------------------------------------------------------------------------------------

MOMENT = dp.release("moment", "gaussian")
RADIUS = dp.release("radius", "private-quantile", quantile=0.9, high=10.0)


def top(name: str = "components", of: Any = "moment", k: Any = 1) -> dp.Step:
    return dp.derive(name, "top-subspace", of=of, k=k)


BAD_STEPS = [
    pytest.param(lambda: dp.release("m", "gaussian", sigma=2), ("'m'", "'sigma'", "noise"), id="unknown parameter"),
    pytest.param(lambda: dp.derive("c", "psd", of="m", k=2), ("'c'", "'k'", "of"), id="unknown parameter, derived"),
    pytest.param(lambda: dp.derive("c", "top-subspace", of="m"), ("'c'", "'k'"), id="missing parameter"),
    pytest.param(lambda: dp.derive("c", "top-subspace", k=2), ("'c'", "'of'"), id="missing input"),
    pytest.param(
        lambda: dp.release("m", "gaussian", noise="loud"),
        ("SymmetricGaussian.noise must be one of 'goe', 'triangular', 'paper'; got 'loud'.",),
        id="unknown noise",
    ),
    *(
        pytest.param(
            lambda field=field, value=value: dp.release("m", "gaussian", **{field: value}),
            (f"Step.{field} must be a finite number above 0", f"got {value!r}"),
            id=f"{field} {label}",
        )
        for field in ("weight", "level")
        for label, value in {
            "zero": 0.0,
            "negative": -1.0,
            "infinite": INFINITY,
            "not a number": NAN,
            "a word": "1",
            "a truth value": True,
        }.items()
    ),
    *(
        pytest.param(lambda k=k: top(k=k), ("TopSubspace.k must be a positive integer", f"got {k!r}"), id=f"k {label}")
        for label, k in {"zero": 0, "negative": -1, "a fraction": 1.5, "a truth value": True, "a word": "3"}.items()
    ),
    *(
        pytest.param(lambda name=name: dp.release(name, "gaussian"), ("Step.name", f"got {name!r}"), id=f"name {label}")
        for label, name in {
            "empty": "",
            "of two words": "a b",
            "a number": 5,
            "none": None,
            "with a gap": "a..b",
        }.items()
    ),
    pytest.param(lambda: dp.ref(5), ("dp.ref", "got 5"), id="reference to a number"),  # type: ignore[arg-type]
    pytest.param(lambda: top(of=[[1.0], [1.0, 2.0]]), ("a Hermitian matrix",), id="ragged value"),
    pytest.param(lambda: top(of=[[1.0, 2.0]]), ("a Hermitian matrix",), id="value that is not square"),
    pytest.param(lambda: top(of=object()), ("a Hermitian matrix",), id="value that is no matrix"),
    pytest.param(lambda: dp.Step(name="m", action=5), ("Step.action", "got 5"), id="action a number"),  # type: ignore[arg-type]
    pytest.param(lambda: plan(top(of=None)), ("'components'", "of="), id="input none"),
    pytest.param(
        lambda: plan(dp.derive("c", "with-spectrum", of="moment", spectrum=None)),
        ("'c'", "spectrum="),
        id="spectrum none",
    ),
    pytest.param(lambda: plan(MOMENT), ("two steps are named 'moment'",), id="duplicate names"),
    pytest.param(lambda: plan(top(), top()), ("two steps are named 'components'",), id="duplicate derived names"),
    pytest.param(
        lambda: plan(top(of="momnt")),
        ("'components'", "'momnt'", "of=", "earlier steps: 'moment'"),
        id="missing reference",
    ),
    pytest.param(
        lambda: plan(top(of=dp.ref("later")), dp.derive("later", "psd", of="moment")),
        ("'components'", "'later'", "above"),
        id="forward reference",
    ),
    pytest.param(
        lambda: plan(dp.derive("self", "psd", of="self")), ("'self'", "no earlier step", "above"), id="self reference"
    ),
    pytest.param(
        lambda: plan(dp.derive("c", "covariance", of="moment")),
        ("'c'", "an augmented moment", "'moment' gives a symmetric matrix"),
        id="covariance of rows that are not centred",
    ),
    pytest.param(
        lambda: plan(top(), rows=rows(center=True)),
        ("a Hermitian matrix", "an augmented moment", '"covariance"'),
        id="components of an augmented moment",
    ),
    pytest.param(
        lambda: plan(dp.derive("s", "eigenvalues", of="moment"), top(of="s")),
        ("a Hermitian matrix", "'s' gives a spectrum"),
        id="components of a spectrum",
    ),
    pytest.param(
        lambda: plan(dp.derive("c", "with-spectrum", of="moment", spectrum="moment")),
        ("a spectrum in spectrum=", "a symmetric matrix"),
        id="matrix as a spectrum",
    ),
    pytest.param(
        lambda: plan(top(of=dp.Spectrum([1.0]))),
        ("a Hermitian matrix", "of= holds a spectrum"),
        id="value does not fit",
    ),
    pytest.param(lambda: plan(top(), dp.derive("u", "to-units", of="components")), ("'u'", "columns="), id="no units"),
    pytest.param(lambda: plan(top(k=3), rows=rows(dim=2)), ("'components'", "k=3", "2"), id="k above the dimension"),
    pytest.param(
        lambda: plan(top(k=3)).run(TABLE), ("'components'", "k=3", "2"), id="k above the dimension of the data"
    ),
    pytest.param(
        lambda: plan(top(k=3), rows=COLUMNS), ("'components'", "k=3", "2"), id="k above the number of columns"
    ),
    pytest.param(
        lambda: plan(top(k=3)).explain(dim=2), ("'components'", "k=3", "2"), id="k above the explained dimension"
    ),
    pytest.param(
        lambda: plan(top(of=[[1.0]], k=2)).run(TABLE),
        ("'components'", "k=2", "1"),
        id="k above the dimension of a value",
    ),
    pytest.param(
        lambda: plan(dp.derive("u", "to-units", of=dp.Mean([1.0, 2.0])), rows=COLUMNS).run(TABLE),
        ("'u'", "columns"),
        id="units of a value without names",
    ),
    pytest.param(lambda: plan(rows=rows(contributions=10**400)), (), id="contributions beyond any float"),
    pytest.param(
        lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=[]), ("steps", "dp.release", "at least one"), id="no steps"
    ),
    pytest.param(lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=None), ("dp.release",), id="steps none"),
    pytest.param(lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=["moment"]), ("dp.release",), id="steps as words"),
    pytest.param(lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=MOMENT), ("dp.release",), id="one step, no list"),
    pytest.param(
        lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=[dp.derive("e", "eigenvalues", of=[[1.0]])]),
        ("dp.release",),
        id="only derived steps",
    ),
    pytest.param(
        lambda: dp.Plan(rows=1.0, budget=BUDGET, steps=[MOMENT]),  # type: ignore[arg-type]
        ("Plan.rows must be a dp.Rows", "float"),
        id="rows a number",
    ),
    pytest.param(
        lambda: dp.Plan(rows=PLAIN, budget=1.0, steps=[MOMENT]),  # type: ignore[arg-type]
        ("Plan.budget must be a dp.Budget", "float"),
        id="budget a number",
    ),
    pytest.param(
        lambda: plan(budget=dp.Budget(epsilon=1.0)),
        ("'moment'", "delta > 0", "delta=0", "delta=1e-6"),
        id="pure Gaussian",
    ),
    pytest.param(
        lambda: plan(budget=dp.Budget(epsilon=1.0), accountant="gdp"),
        ("'moment'", "delta=0"),
        id="pure Gaussian, by name",
    ),
    pytest.param(
        lambda: plan(rows=rows(norm=dp.ref("radius"))),
        ("'moment'", "'radius'", "no earlier step"),
        id="norm of a missing step",
    ),
    pytest.param(
        lambda: plan(RADIUS, rows=rows(norm=dp.ref("radius"))), ("'moment'", "'radius'"), id="norm of a later step"
    ),
    pytest.param(
        lambda: plan(rows=rows(norm=dp.ref("moment"))), ("'moment'", "no earlier step"), id="norm of the step itself"
    ),
    pytest.param(
        lambda: plan(dp.release("again", "gaussian"), rows=rows(norm=dp.Ref("radius"))),
        ("'radius'",),
        id="norm of no step",
    ),
    pytest.param(
        lambda: dp.Plan(
            rows=rows(norm=dp.ref("values")),
            budget=BUDGET,
            steps=[RADIUS, dp.derive("values", "eigenvalues", of=[[1.0]]), MOMENT],
        ),
        ("Rows.norm must be a number", "'values' gives a spectrum"),
        id="norm that is no number",
    ),
    pytest.param(lambda: plan(accountant=5), ("Plan.accountant", "got 5"), id="accountant a number"),
    pytest.param(lambda: plan(scenario=5), ("Plan.scenario", "dp.Scenario"), id="scenario a number"),
    pytest.param(lambda: plan(accountant="pure"), ("'pure'", "Gaussian", "'moment'"), id="accountant does not compose"),
    pytest.param(lambda: plan(budget=dp.Budget(epsilon=0.0, delta=1e-6)), ("epsilon above 0",), id="epsilon zero"),
    pytest.param(lambda: plan(budget=dp.Budget(epsilon=1e-12, delta=1e-15)), ("budget",), id="budget too small"),
    pytest.param(lambda: plan().explain(dim=0), ("dim", "got 0"), id="explained dimension zero"),
    pytest.param(lambda: plan().explain(dim=-1), ("dim", "got -1"), id="explained dimension negative"),
    pytest.param(lambda: plan().explain(dim=False), ("dim", "got False"), id="explained dimension a truth value"),
    pytest.param(lambda: plan().explain(dim=2.5), ("dim", "got 2.5"), id="explained dimension a fraction"),  # type: ignore[arg-type]
    pytest.param(
        lambda: plan(rows=rows(dim=3)).explain(dim=2), ("dim", "3", "2"), id="another dimension than promised"
    ),
    pytest.param(
        lambda: plan(rows=COLUMNS).explain(dim=3), ("dim is 3", "2 coordinates"), id="dimension not the columns'"
    ),
    pytest.param(lambda: plan().explain(spectrum=[1.0, 2.0]), ("spectrum", "sorted"), id="spectrum not sorted"),
    pytest.param(lambda: plan().explain(spectrum=[1.0, -2.0]), ("spectrum", "negative"), id="spectrum negative"),
    pytest.param(lambda: plan().explain(spectrum=[INFINITY, NAN]), ("spectrum", "finite"), id="spectrum not finite"),
    pytest.param(lambda: plan().explain(spectrum=[]), ("must",), id="spectrum empty"),
    pytest.param(lambda: plan().explain(spectrum=5), ("spectrum",), id="spectrum a number"),  # type: ignore[arg-type]
    pytest.param(lambda: plan().explain(spectrum=iter([1.0])), ("spectrum",), id="spectrum an iterator"),  # type: ignore[arg-type]
    pytest.param(
        lambda: plan().explain(dim=3, spectrum=[2.0, 1.0]), ("2 values", "3 coordinates"), id="spectrum too short"
    ),
    pytest.param(lambda: dp.Scenario(dim=-1), ("dim", "-1"), id="scenario of negative dimension"),
    pytest.param(lambda: plan().explain(dim=2).bounds("x"), ("'x'", "moment"), id="bounds of an unknown step"),
    pytest.param(lambda: plan().run(TABLE, insecure_seed="7"), ("insecure_seed", "'7'"), id="seed a word"),  # type: ignore[arg-type]
    pytest.param(lambda: plan().run(TABLE, insecure_seed=True), ("insecure_seed", "True"), id="seed a truth value"),
    *(
        pytest.param(
            lambda name=name, delta=delta: dp.accountant(name).epsilon([dp.losses.Gaussian(mu=1.0)], delta=delta),
            ("delta", f"got {delta!r}"),
            id=f"composed by {name} at delta {delta}",
        )
        for name in ("auto", "gdp", "zcdp")
        for delta in (-1e-6, NAN, "1e-6")
    ),
    pytest.param(lambda: dp.losses.Gaussian(mu=-1.0), ("Gaussian.mu", "got -1.0"), id="loss negative"),
    pytest.param(lambda: dp.losses.Pure(epsilon=NAN), ("Pure.epsilon", "got nan"), id="loss not a number"),
    pytest.param(lambda: dp.NormHistogram(edges=(2.0, 1.0)), ("edges", "increasing"), id="edges not increasing"),
    pytest.param(
        lambda: dp.BlockMoment(basis=np.eye(2)[:, :1], radii=(1.0, 0.0)), ("radii", "two positive"), id="radius zero"
    ),
]


@pytest.mark.parametrize(("attempt", "says"), BAD_STEPS)
def test_plan(watch: Watch, attempt: Callable[[], object], says: tuple[str, ...]) -> None:
    check_refused(watch, attempt, dp.PlanError, says)


BAD_NAMES = [
    pytest.param(
        lambda: dp.release("m", "gausian"),
        ("mechanism named 'gausian'", "Did you mean 'gaussian' (dpframe-gaussian "),
        id="mechanism",
    ),
    pytest.param(
        lambda: dp.release("m", "zzz"), ("mechanism named 'zzz'", "There is: ", "gaussian"), id="nothing close"
    ),
    pytest.param(
        lambda: dp.derive("c", "top-subspaces"),
        ("postprocessor named 'top-subspaces'", "Did you mean 'top-subspace' (dpframe "),
        id="post-processor",
    ),
    pytest.param(lambda: dp.release("m", "psd"), ("mechanism named 'psd'",), id="post-processor as a mechanism"),
    pytest.param(lambda: dp.derive("c", "gaussian"), ("postprocessor named 'gaussian'",), id="mechanism as derived"),
    pytest.param(
        lambda: plan(accountant="gdpp"),
        ("an accountant named 'gdpp'", "Did you mean 'gdp' (dpframe "),
        id="accountant",
    ),
    pytest.param(lambda: dp.accountant("zzz"), ("'zzz'", "auto", "gdp", "pure"), id="accountant, nothing close"),
    pytest.param(lambda: dp.release("m", None), ("None", "gaussian"), id="none"),  # type: ignore[arg-type]
    pytest.param(lambda: dp.release("m", ["gaussian"]), ("['gaussian']",), id="list"),  # type: ignore[arg-type]
    pytest.param(lambda: dp.accountant(["gdp"]), ("['gdp']",), id="accountant list"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("attempt", "says"), BAD_NAMES)
def test_plugin_name(watch: Watch, attempt: Callable[[], object], says: tuple[str, ...]) -> None:
    check_refused(watch, attempt, dp.PluginError, says)


def test_fixed_levels_above_the_budget(watch: Watch) -> None:
    steps = [dp.release("a", "gaussian", level=2.0), dp.release("b", "gaussian", weight=2.0)]
    says = ("fixed level", "'a'", "the budget is epsilon=1", "delta=1e-06", "Nothing was charged")
    error = check_refused(watch, lambda: dp.Plan(rows=PLAIN, budget=BUDGET, steps=steps), dp.BudgetExceeded, says)
    assert isinstance(error, dp.BudgetExceeded)
    cost = dp.accountant("gdp").epsilon([dp.losses.Gaussian(mu=2.0)], delta=1e-6)
    assert (cost, 1.0, 1e-6) == (error.asked, error.allowed, error.delta)
    assert f"epsilon={cost:.6g}" in str(error)


# -- what must not raise ---------------------------------------------------------------------------------------------


def values(data: Any, promise: dp.Rows = PLAIN) -> bytes:
    return plan(rows=promise).run(data, insecure_seed=7)["moment"].tobytes()


KEPT = np.array([[0.5, 0.25], [0.125, -0.75]])


@pytest.mark.parametrize("cell", [NAN, INFINITY, -INFINITY])
def test_a_row_with_a_cell_that_is_not_finite_counts_as_left_out(watch: Watch, cell: float) -> None:
    assert values(KEPT) == values(np.vstack([KEPT, [[cell, SECRET]]]))
    assert values(np.zeros((0, 2))) == values(np.full((5, 2), cell))
    assert values(KEPT, rows(center=True)) == values(
        np.vstack([KEPT[:1], [[SECRET, cell]], KEPT[1:]]), rows(center=True)
    )
    assert 6 == watch.charges


@pytest.mark.parametrize("cell", [NAN, INFINITY, -INFINITY])
def test_a_missing_cell_takes_its_public_value(cell: float) -> None:
    columns = [dp.Column("age", 17, 90), dp.Column("hours", 1, 99, missing=40)]
    promise = dp.Rows(columns=columns, neighbors="replace")
    assert values(np.array([[30.0, 40.0]]), promise) == values(np.array([[30.0, cell]]), promise)
    assert values(np.zeros((0, 2)), promise) == values(np.array([[cell, 40.0]]), promise)


def test_an_unknown_level_is_a_missing_cell() -> None:
    ages, sexes = np.array([30.0, 40.0]), np.array(["F", WORD])
    filled = dp.Rows(columns=[WORDS.columns[0], dp.Category("sex", ["F", "M"], missing="M")], neighbors="replace")  # type: ignore[index]
    assert values({"age": ages[:1], "sex": sexes[:1]}, WORDS) == values({"age": ages, "sex": sexes}, WORDS)
    assert values({"age": ages, "sex": np.array(["F", "M"])}, filled) == values({"age": ages, "sex": sexes}, filled)


def test_cells_beyond_double_precision() -> None:
    """A cell that is finite only in a wider type is as good as infinite, and nothing is said about it."""
    wide = np.array([[np.longdouble("1e400"), 0.5]], dtype=np.longdouble)
    if np.isfinite(wide).all():  # where the platform has a wider type at all
        assert values(np.array([[INFINITY, 0.5]])) == values(wide)
        assert values(np.array([[INFINITY, 40.0]]), COLUMNS) == values(wide * [[1, 80]], COLUMNS)


@pytest.mark.parametrize(
    ("promise", "data"),
    [
        (PLAIN, np.zeros((0, 2))),
        (rows(dim=2), []),
        (rows(dim=2), iter([])),
        (rows(dim=2), [np.zeros((0, 2)), np.zeros((0, 2))]),
        (rows(dim=2, center=True), np.zeros((0, 2))),
        (COLUMNS, {"age": np.zeros(0), "hours": np.zeros(0)}),
        (COLUMNS, np.zeros(0, dtype=[("age", float), ("hours", float)])),
        (WORDS, {"age": np.zeros(0), "sex": np.zeros(0, dtype=str)}),
    ],
    ids=["array", "no chunks", "empty generator", "empty chunks", "centred", "mapping", "structured", "words"],
)
def test_no_rows_give_a_noisy_zero(promise: dp.Rows, data: Any) -> None:
    width = (promise.dim or 2) + promise.center
    moment = plan(rows=promise).run(data, insecure_seed=7)["moment"]
    assert (width, width) == moment.shape
    assert width**2 == np.count_nonzero(moment)
    nothing = np.full((3, promise.dim or 2), NAN)
    assert values(nothing, attrs.evolve(promise, columns=None, norm=promise.length)) == moment.tobytes()


@pytest.mark.parametrize("noise", ["goe", "triangular", "paper"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("promise", [{"dim": 1}, {"dim": 2}, {"contributions": 3}], ids=str)
@pytest.mark.parametrize("center", [False, True])
def test_the_smallest_level_can_be_drawn(noise: str, neighbors: str, promise: dict[str, int], center: bool) -> None:
    """Whatever the plan lets through, the sampler can draw: no failure after the charge."""
    promised = rows(**{"dim": 2, **promise}, neighbors=neighbors, center=center)
    level = SymmetricGaussian.smallest_level * promised.contributions
    step = dp.release("moment", "gaussian", noise=noise, level=level)
    result = dp.Plan(rows=promised, budget=BUDGET, steps=[step]).run([], insecure_seed=7)
    assert 2.0**15 < np.abs(result["moment"]).max() / (promised.length**2)


def test_a_module_is_no_data(watch: Watch) -> None:
    check_refused(watch, lambda: plan().run(types), dp.DataError, ("module", "two-dimensional"))
