"""Plan files, result files and ledgers that earlier versions wrote keep their meaning."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp

GOLDEN = Path(__file__).parent.parent / "golden"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
PLANS = sorted(path.name.partition(".")[0] for path in GOLDEN.glob("*.plan.toml"))
RESULTS = sorted(path.name.partition(".")[0] for path in GOLDEN.glob("*.result.json"))
SEED = 20261117
KEYS = {"plain": None, "keyed": "a key for the tests of the project"}


def data(name: str) -> Any:
    """What the seeded runs were made on."""
    i = np.arange(400)
    array = ((np.outer(i, [37, 11, 71, 5]) + np.arange(1, 5)) % 101 / 101.0 - 0.5) * [1.6, 0.9, 0.5, 0.2]
    table = {
        "age": 17.0 + (i * 29) % 74,
        "hours": np.where(i % 17 == 0, np.nan, 1.0 + (i * 13) % 99),
        "sex": np.where(i % 3 == 0, "F", "M"),
        "id": i // 3,
    }
    if name == "centered":
        return {column: table[column] for column in ("age", "hours", "sex")}
    if name == "person":
        return {column: table[column] for column in ("age", "hours", "id")}
    return array[:, :3] if name == "written-values" else array


def test_there_is_something_to_compare_with() -> None:
    assert len(PLANS) == 8
    assert len(RESULTS) == 5


@pytest.mark.parametrize("name", PLANS)
def test_plan(name: str, tmp_path: Path) -> None:
    plan = dp.Plan.load(GOLDEN / f"{name}.plan.toml")
    expected = EXPECTED[name]
    assert expected["content_hash"] == plan.content_hash
    assert expected["spent"] == [plan.spent.epsilon, plan.spent.delta]
    assert expected["levels"] == dict(plan.pricing.levels)
    assert expected["passes"] == max(plan.passes.values())
    plan.dump(tmp_path / "plan.toml")
    assert (GOLDEN / f"{name}.plan.toml").read_bytes() == (tmp_path / "plan.toml").read_bytes()


def test_the_hash_of_a_plan_that_no_file_can_hold() -> None:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=2),
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.derive("k", "real-part", of=dp.HermitianMatrix([[1.0, 2.0j], [-2.0j, 3.0]])),
        ],
    )
    assert EXPECTED["no-file"]["content_hash"] == plan.content_hash


@pytest.mark.parametrize("name", RESULTS)
def test_result(name: str) -> None:
    loaded = dp.Result.load(GOLDEN / f"{name}.result.json")
    assert EXPECTED[name]["fingerprint"] == loaded.fingerprint
    assert EXPECTED[name]["content_hash"] == loaded.statement.plan
    assert not loaded.private
    assert loaded.spent.epsilon == EXPECTED[name]["spent"][0]


@pytest.mark.parametrize("name", RESULTS)
def test_seeded_runs_give_the_same_bits(name: str) -> None:
    """Of releases. What is derived from them is computed in floats, whose last bits depend on the version of NumPy."""
    loaded, plan = dp.Result.load(GOLDEN / f"{name}.result.json"), dp.Plan.load(GOLDEN / f"{name}.plan.toml")
    again = plan.run(data(name), insecure_seed=SEED)
    assert set(loaded) == set(again)
    for step, value in loaded.items():
        if step in plan.pricing.levels:
            assert np.asarray(value).tobytes() == np.asarray(again[step]).tobytes()
        else:
            assert np.asarray(value) == pytest.approx(np.asarray(again[step]), rel=1e-12, abs=1e-12)
    other = dp.Plan.load(GOLDEN / f"{name}.plan.toml").run(data(name), insecure_seed=SEED + 1)
    assert loaded.fingerprint != other.fingerprint


@pytest.fixture(params=sorted(KEYS))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dp.Ledger]:
    name = request.param
    shutil.copy(GOLDEN / f"{name}.ledger.db", tmp_path / f"{name}.ledger.db")
    return name, dp.Ledger.open(tmp_path / f"{name}.ledger.db", key=KEYS[name])


def test_ledger(kept: tuple[str, dp.Ledger]) -> None:
    name, ledger = kept
    expected = {key: value for key, value in EXPECTED[f"{name} ledger"].items() if key != "ledger"}
    assert expected == {key: value for key, value in ledger.to_dict().items() if key != "ledger"}
    ledger.verify(head=expected["head"])
    assert ledger.covers(dp.Result.load(GOLDEN / f"{name}.charged.json"))


@pytest.mark.parametrize(("dataset", "name"), [("clinic", "plain"), ("people", "centered"), ("pure", "pure")])
def test_the_ledger_takes_its_next_charge(kept: tuple[str, dp.Ledger], dataset: str, name: str) -> None:
    which, ledger = kept
    before, written = ledger.dataset(dataset), dp.Plan.load(GOLDEN / f"{name}.plan.toml")
    plan = attrs.evolve(written, budget=attrs.evolve(written.budget, epsilon=0.5))
    result = plan.run(data(name), ledger=ledger, dataset=dataset)
    after = ledger.dataset(dataset)
    assert (before.runs + 1, True) == (after.runs, before.total < after.total)
    assert result.charge is not None
    assert after.spent == result.charge.spent
    ledger.verify(head=EXPECTED[f"{which} ledger"]["head"])
    ledger.verify(head=result.charge.head, result=result)
    assert ledger.covers(dp.Result.load(GOLDEN / f"{which}.charged.json"))  # of an entry that holds no statement


@pytest.fixture
def second(tmp_path: Path) -> dp.Ledger:
    """The ledger of format 2, with a note, an outcome that was not recorded and the repair of a wrong clock."""
    shutil.copy(GOLDEN / "format2.ledger.db", tmp_path / "format2.ledger.db")
    return dp.Ledger.open(tmp_path / "format2.ledger.db", key=KEYS["keyed"])


def test_ledger_of_format_two(second: dp.Ledger) -> None:
    expected = {key: value for key, value in EXPECTED["format2 ledger"].items() if key != "ledger"}
    assert expected == {key: value for key, value in second.to_dict().items() if key != "ledger"}
    verified = second.verify(head=expected["head"])
    assert (11, 4, 1) == (verified.entries, verified.runs, verified.unfinished)
    entries = second.history().entries
    assert {2} == {entry.stored["format"] for entry in entries}
    assert {"note": "the first run", "user": "golden"} == entries[3].content["details"]
    assert ["repaired"] == [entry.kind for entry in entries if entry.dataset == "" and entry.number > 1]


def test_results_of_format_two(second: dp.Ledger) -> None:
    """Statements may gain fields: what was written is covered all the same, and an edited epsilon is still found."""
    charged = dp.Result.load(GOLDEN / "format2.charged.json")
    assert second.covers(charged)
    spent = dp.Budget(epsilon=charged.spent.epsilon / 2, delta=charged.spent.delta)
    assert not second.covers(attrs.evolve(charged, statement=attrs.evolve(charged.statement, spent=spent)))
    late = dp.Result.load(GOLDEN / "format2.unrecorded.json")
    assert not second.covers(late)
    with pytest.raises(dp.LedgerError, match="not those that the run signed"):
        second.record(attrs.evolve(late, records={"moment": charged.record("moment")}))
    assert second.covers(second.record(late))
    assert 0 == second.verify(head=EXPECTED["format2 ledger"]["head"]).unfinished


def test_the_ledger_of_format_two_takes_its_next_charge(second: dp.Ledger) -> None:
    before = second.dataset("pure")
    written = dp.Plan.load(GOLDEN / "pure.plan.toml")
    plan = attrs.evolve(written, budget=attrs.evolve(written.budget, epsilon=0.5))
    result = plan.run(data("pure"), ledger=second, dataset="pure")
    assert before.runs + 1 == second.dataset("pure").runs
    assert before.slack <= second.dataset("pure").slack
    assert result.charge is not None
    assert "the same plan was charged to this data set before, last in entry 10" in result.charge.notices[0]
    second.verify(head=EXPECTED["format2 ledger"]["head"], result=result)
