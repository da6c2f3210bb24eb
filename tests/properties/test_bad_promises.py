"""Bad promises and budgets: one clear error each, before anything is charged, read or drawn, without a data value."""

from collections.abc import Callable

import pytest

import dpframe.plugin as dp
from tests.support.refusals import INFINITY, NAN, Watch, check_refused, rows

BAD_PROMISES = [
    pytest.param(lambda: dp.Rows(norm=1.0), ("'add-remove'", "'replace'", "none was given"), id="no neighbors"),
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
    pytest.param(lambda: dp.Column("age", 0.0, 1e141), ("'age'", "range"), id="range too wide to square"),
    pytest.param(lambda: dp.Column("age", 0.0, 1e-140), ("'age'", "range"), id="range too narrow to square"),
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
