"""Explanations and reports: the promise first, then the steps, at any width, and nothing private."""

import io
import math
import re
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
import rich.console
from rich.console import Console

import dpframe.plugin as dp
from dpframe.display.printable import Printable
from tests.support.mechanisms import NoisyTrace, registered

ESCAPE = "\x1b"
ROWS = 7919
WIDTHS = [40, 60, 100, 200]
SPECTRUM = [1195, 996, 507, 282, 178, 168]


def steps() -> list[dp.Step]:
    return [
        dp.release("moment", "gaussian"),
        dp.release("again", "gaussian", weight=2.0, noise="triangular"),
        dp.derive("components", "top-subspace", of="moment", k=3),
        dp.derive("spectrum", "eigenvalues", of="again"),
    ]


def plan(neighbors: str = "add-remove", **promise: Any) -> dp.Plan:
    rows = dp.Rows(**{"norm": 1.0, **promise}, neighbors=neighbors)
    return dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps())


def data(count: int = ROWS) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(5).normal(scale=0.3, size=(count, 6))


def explanation() -> dp.Explanation:
    return plan().explain(dim=6, spectrum=SPECTRUM)


def result() -> dp.Result:
    return plan().run(data(), insecure_seed=7)


def secure_result() -> dp.Result:
    return plan().run(data())


def check() -> Printable:
    columns = [dp.Column("age", 17, 90), dp.Column("hours of work in a week", 1, 99)]
    return dp.check(np.full((3, 2), 20.0), dp.Rows(columns=columns, neighbors="replace"))


PRINTABLE: dict[str, Callable[[], Printable]] = {"explanation": explanation, "result": result, "check": check}
every_printable = pytest.mark.parametrize("make", PRINTABLE.values(), ids=PRINTABLE)
both_reports = pytest.mark.parametrize("make", [explanation, result], ids=["explanation", "result"])


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "150")


def words(text: str) -> str:
    """The text on one line, whatever the width it was wrapped at."""
    return " ".join(text.split())


def in_order(text: str, *parts: str) -> bool:
    """Whether the parts come one after the other."""
    return re.search(".*?".join(map(re.escape, parts)), text, re.DOTALL) is not None


# -- what is said ----------------------------------------------------------------------------------------------------


@both_reports
@pytest.mark.parametrize("width", WIDTHS)
def test_the_promise_comes_first(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable], width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = words(str(make()))
    assert in_order(
        text,
        "promise",
        "Protected each person, with one row: whether they are in the data at all",
        "(add-remove)",
        "Against anyone who sees every released value",
        "Strength epsilon = 1, delta = 1e-06, for every possible data set (worst case",
        "Spent epsilon=1, delta=1e-06",
        "read once",
        "Releases",
        "moment",
        "Derived",
        "components",
    ), text


@pytest.mark.parametrize(
    ("promise", "says"),
    [
        ({}, "each person, with one row: whether they are in the data at all, and what their rows say (add-remove)"),
        (
            {"neighbors": "replace"},
            "each person, with one row: what their rows say; the number of rows is public (replace)",
        ),
        ({"contributions": 3}, "each person, with up to 3 rows: whether they are in the data at all"),
        ({"norm": 2.5}, "longer rows scaled down to length 2.5"),
    ],
    ids=["add-remove", "replace", "contributions", "norm"],
)
def test_the_promise_follows_the_rows(promise: dict[str, Any], says: str) -> None:
    assert says in words(str(plan(**promise).explain()))


def test_columns_and_centering_are_told() -> None:
    rows = dp.Rows(columns=[dp.Column("age", 17, 90)], neighbors="replace", center=True)
    told = dp.Plan(
        rows=rows, budget=dp.Budget(epsilon=1, delta=1e-6), steps=[dp.release("moment", "gaussian")]
    ).explain()
    assert "clipped to public ranges" in words(str(told))
    assert "constant coordinate" in words(str(told))
    assert "public ranges" not in words(str(plan().explain()))
    assert "constant coordinate" not in words(str(plan().explain()))


@both_reports
@pytest.mark.parametrize("width", [40, 60, 200])
def test_every_release_is_told(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable], width: int) -> None:
    """Mechanism, noise, loss, ε alone and numerics: the figures are the plan's own."""
    monkeypatch.setenv("COLUMNS", str(width))
    bound = plan().bind(6)
    level = bound.pricing.levels["again"]
    action = bound.steps[1].action
    assert isinstance(action, dp.Mechanism)
    noise = action.noise(bound.rows, level)
    alone = dp.accountant("gdp").epsilon([dp.losses.Gaussian(mu=level)], delta=1e-6)
    wanted = ["gaussian", f"diagonal{noise['diagonal']:.4g}", f"mu={level:.6g}", f"{alone:.6g}", "exact"]
    text = "".join(str(make()).split())  # cells fold anywhere
    assert [] == [part for part in wanted if part not in text], text


@both_reports
@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_has_a_label(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable], width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = words(str(make()))
    labels = ["step", "mechanism", "noise", "loss", "ε alone", "ε so far", "numerics"]
    assert labels == [label for label in labels if label in text]


def test_parameters_have_the_names_that_users_write() -> None:
    text = words(str(explanation()))
    assert "Their parameters again noise=triangular" in text
    assert "top-subspace (k=3)" in text
    assert {"noise": "triangular"} == explanation().statement.line("again").parameters


def test_figures_of_the_statement() -> None:
    bound = plan().bind(6)
    statement = bound.explain().statement
    moment, again, components, _ = statement.lines
    gdp = dp.accountant("gdp")
    one, both = bound.pricing.losses["moment"], bound.pricing.all_losses
    assert gdp.epsilon(one, delta=1e-6) == moment.epsilon_alone == moment.epsilon_so_far
    assert gdp.epsilon(both, delta=1e-6) == again.epsilon_so_far == statement.spent.epsilon
    assert moment.epsilon_alone < again.epsilon_alone < again.epsilon_so_far  # type: ignore[operator]
    assert (bound.pricing.levels["moment"], "mu") == (moment.level, moment.unit)
    assert (None, None, (), "moment") == (
        components.level,
        components.epsilon_alone,
        components.losses,
        components.of[0],
    )
    assert (True, False) == (moment.is_release, components.is_release)
    assert "free" in components.guarantee
    assert f"{moment.epsilon_alone:.6g}" in moment.guarantee


def test_noise_that_a_mechanism_does_not_state_is_not_stated_after_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with registered(NoisyTrace):
        built = dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="add-remove"),
            budget=dp.Budget(epsilon=1.0, delta=1e-6),
            steps=[dp.release("trace", "noisy-trace")],
        )
        planned, report = str(built.explain()), str(built.run(np.zeros((9, 2)), insecure_seed=1))
    assert "stated once dim and norm are known" in planned
    assert "stated once dim and norm are known" not in report
    assert "not stated" in report


def test_noise_needs_the_dimension() -> None:
    assert {} == plan().explain().statement.line("moment").noise
    assert {"diagonal", "off-diagonal"} == set(plan().explain(dim=6).statement.line("moment").noise)
    assert "off-diagonal" not in str(plan().explain())


def test_forecast() -> None:
    told = explanation()
    text = words(str(told))
    shown = [f"{told.bounds(step)[0].value:.4g}" for step in ("moment", "components")]
    assert in_order(text, "Error to expect", "clipping bias not included", "moment", shown[0], "components", shown[1])
    assert "Error to expect" not in str(plan().explain(dim=6))


def test_a_forecast_says_which_assumption_fails() -> None:
    one = dp.Plan(
        rows=plan().rows, budget=plan().budget, steps=[steps()[0], dp.derive("first", "top-subspace", of="moment", k=1)]
    )
    for spectrum, holds in (([3, 2, 1], False), ([1e6, 2, 1], True)):
        told = one.explain(spectrum=spectrum)
        assert [holds] == [assumption.holds for assumption in told.bounds("first")[0].assumptions]
        assert holds == ("does not hold" not in str(told))
        assert holds == ("the gap below eigenvalue 1" not in words(str(told)))


def test_units_are_shown() -> None:
    """The unit of a column stands beside its values, as dp.Column promises."""
    rows = dp.Rows(columns=[dp.Column("age", 17, 90, unit="years")], neighbors="replace", center=True)
    steps = [
        dp.release("moment", "gaussian"),
        dp.derive("mean", "mean", of="moment"),
        dp.derive("in-units", "to-units", of="mean"),
    ]
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
    assert "years" in str(plan.run(np.full((9, 1), 30.0), insecure_seed=7))


@pytest.mark.parametrize("width", [80, 89])
def test_tables_stay_tables_on_a_usual_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(result()).splitlines()
    (head,) = [line for line in lines if "numerics" in line]
    assert ["mechanism", "loss", "alone", "far", "numerics"] == re.findall("mechanism|loss|alone|far|numerics", head)
    assert 2 == sum("───" in line for line in lines)


def test_a_narrow_terminal_has_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = str(result())
    assert "─" not in text
    assert "  mechanism" in text


def test_columns_name_their_rows() -> None:
    rows = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"])], neighbors="replace")
    table = {"age": np.array([30.0, 40.0]), "sex": np.array(["F", "M"])}
    told = dp.Plan(rows=rows, budget=plan().budget, steps=steps()[:1]).run(table, insecure_seed=7)
    named = [line.split()[0] for line in str(told).splitlines() if line.count(" ± ") == 3]
    assert ["age", "sex=F", "sex=M"] == named
    assert ("age", "sex=F", "sex=M") == told.record("moment").columns


# -- how it is shown -------------------------------------------------------------------------------------------------


@every_printable
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(make()).splitlines()
    assert [] == [line for line in lines if len(line) > width]
    assert len(lines) > 5
    assert [] == [line for line in lines if line != line.rstrip()]


@every_printable
@pytest.mark.parametrize(
    "environment",
    [{}, {"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, {"TTY_COMPATIBLE": "1"}],
    ids=["plain", "no color", "forced color", "both", "compatible terminal"],
)
def test_text_has_no_escapes(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable], environment: dict[str, str]
) -> None:
    before = str(make())
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert before == str(make())
    assert ESCAPE not in before


@every_printable
def test_text_is_the_same_in_a_notebook(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Printable]) -> None:
    text, html = str(make()), make()._repr_html_()
    shown: list[Any] = []
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *parts: shown.append(parts))
    assert text == str(make())
    assert html == make()._repr_html_()
    assert [] == shown  # the notebook shows what _repr_html_ returns, and nothing beside it


def terminal(width: int = 100, **settings: Any) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=width, **settings)


def printed(console: Console, shown: object) -> str:
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@every_printable
def test_rich_shows_it_with_style(make: Callable[[], Printable]) -> None:
    styled = printed(terminal(), make())
    assert "\x1b[1m" in styled or "\x1b[1;31m" in styled  # bold
    assert "\x1b[36m" in styled  # cyan
    plain = printed(terminal(no_color=True), make())
    assert "\x1b[36m" not in plain


@every_printable
@pytest.mark.parametrize("width", WIDTHS)
def test_rich_keeps_to_the_width(make: Callable[[], Printable], width: int) -> None:
    styled = printed(terminal(width), make())
    assert [] == [line for line in re.sub(r"\x1b\[[0-9;]*m", "", styled).splitlines() if len(line) > width]


@every_printable
def test_html(make: Callable[[], Printable]) -> None:
    html = make()._repr_html_()
    assert html.startswith('<div class="dpframe">')
    assert html.endswith("</div>")
    assert '<table><tbody><tr><th scope="row">' in html
    assert '<thead><tr><th scope="col">' in html
    assert ESCAPE not in html
    assert "<pre" not in html


@every_printable
def test_repr_is_short(make: Callable[[], Printable]) -> None:
    assert len(repr(make())) < 80
    assert type(make()).__name__ in repr(make())


@attrs.frozen(kw_only=True)
class Noted(dp.PostProcessor):
    """Does nothing, with a parameter of any text."""

    name = "test-noted"
    gives = dp.SymmetricMatrix

    of: Any = dp.input(dp.SymmetricMatrix)
    note: str

    def apply(self) -> dp.SymmetricMatrix:
        value: dp.SymmetricMatrix = self.of
        return value


STRANGE = ["[/b]", "[red]x", ":smile:", "<script>", "a&b"]


@pytest.mark.parametrize("strange", STRANGE)
def test_names_are_not_markup(strange: str) -> None:
    columns = [dp.Column(strange, 0, 1), dp.Column("b", 0, 1)]
    rows = dp.Rows(columns=columns, neighbors="replace")
    told = dp.check(np.zeros((3, 2)), rows)
    assert strange in str(told)
    assert strange in re.sub(r"\x1b\[[0-9;]*m", "", printed(terminal(), told))
    assert "<script>" not in told._repr_html_()
    dp.register(Noted)
    try:
        steps = [dp.release("moment", "gaussian"), dp.derive("noted", "test-noted", of="moment", note=strange)]
        plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps)
        assert f"note={strange}" in str(plan.explain())
        assert strange in str(plan.run(np.zeros((3, 2)), insecure_seed=7))
    finally:
        dp.unregister(Noted)


# -- what is not said ------------------------------------------------------------------------------------------------


def counted(text: str, count: int = ROWS) -> list[str]:
    """Where a number of rows stands in a text, as a number of its own."""
    return re.findall(rf".{{0,20}}(?<![\d.e])(?:{count}|{count:,})(?!\d).{{0,20}}", text)


def everything_said(told: dp.Result) -> dict[str, str]:
    return {
        "text": str(told),
        "repr": repr(told),
        "html": told._repr_html_(),
        "json": told.to_json(),
        "records": repr([told.record(name) for name in told]),
        "statement": repr(told.statement),
    }


def test_the_search_finds_numbers_of_rows() -> None:
    assert [1, 1, 1, 0, 0] == [
        len(counted(text)) for text in ("7919 rows", "n=7,919.", "[7919.0]", "0.7919 1.5e7919", "17919 79190")
    ]


@pytest.mark.parametrize("insecure_seed", [None, 7])
@pytest.mark.parametrize(
    "promise", [{}, {"center": True}, {"contributions": 2}], ids=["plain", "centered", "contributions"]
)
def test_the_number_of_rows_is_private(
    capfd: pytest.CaptureFixture[str], promise: dict[str, Any], insecure_seed: int | None
) -> None:
    rows = dp.Rows(norm=1.0, neighbors="add-remove", **promise)
    steps = [dp.release("moment", "gaussian")]
    told = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=steps).run(
        data(), insecure_seed=insecure_seed
    )
    assert {} == {where: found for where, text in everything_said(told).items() if (found := counted(text))}
    assert ("", "") == capfd.readouterr()


def test_chunks_do_not_tell_the_number_of_rows(capfd: pytest.CaptureFixture[str]) -> None:
    told = plan(dim=6).run((chunk for chunk in np.array_split(data(), 7)), insecure_seed=7)
    assert {} == {where: found for where, text in everything_said(told).items() if (found := counted(text))}
    assert {} == {where: found for where, text in everything_said(told).items() if (found := counted(text, ROWS // 7))}
    assert ("", "") == capfd.readouterr()


def test_the_statement_does_not_depend_on_the_data() -> None:
    assert plan().run(data(0)).statement == plan().run(data()).statement


def test_a_seed_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded, secure = result(), secure_result()
    assert (False, True) == (seeded.private, secure.private)
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        assert str(seeded).startswith("NOT PRIVATE")
        assert "NOT PRIVATE" not in str(secure)
    assert "NOT PRIVATE" in seeded._repr_html_()
    assert "NOT PRIVATE" in printed(terminal(), seeded)
    assert '"private": false' in seeded.to_json()
    assert '"private": true' in secure.to_json()
    for text in (secure._repr_html_(), printed(terminal(), secure)):
        assert "NOT PRIVATE" not in text


def test_a_seed_is_marked_where_a_result_is_merely_named() -> None:
    assert ("NOT PRIVATE" in repr(result()), "NOT PRIVATE" in repr(secure_result())) == (True, False)


@every_printable
def test_an_explanation_and_a_check_cannot_be_mistaken(make: Callable[[], Printable]) -> None:
    assert (make is not explanation) == ("NOT PRIVATE" in str(make()))


@attrs.frozen(kw_only=True)
class Rough(dp.Mechanism):
    """A mechanism that says what its floats may cost."""

    name = "rough"
    unit = "epsilon"
    gives = dp.Scalar

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Pure(epsilon=level)

    def law_error(self, rows: dp.Rows, level: float) -> float:
        return rows.known_dim * 1e-9

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return dp.Scalar(float(random.laplace(2.0, 1)[0]))


def test_what_floats_may_cost_is_told_once_the_dimension_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    dp.register(Rough)
    try:
        rough = dp.Plan(
            rows=dp.Rows(norm=1.0, neighbors="replace"),
            budget=dp.Budget(epsilon=1.0),
            steps=[dp.release("value", "rough")],
        )
        assert "a numerical slack that is stated once the dimension is known" in rough.explain().statement.strength
        assert (1 + math.e) * 2e-9 == pytest.approx(rough.explain(dim=2).statement.line("value").slack)
        monkeypatch.setenv("COLUMNS", "300")
        assert "floating; ε in exact arithmetic, slack 2.2e-08" in str(rough.explain(dim=6))
    finally:
        dp.unregister(Rough)
