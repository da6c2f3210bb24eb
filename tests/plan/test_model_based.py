"""Guarantees that rest on a model: refused unless accepted, and never told as worst case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.builtin.private_quantile import PrivateQuantile
from dpframe.cli import main as cli
from dpframe.plan.file import dumps, loads
from dpframe.plan.json_schema import schema
from dpframe.rounding import format_up
from tests.support.mechanisms import NoisyTrace, registered

ROWS = dp.Rows(norm=1.0, neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
WORDS = "not a worst-case guarantee"
DATA = [np.eye(3)]


@attrs.frozen(kw_only=True)
class Modelled(NoisyTrace):
    """The noisy trace, said to be private under a model only."""

    name = "modelled-trace"

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.ModelBased(loss=super().loss(rows, level), model="toy-model", failure="1/n")


@attrs.frozen(kw_only=True)
class Half(dp.PostProcessor):
    """Half of a number."""

    name = "half"
    gives = dp.Scalar

    of: Any = dp.input(dp.Scalar)

    def apply(self) -> dp.Scalar:
        return dp.Scalar(self.of.array / 2)


@attrs.frozen(kw_only=True)
class Moved(NoisyTrace):
    """The noisy trace and a number that was released before."""

    name = "moved-trace"

    by: Any = dp.input(dp.Scalar)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(super().release(data, level, random).array + self.by.array)


@attrs.frozen(kw_only=True)
class ModelledNorm(PrivateQuantile):
    """A private quantile, said to be private under a model only."""

    name = "modelled-norm"

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.ModelBased(loss=super().loss(rows, level), model="toy-model", failure="1/n")


@pytest.fixture(autouse=True)
def _third_parties() -> Iterator[None]:
    with registered(NoisyTrace, Modelled, ModelledNorm, Moved, Half):
        yield


def plan(*steps: dp.Step, accept: tuple[str, ...] = ("toy-model",)) -> dp.Plan:
    return dp.Plan(rows=ROWS, budget=BUDGET, steps=list(steps), accept=[dp.model(name) for name in accept])


def mixed() -> dp.Plan:
    return plan(
        dp.release("trace", "modelled-trace"),
        dp.release("moment", "gaussian"),
        dp.derive("top", "top-subspace", of="moment", k=1),
        dp.derive("half", "half", of="trace"),
        dp.derive("quarter", "half", of="half"),
    )


@pytest.mark.parametrize("accept", [(), ("another-model",)])
def test_a_model_that_is_not_accepted_is_refused_by_name(accept: tuple[str, ...]) -> None:
    with pytest.raises(dp.PlanError) as refused:
        plan(dp.release("moment", "gaussian"), dp.release("trace", "modelled-trace"), accept=accept)
    message = str(refused.value)
    for words in ("'trace'", "'toy-model'", "1/n", WORDS, 'accept=[dp.model("toy-model")]', 'accept = ["toy-model"]'):
        assert words in message


@pytest.mark.parametrize("accept", ["toy-model", 3, [3], [None]])
def test_accept_takes_a_list_of_models(accept: object) -> None:
    with pytest.raises(dp.PlanError, match=r"Plan\.accept must be a list of models"):
        dp.Plan(rows=ROWS, budget=BUDGET, steps=[dp.release("m", "gaussian")], accept=accept)
    with pytest.raises(dp.PlanError, match=r"Model\.name must be a text"):
        dp.model(3)  # type: ignore[arg-type]


def test_accepting_a_model_changes_nothing_for_worst_case_releases() -> None:
    without, accepting = (plan(dp.release("m", "gaussian"), accept=names) for names in ((), ("toy-model",)))
    assert without.pricing == accepting.pricing
    assert dp.Budget is type(accepting.spent)
    assert "" == accepting.explain().statement.caveat
    assert WORDS not in str(accepting.explain())
    assert "caveat" not in json.loads(accepting.run(DATA).to_json())


def test_under_the_model_the_whole_plan_is_within_the_budget() -> None:
    found = mixed()
    trace, moment = (found.pricing.losses[name][0] for name in ("trace", "moment"))
    assert isinstance(trace, dp.losses.ModelBased)
    composed = dp.accountant().epsilon([trace.loss, moment], BUDGET.delta)
    assert composed == found.spent.epsilon
    assert 1.0 - 1e-9 < composed <= 1.0


def test_no_accountant_takes_the_losses_of_such_a_plan_for_worst_case_ones() -> None:
    losses = mixed().pricing.all_losses
    for name in ("auto", "gdp", "pure", "zcdp", "pld"):
        assert not dp.accountant(name).supports(losses[0])
    with pytest.raises(dp.PlanError, match=r"composes .*ModelBased losses"):
        dp.accountant().epsilon(losses, 1e-6)
    with pytest.raises(dp.PlanError, match=r"composes .*ModelBased losses"):
        dp.audit(mixed(), trials=1000)


def test_what_is_spent_says_that_it_is_not_worst_case() -> None:
    spent = mixed().spent
    assert isinstance(spent, dp.ModelBudget)
    assert ("toy-model", "1/n") == (spent.model, spent.failure)
    assert spent != dp.Budget(epsilon=spent.epsilon, delta=spent.delta)
    assert WORDS in str(spent)


def test_two_models_are_both_told() -> None:
    @attrs.frozen(kw_only=True)
    class Other(NoisyTrace):
        name = "other-trace"

        def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
            return dp.losses.ModelBased(loss=super().loss(rows, level), model="other", failure="e^-n")

    with registered(Other):
        steps = dp.release("a", "modelled-trace"), dp.release("b", "other-trace")
        with pytest.raises(dp.PlanError, match="'other'"):
            plan(*steps)
        spent = plan(*steps, accept=("toy-model", "other")).spent
    assert isinstance(spent, dp.ModelBudget)
    assert ("toy-model and other", "1/n + e^-n") == (spent.model, spent.failure)


def first_lines(text: str) -> str:
    return " ".join(text.splitlines()[:4]).lower()


def test_reports_say_so_in_their_first_lines(tmp_path: Path) -> None:
    found = mixed()
    result = found.run(DATA)
    for text in (str(found.explain(dim=3)), str(result)):
        for words in (WORDS, "toy-model", "probability 1/n"):
            assert words in first_lines(text)
    head = result.to_json().splitlines()[:5]
    assert any(WORDS in line and "toy-model" in line and "1/n" in line for line in head)
    statement = json.loads(result.to_json())["statement"]
    assert statement["strength"].startswith(f"{WORDS}: it holds for data drawn from the model toy-model")
    assert "worst case with epsilon" in statement["strength"]
    assert {"epsilon", "delta", "model", "failure"} == set(statement["spent"])
    assert "whatever else they know" not in statement["against"]
    assert WORDS in found.explain().to_json().splitlines()[1]


def test_the_worst_case_releases_are_told_apart() -> None:
    found = mixed()
    alone = dp.accountant().epsilon(found.pricing.losses["moment"], BUDGET.delta)
    assert alone < found.spent.epsilon
    assert f"worst case with epsilon = {format_up(alone)}" in found.explain().statement.strength
    only = plan(dp.release("trace", "modelled-trace")).explain().statement.strength
    assert "worst case with" not in only


def test_records_say_which_results_rest_on_the_model() -> None:
    result = mixed().run(DATA)
    assert result.record("trace").guarantee.startswith(f"{WORDS}, under the model toy-model")
    assert result.record("moment").guarantee.startswith("worst case")
    assert WORDS not in result.record("top").guarantee
    assert WORDS in result.record("half").guarantee
    assert WORDS in result.record("quarter").guarantee


def test_a_release_made_from_a_result_under_a_model_is_not_worst_case() -> None:
    """It may repeat what it is given: a spectrum, a basis, a norm. So it promises nothing on its own."""
    found = plan(
        dp.release("trace", "modelled-trace"),
        dp.derive("half", "half", of="trace"),
        dp.release("moved", "moved-trace", by="half"),
        dp.release("moment", "gaussian"),
    )
    assert {"trace", "half", "moved"} == found.modeled
    alone = dp.accountant().epsilon(found.pricing.losses["moment"], BUDGET.delta)
    assert f"worst case with epsilon = {format_up(alone)})" in found.explain().statement.strength
    guarantees = {name: record.guarantee for name, record in found.run(DATA).records.items()}
    assert guarantees["moved"].startswith(f"{WORDS}, since its input has none")
    assert guarantees["moment"].startswith("worst case")


def test_a_norm_released_under_a_model_takes_the_worst_case_from_all_that_is_scaled_to_it() -> None:
    rows = dp.Rows(norm=dp.ref("norm"), neighbors="replace")
    steps = [dp.release("norm", "modelled-norm", high=2.0, quantile=0.9), dp.release("moment", "gaussian")]
    found = dp.Plan(rows=rows, budget=BUDGET, steps=steps, accept=[dp.model("toy-model")])
    assert {"norm", "moment"} == found.modeled
    assert "worst case with" not in found.explain().statement.strength
    assert found.run(DATA).record("moment").guarantee.startswith(WORDS)


def test_what_was_spent_under_a_model_is_no_budget() -> None:
    """It would be written down with a model that readers of plans and results do not know of."""
    spent = mixed().spent
    with pytest.raises(dp.PlanError, match=r"Plan\.budget must be a dp\.Budget; got ModelBudget"):
        dp.Plan(rows=ROWS, budget=spent, steps=[dp.release("m", "gaussian")])


def test_a_ledger_says_which_runs_rest_on_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their losses are in no sum, so every figure of the data set needs the caveat, also after later runs."""
    path = tmp_path / "budget.db"
    ledger = dp.Ledger.create(path)
    with pytest.raises(dp.PlanError, match=r"budget must be a dp\.Budget; got ModelBudget"):
        ledger.add("clinic", budget=mixed().spent, neighbors="replace")
    ledger.add("clinic", budget=dp.Budget(epsilon=5.0, delta=1e-5), neighbors="replace")
    worst = plan(dp.release("m", "gaussian"))
    first, second, third = (each.run(DATA, ledger=ledger, dataset="clinic") for each in (worst, mixed(), worst))
    assert ledger.verify().runs == 3
    told_of = [f"{WORDS}: 1 of {runs} runs rest on a model of the data, which no sum includes" for runs in (2, 3)]
    assert ["", *told_of] == [result.charge.caveat for result in (first, second, third) if result.charge is not None]
    assert (1, told_of[1]) == (ledger.dataset("clinic").modelled, ledger.dataset("clinic").caveat)
    assert told_of[1] == ledger.to_dict()["datasets"][0]["caveat"]
    assert WORDS in str(ledger).lower()
    assert WORDS in first_lines(str(second))
    assert "1 of 3 runs" in str(third)
    third.to_json(tmp_path / "result.json")
    assert third.charge == dp.Result.load(tmp_path / "result.json").charge
    assert 0 == cli.main(["ledger", "show", str(path)])
    assert WORDS in capsys.readouterr().out.lower()


def test_results_survive_being_written(tmp_path: Path) -> None:
    result = mixed().run(DATA)
    result.to_json(tmp_path / "result.json")
    again = dp.Result.load(tmp_path / "result.json")
    assert result.statement == again.statement
    assert isinstance(again.spent, dp.ModelBudget)
    assert WORDS in first_lines(str(again))


def test_plan_files_carry_what_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = mixed()
    text = dumps(found)
    assert 'accept = ["toy-model"]' in text
    again = loads(text)
    assert (found, found.content_hash) == (again, again.content_hash)
    assert found.content_hash != plan(*found.declared, accept=("toy-model", "other")).content_hash
    with pytest.raises(dp.PlanError, match="'toy-model'"):
        loads(text.replace('accept = ["toy-model"]\n', ""))
    with pytest.raises(dp.PlanError, match="accept must be a list of models"):
        loads(text.replace('["toy-model"]', '"toy-model"'))
    assert {"type": "array", "items": {"type": "string"}} == schema()["properties"]["accept"]
    monkeypatch.chdir(tmp_path)
    found.dump("plan.toml")
    assert 0 == cli.main(["explain", "plan.toml"])
    assert WORDS in first_lines(capsys.readouterr().out)
