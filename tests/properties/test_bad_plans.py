"""Bad steps and plans: one clear error each, before anything is charged, read or drawn, without a data value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.refusals import BUDGET, COLUMNS, INFINITY, NAN, PLAIN, TABLE, Watch, check_refused, plan, rows

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
        id="covariance of rows that are not centered",
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
        ("a spectrum or a vector in spectrum=", "a symmetric matrix"),
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
        ("the norm of rows must be a number", "'values' gives a spectrum"),
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
