"""A ledger: terms that are kept, charges that add up, refusals that help, results that tell where they were charged."""

from __future__ import annotations

import json
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.ledger import chain
from dpframe.ledger.account import Account
from dpframe.run.statement import statement
from tests.support.ledgers import BUDGET, DATA, NAME, ROWS, kinds, make, plan
from tests.support.mechanisms import NoisyTrace, registered


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_a_run_is_reserved_and_recorded_and_says_where(path: Path, ledger: dp.Ledger) -> None:
    written = plan()
    result = written.run(DATA, ledger=str(path), dataset=NAME)
    assert ["reserved", "released"] == kinds(ledger)
    charge = result.charge
    assert charge is not None
    assert (NAME, 3, ledger.head) == (charge.dataset, charge.entry, charge.head)
    reserved = ledger.history()[2].content
    assert (charge.run, written.content_hash) == (reserved["run"], reserved["plan"])
    assert "zcdp" == result.statement.accountant
    assert ledger.dataset(NAME).spent == charge.spent
    assert ledger.dataset(NAME).remaining == charge.remaining
    assert ledger.verify(head=charge.head).known


def test_the_report_and_the_file_tell_where_a_run_was_charged(path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    result = plan().run(DATA, ledger=path, dataset=NAME)
    assert result.charge is not None
    lines = str(result).splitlines()
    assert "Where it was charged" == lines[0]
    assert any(result.charge.head in line for line in lines[:6])
    assert any(f"{NAME}, entry 3" in line for line in lines[:6])
    result.to_json(tmp_path / "result.json")
    assert result.charge == dp.Result.load(tmp_path / "result.json").charge
    content = json.loads(plan().run(DATA).to_json())
    assert content.pop("charge") is None
    (tmp_path / "older.json").write_text(json.dumps(content))  # a file from before there were ledgers
    assert dp.Result.load(tmp_path / "older.json").charge is None


def test_stated_epsilon_is_the_accountants_over_all_runs(path: Path) -> None:
    for number, accountant in enumerate(("zcdp", "gdp")):
        target = path.with_suffix(f".{number}")
        ledger = make(target, accountant=accountant)
        losses: list[dp.PrivacyLoss] = []
        for epsilon in (0.1, 0.2, 0.3):
            losses += attrs.evolve(plan(epsilon), accountant=accountant).pricing.all_losses
            result = plan(epsilon).run(DATA, ledger=target, dataset=NAME)
            assert result.charge is not None
            composed = dp.accountant(accountant).epsilon(losses, BUDGET.delta)
            assert composed == result.charge.spent.epsilon == ledger.history()[-2].content["epsilon"]


def test_a_refusal_charges_reads_and_draws_nothing_and_says_what_would_fit(path: Path, ledger: dp.Ledger) -> None:
    plan(2.0).run(DATA, ledger=path, dataset=NAME)
    before = ledger.head

    def untouched() -> Any:
        raise AssertionError("read")
        yield

    with pytest.raises(dp.BudgetExceeded) as caught:
        plan(2.5).run(untouched(), ledger=path, dataset=NAME)
    error = caught.value
    assert before == ledger.head
    composed = [loss for one in (plan(2.0), plan(2.5)) for loss in _zcdp(one)]
    assert dp.accountant("zcdp").epsilon(composed, 1e-6) == error.asked
    assert (3.0, 1e-6) == (error.allowed, error.delta)
    assert "Nothing was charged, read or drawn" in str(error)
    assert "composed over 1 earlier run, zcdp" in str(error)
    assert error.affordable is not None
    assert f"dp.Budget(epsilon={error.affordable.epsilon!r}, delta=1e-06)" in str(error)
    with pytest.raises(dp.BudgetExceeded):
        plan(error.affordable.epsilon * 1.0001).run(DATA, ledger=path, dataset=NAME)
    plan(error.affordable.epsilon).run(DATA, ledger=path, dataset=NAME)
    with pytest.raises(dp.BudgetExceeded):
        plan(0.01).run(DATA, ledger=path, dataset=NAME)
    assert ledger.dataset(NAME).spent.epsilon <= 3.0
    assert ledger.verify().runs == 2


def _zcdp(one: dp.Plan) -> tuple[dp.PrivacyLoss, ...]:
    return attrs.evolve(one, accountant="zcdp").pricing.all_losses


def test_a_plan_of_fixed_levels_that_does_not_fit_has_no_affordable_scale(path: Path) -> None:
    make(path, dp.Budget(epsilon=0.3, delta=1e-6))
    fixed = plan(1.0, dp.release("moment", "gaussian", level=0.1))
    with pytest.raises(dp.BudgetExceeded, match="No budget of this plan fits") as caught:
        fixed.run(DATA, ledger=path, dataset=NAME)
    assert caught.value.affordable is None


def test_the_affordable_scale_leaves_fixed_levels_alone(path: Path) -> None:
    make(path, dp.Budget(epsilon=0.5, delta=1e-6))
    mixed = plan(1.0, dp.release("a", "gaussian", level=0.05), dp.release("b", "gaussian"))
    with pytest.raises(dp.BudgetExceeded) as caught:
        mixed.run(DATA, ledger=path, dataset=NAME)
    assert caught.value.affordable is not None
    attrs.evolve(mixed, budget=caught.value.affordable).run(DATA, ledger=path, dataset=NAME)


def test_another_delta_than_that_of_the_data_set_is_composed_all_the_same(path: Path, ledger: dp.Ledger) -> None:
    other = plan(budget=dp.Budget(epsilon=0.5, delta=1e-9))
    other.run(DATA, ledger=path, dataset=NAME)
    assert dp.accountant("zcdp").epsilon(_zcdp(other), 1e-6) == ledger.dataset(NAME).spent.epsilon


def test_pure_plans_against_a_pure_data_set(path: Path) -> None:
    ledger = make(path, dp.Budget(epsilon=1.0))
    assert "pure" == ledger.dataset(NAME).accountant
    with registered(NoisyTrace):
        pure = plan(0.75, dp.release("trace", "noisy-trace"), budget=dp.Budget(epsilon=0.75))
        pure.run(DATA, ledger=path, dataset=NAME)
        with pytest.raises(dp.BudgetExceeded) as caught:
            pure.run(DATA, ledger=path, dataset=NAME)
    assert caught.value.affordable is not None
    assert 0.249999 <= caught.value.affordable.epsilon <= 0.25
    with pytest.raises(dp.PlanError, match="cannot compose the Gaussian loss"):
        plan().run(DATA, ledger=path, dataset=NAME)


def test_a_pure_plan_against_a_data_set_of_concentrated_privacy(path: Path, ledger: dp.Ledger) -> None:
    """It keeps its pure promise, and costs what its losses cost there."""
    pure = plan(0.5, dp.release("spectrum", "laplace-eigenvalues", k=2), budget=dp.Budget(epsilon=0.5))
    result = pure.run(DATA, ledger=path, dataset=NAME)
    assert ("pure", dp.Budget(epsilon=0.5)) == (result.statement.accountant, result.spent)
    assert dp.accountant("zcdp").epsilon(pure.pricing.all_losses, 1e-6) == ledger.dataset(NAME).spent.epsilon
    small = make(path.with_name("small.db"), dp.Budget(epsilon=1.0, delta=1e-6))
    with pytest.raises(dp.BudgetExceeded) as caught:
        pure.run(DATA, ledger=small, dataset=NAME)
    assert caught.value.affordable is not None
    assert 0.0 == caught.value.affordable.delta
    attrs.evolve(pure, budget=caught.value.affordable).run(DATA, ledger=small, dataset=NAME)


def test_losses_that_a_data_set_cannot_add_up_are_refused(path: Path) -> None:
    ledger = make(path, accountant="gdp")
    pure = plan(1.0, dp.release("spectrum", "laplace-eigenvalues", k=2), budget=dp.Budget(epsilon=1.0))
    with pytest.raises(dp.PlanError, match=r"kept with the accountant 'gdp': .*'gdp' cannot compose a Laplace loss"):
        pure.run(DATA, ledger=path, dataset=NAME)
    assert [] == kinds(ledger)


def test_fixed_levels_that_cost_more_by_the_data_sets_accountant_are_refused_with_its_name(path: Path) -> None:
    make(path)
    exact = plan(1.0, dp.release("moment", "gaussian", level=plan(1.0).pricing.levels["moment"]))
    with pytest.raises(
        dp.BudgetExceeded, match="kept with the accountant 'zcdp': the steps with a fixed level"
    ) as caught:
        exact.run(DATA, ledger=path, dataset=NAME)
    assert 1.0 == caught.value.allowed < caught.value.asked


# -- promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": attrs.evolve(ROWS, neighbors="replace")}, "neighbors='add-remove', but the plan has"),
        ({"rows": attrs.evolve(ROWS, contributions=2)}, "contributions=1, but the plan has contributions=2"),
        ({"accountant": "gdp"}, "the accountant 'zcdp', but the plan says accountant='gdp'"),
    ],
)
def test_a_plan_that_promises_otherwise_is_refused(
    path: Path, ledger: dp.Ledger, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(dp.PlanError, match=message):
        plan(**changes).run(DATA, ledger=path, dataset=NAME)
    assert [] == kinds(ledger)


def test_people_are_told_apart_by_the_same_ids_in_every_plan(path: Path, ledger: dp.Ledger) -> None:
    table = {"x": np.array([0.1, 0.2]), "id": np.array([1, 1]), "household": np.array([7, 7])}
    rows = dp.Rows(columns=[dp.Column("x", 0, 1)], neighbors="add-remove", person="id")
    with pytest.raises(dp.PlanError, match=r"has person=None, but the plan has person='id'.*Nothing was charged"):
        plan(rows=rows).run(table, ledger=path, dataset=NAME)
    ledger.add("by id", budget=BUDGET, neighbors="add-remove", person="id")
    for other in (None, "household"):
        with pytest.raises(dp.PlanError, match="has person='id', but the plan has person="):
            plan(rows=attrs.evolve(rows, person=other)).run(table, ledger=path, dataset="by id")
    plan(rows=rows).run(table, ledger=path, dataset="by id")
    assert (None, "id") == tuple(each.person for each in ledger.datasets())
    assert "at most 1 row each, enforced by 'id'" in str(ledger)
    assert "contributions=1, person='id'" in str(ledger.history("by id")).replace("\n", " ")
    ledger.verify()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"insecure_seed": 1}, "insecure_seed= is not private"),
        ({"dataset": None}, "needs both"),
        ({"ledger": None}, "needs both"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    path: Path, ledger: dp.Ledger, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(dp.PlanError, match=message):
        plan().run(DATA, **{"ledger": path, "dataset": NAME, **arguments})
    assert [] == kinds(ledger)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clinic", f"has no data set 'clinic'. Nothing was charged. Did you mean '{NAME}'\\? There is: '{NAME}'"),
        ("", "has no data set ''"),
        ("a\0b", "has no data set"),
        ("\ud800", "has no data set"),
        (7, "has no data set 7"),
    ],
)
def test_a_wrong_name_is_told_with_the_right_ones(path: Path, ledger: dp.Ledger, name: Any, message: str) -> None:
    with pytest.raises(dp.LedgerError, match=message):
        plan().run(DATA, ledger=path, dataset=name)
    assert [] == kinds(ledger)


@pytest.mark.parametrize(
    "name",
    ["", " clinic", "clinic\n", "a\0b", "\ud800", "cafe\u0301", "x" * 201, 7],
    ids=["empty", "space", "newline", "nul", "surrogate", "decomposed", "long", "number"],
)
def test_names_that_look_like_others_are_refused(ledger: dp.Ledger, name: Any) -> None:
    with pytest.raises(dp.PlanError, match="printable characters"):
        ledger.add(name, budget=BUDGET, neighbors="replace")


@pytest.mark.parametrize("name", ["Clinic-2026", "CLINIC-2026", "ｃlinic-2026", NAME])
def test_a_data_set_has_one_budget_whatever_the_case_of_its_name(ledger: dp.Ledger, name: str) -> None:
    before = ledger.head
    with pytest.raises(dp.LedgerError, match=f"has a data set '{NAME}' already"):
        ledger.add(name, budget=BUDGET, neighbors="add-remove")
    assert before == ledger.head


def test_names_in_other_scripts_and_several_data_sets(ledger: dp.Ledger, path: Path) -> None:
    for name in ("клиника", "診療所 ✓", "o'brien; DROP TABLE x --"):
        ledger.add(name, budget=BUDGET, neighbors="add-remove")
        plan().run(DATA, ledger=path, dataset=name)
    assert [0, 1, 1, 1] == [each.runs for each in ledger.datasets()]
    assert 4 == ledger.verify().datasets
    assert 3 == len(ledger.history("клиника"))


@pytest.mark.parametrize(
    "terms",
    [
        {"budget": 1.0},
        {"neighbors": "swap"},
        {"contributions": 0},
        {"contributions": True},
        {"person": 3},
        {"accountant": "pld"},
        {"budget": dp.Budget(epsilon=1.0), "accountant": "gdp"},
    ],
)
def test_terms_that_make_no_sense_are_refused(ledger: dp.Ledger, terms: dict[str, Any]) -> None:
    with pytest.raises(dp.PlanError):
        ledger.add("other", **{"budget": BUDGET, "neighbors": "replace", **terms})
    assert 1 == len(ledger.datasets())


# -- keys, copies, threads ---------------------------------------------------------------------------------------------


def test_a_key_is_needed_and_must_be_the_right_one(path: Path) -> None:
    key = b"0123456789abcdef"
    ledger = make(path, key=key)
    plan().run(DATA, ledger=ledger, dataset=NAME)
    assert 4 == dp.Ledger.open(path, key=key.decode()).verify().entries
    with pytest.raises(dp.LedgerError, match="has a key, and none was given"):
        plan().run(DATA, ledger=path, dataset=NAME)
    with pytest.raises(dp.LedgerError, match="the key is another one, or the entry was changed"):
        dp.Ledger.open(path, key=key + b"!")
    with pytest.raises(dp.LedgerError, match="at least 16 bytes; this one is shorter"):
        dp.Ledger.open(path, key=b"short")
    assert key.decode() not in repr(ledger) + str(ledger) + repr(ledger.journal) + repr(ledger.journal.chain)


def test_a_ledger_without_a_key_does_not_pass_for_one_with(path: Path, ledger: dp.Ledger) -> None:
    with pytest.raises(dp.LedgerError, match="has no key, but one was given"):
        dp.Ledger.open(path, key=b"0123456789abcdef")


def test_covers_tells_results_charged_here_from_all_others(path: Path, ledger: dp.Ledger, tmp_path: Path) -> None:
    result = plan().run(DATA, ledger=path, dataset=NAME)
    result.to_json(tmp_path / "result.json")
    loaded = dp.Result.load(tmp_path / "result.json")
    assert ledger.covers(result)
    assert ledger.covers(loaded)
    other = plan().run(DATA, ledger=path, dataset=NAME)
    assert result.charge is not None
    assert not ledger.covers(plan().run(DATA))
    assert not ledger.covers(attrs.evolve(other, charge=result.charge))
    moved = dp.SymmetricMatrix(np.nextafter(result["moment"], 10.0))
    record = attrs.evolve(result.record("moment"), value=moved)
    assert not ledger.covers(attrs.evolve(result, records={"moment": record}))
    assert not ledger.covers(attrs.evolve(result, charge=attrs.evolve(result.charge, dataset="none")))
    assert not make(tmp_path / "other.db").covers(result)


def test_links_to_a_ledger_are_the_same_ledger_and_hard_links_are_refused(path: Path, ledger: dp.Ledger) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    plan(2.0).run(DATA, ledger=link, dataset=NAME)
    with pytest.raises(dp.BudgetExceeded):
        plan(2.5).run(DATA, ledger=path, dataset=NAME)
    os.link(path, path.with_name("hard.db"))
    with pytest.raises(dp.LedgerError, match="hard links"):
        plan().run(DATA, ledger=path, dataset=NAME)
    path.with_name("hard.db").unlink()
    assert 1 == ledger.verify().runs


def test_a_relative_path_is_the_one_it_was_when_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = make("budget.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    plan().run(DATA, ledger=ledger, dataset=NAME)
    assert 1 == ledger.dataset(NAME).runs


def test_odd_characters_in_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "what ?mode=ro#50%.db"
    plan().run(DATA, ledger=make(path), dataset=NAME)
    assert [path.name, f"{path.name}-journal"] == sorted(each.name for each in tmp_path.iterdir())


def test_two_threads_with_one_ledger(path: Path) -> None:
    ledger = make(path, dp.Budget(epsilon=1.0, delta=1e-6))
    same = plan(0.8)
    outcomes: list[object] = []

    def run() -> None:
        try:
            outcomes.append(same.run(DATA, ledger=ledger, dataset=NAME))
        except dp.BudgetExceeded as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {dp.Result: 1, dp.BudgetExceeded: 3} == {
        kind: sum(map(kind.__instancecheck__, outcomes)) for kind in (dp.Result, dp.BudgetExceeded)
    }
    assert 1 == ledger.verify().runs


def test_create_refuses_what_is_there(path: Path, ledger: dp.Ledger) -> None:
    with pytest.raises(dp.LedgerError, match="exists already"):
        dp.Ledger.create(path)
    assert ledger.head == dp.Ledger.create(path, exist_ok=True).head


def test_printing_shows_every_data_set_with_a_bar(
    path: Path, ledger: dp.Ledger, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(2.0).run(DATA, ledger=path, dataset=NAME)
    shown = str(ledger)
    ledger.show()
    assert shown.split() == capsys.readouterr().out.split()
    left = ledger.dataset(NAME).left
    assert 0.4 < left < 0.6
    assert "█" * int(24 * left) + "░" * (24 - int(24 * left)) + f" {int(100 * left)} %" in shown
    assert ledger.head in shown
    history = str(ledger.history())
    assert all(word in history for word in ("created", "dataset", "reserved", "released", "Gaussian mu="))


def test_only_losses_of_a_model_are_recorded_apart_and_cost_nothing(path: Path, ledger: dp.Ledger) -> None:
    priced, stated = plan(), statement(plan(), "0" * 64)
    (loss,) = priced.pricing.all_losses
    based = dp.losses.ModelBased(loss=loss, model="spiked", failure="0.01")
    object.__setattr__(priced, "pricing", attrs.evolve(priced.pricing, losses={"moment": (based,)}))
    Account.open(ledger, NAME).reserve(priced, stated)
    found = ledger.dataset(NAME)
    assert (Fraction(0), 1) == (found.total, found.runs)
    assert "not summed: Gaussian mu=" in str(ledger.history()).replace("\n", " ")
    assert ledger.verify().runs == 1


def test_the_head_and_the_time_are_in_a_form_that_can_be_compared(ledger: dp.Ledger) -> None:
    assert 64 == len(ledger.head)
    assert ledger.history()[1].content["time"] <= chain.now()
