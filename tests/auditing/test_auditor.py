"""Audits of right and wrong mechanisms, by name, by plan and from a shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.auditing import trials as trials_module
from dpframe.auditing.neighbor_pairs import built_in
from dpframe.auditing.trials import Experiment, Laboratory, tasks
from dpframe.cli import main as cli
from dpframe.noise import Keystream
from tests.support.mechanisms import NoisySignal, NoisyTrace, TwoRounds, registered

ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=2)


@attrs.frozen(kw_only=True)
class HalfNoise(NoisyTrace):
    """Half of the noise that its loss needs."""

    name = "half-noise"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return super().release(data, 2 * level, random)


def test_too_little_noise_is_proved() -> None:
    audit = dp.audit(HalfNoise(), rows=ROWS, epsilon=1.0, trials=4000, insecure_seed=1)
    assert audit.violated
    assert 1.0 < audit.bound < 2.0  # what it really loses
    assert "VIOLATED" == audit.verdict
    assert "VIOLATED" in str(audit)


def test_enough_noise_is_not_refuted() -> None:
    audit = dp.audit(NoisyTrace(), rows=ROWS, epsilon=1.0, trials=4000, insecure_seed=1)
    assert not audit.violated
    assert 0.5 < audit.bound / audit.visible <= 1.2
    assert 1.0 == pytest.approx(audit.claim, rel=1e-6)
    assert "trained statistic" == audit.statistic


def test_the_likelihood_ratio_is_used_where_it_is_known() -> None:
    audit = dp.audit("gaussian", rows=ROWS, epsilon=2.0, trials=3000, insecure_seed=1)
    assert "likelihood ratio" == audit.statistic


@attrs.frozen(kw_only=True)
class HiddenBehindDensity(NoisyTrace):
    """No noise at all, and a density that says nothing."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
        return dp.Scalar(float(np.trace(data.moment)))

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        return 0.0


def test_a_wrong_density_hides_nothing() -> None:
    assert dp.audit(HiddenBehindDensity(), rows=ROWS, trials=1000, insecure_seed=1).violated


def test_a_density_that_is_no_number_is_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Nan(NoisyTrace):
        def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
            return float("nan")

    with pytest.raises(dp.PlanError, match="log-density of 'noisy-trace' is nan"):
        dp.audit(Nan(), rows=ROWS, trials=1000, insecure_seed=1)


def test_what_is_handed_out_cannot_be_written_to() -> None:
    @attrs.frozen(kw_only=True)
    class InPlace(NoisyTrace):
        def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
            moment = data.moment
            moment += 1
            return dp.Scalar(0.0)

    with pytest.raises(ValueError, match="read-only"):
        dp.audit(InPlace(), rows=ROWS, trials=1000, insecure_seed=1)
    chunk = dp.Chunk(ROWS, np.ones((2, 2)))
    with pytest.raises(ValueError, match="read-only"):
        chunk.values[0, 0] = 3.0


SCRIPT = """
import dpframe.plugin as dp
from dpframe.auditing import trials

print("this script runs", flush=True)
trials.WORTH_WORKERS = 0
print(dp.audit(dp.release("x", "laplace-eigenvalues", k=1), trials=1000).verdict)
"""


def test_workers_do_not_run_the_script_again(tmp_path: Path) -> None:
    """A script may hold releases; running it again in each worker would make them again."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300
    )
    assert ["this script runs", "no violation found"] == done.stdout.splitlines()


def test_a_supplied_pair_is_used_where_it_tells_most() -> None:
    @attrs.frozen(kw_only=True)
    class Backdoor(NoisyTrace):
        name = "backdoor"

        def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Scalar:
            shown = data.moment[0, 0] == 12345**2  # never so on the built-in pairs
            return dp.Scalar(1e30) if shown else super().release(data, level, random)

    rows = dp.Rows(norm=1.0, neighbors="add-remove", dim=1)
    secret = np.array([[12345 * rows.step]])
    blind = dp.audit(Backdoor(), rows=rows, trials=1000, insecure_seed=1)
    seeing = dp.audit(Backdoor(), rows=rows, trials=1000, pairs=[(secret, secret[:0])], insecure_seed=1)
    assert not blind.violated
    assert seeing.violated
    assert "pair 1 as supplied" == seeing.pair


def test_a_plan_is_audited_as_a_whole() -> None:
    plan = dp.Plan(
        rows=ROWS,
        budget=dp.Budget(epsilon=1.0, delta=1e-6),
        steps=[
            dp.release("moment", "gaussian"),
            dp.release("values", "laplace-eigenvalues", k=1),
            dp.derive("components", "top-subspace", of="moment", k=1),
        ],
    )
    audit = dp.audit(plan, trials=1000, insecure_seed=1)
    assert "gaussian + laplace-eigenvalues" == audit.subject
    assert dp.accountant("auto").epsilon(plan.pricing.all_losses, 1e-2) == audit.claim
    assert not audit.violated
    with pytest.raises(dp.PlanError, match="has its own rows"):
        dp.audit(plan, rows=ROWS)


@pytest.mark.long
def test_recipes_of_several_passes_are_audited() -> None:
    with registered(NoisySignal, TwoRounds):
        audit = dp.audit(TwoRounds(k=1), rows=attrs.evolve(ROWS, dim=3), trials=1000, insecure_seed=1)
    assert "gaussian + noisy-signal" == audit.subject
    assert not audit.violated


def test_each_trial_of_several_passes_tells_all_releases() -> None:
    with registered(NoisySignal, TwoRounds):
        rows, budget = attrs.evolve(ROWS, dim=3), dp.Budget(epsilon=1.0, delta=1e-6)
        plan = dp.Plan(rows=rows, budget=budget, steps=[dp.release("cov", "two-rounds", k=1)])
        experiment = Experiment(plan, tuple(built_in(rows)))
        one, other = (experiment.numbers(1, False, dp.Random(Keystream.insecure(seed))) for seed in (1, 2))
    assert (6 + 1,) == one.shape  # the upper triangle of the moment, and the signal in one direction
    assert (one != other).all()


def test_columns_are_audited_in_their_own_units() -> None:
    rows = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"])], neighbors="replace", center=True)
    assert not dp.audit("gaussian", rows=rows, trials=1000, insecure_seed=1).violated


def test_a_seed_makes_an_audit_repeatable_whoever_performs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0), steps=[dp.release("values", "laplace-eigenvalues", k=1)])
    experiment = Experiment(plan, tuple(built_in(ROWS)[:2]))
    wanted = tasks(1, 700, "test")
    told: list[int] = []
    with Laboratory(experiment, 5, told.append, planned=1400) as alone:
        here = alone.perform(wanted)
    monkeypatch.setattr(trials_module, "WORTH_WORKERS", 0)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    with Laboratory(experiment, 5, told.append, planned=1400) as together:
        assert together._pool is not None
        there = together.perform(wanted)
    assert [500, 200] * 4 == told
    assert here.keys() == there.keys()
    assert all((here[key] == there[key]).all() for key in here)
    assert len(np.unique(here[1, False])) > 690  # no stream is used twice


def test_secure_audits_differ() -> None:
    one, other = (dp.audit(NoisyTrace(), rows=ROWS, trials=1000) for _ in range(2))
    assert (one.hits, one.misses, one.pilot) != (other.hits, other.misses, other.pilot)


def test_progress_ends_at_all_releases() -> None:
    events: list[dp.Progress] = []
    dp.audit(NoisyTrace(), rows=ROWS, trials=1000, insecure_seed=1, progress=events.append)
    assert f"auditing {NoisyTrace.name}, {ROWS.neighbors}" == events[0]
    assert (1.0, events[-1].total_releases) == (events[-1].share, events[-1].releases)
    done = [event.releases for event in events[1:] if event.releases is not None]
    assert sorted(done) == done


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trials": 10}, "trials must be an integer of at least 1000; got 10"),
        ({"trials": 1e4}, "trials must be an integer"),
        ({"false_alarm": 0.0}, "false_alarm must be a number between 0 and 1; got 0.0"),
        ({"delta": 1.0}, "delta"),
        ({"delta": "0.1"}, "delta"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_bad_terms_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(dp.PlanError, match=message):
        dp.audit("gaussian", **settings)


def test_claims_without_a_number_are_refused() -> None:
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    with pytest.raises(dp.PlanError, match="no finite epsilon is claimed at delta=0; audit at a larger delta"):
        dp.audit(plan, delta=0.0)


def test_a_claim_of_nothing_is_audited() -> None:
    plan = dp.Plan(rows=ROWS, budget=dp.Budget(epsilon=0.05, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    audit = dp.audit(plan, trials=1000, insecure_seed=1)
    assert (0.0, 0.0, False) == (audit.claim, audit.power, audit.violated)


def test_other_subjects_are_refused() -> None:
    with pytest.raises(dp.PlanError, match="audit takes a plan, a step, a mechanism or the name of one"):
        dp.audit(3)  # type: ignore[arg-type]
    with pytest.raises(dp.PluginError, match="Did you mean 'gaussian'"):
        dp.audit("gausian")


def test_the_command_audits_both_relations(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(["audit", "laplace-eigenvalues", "--set", "k=1", "--trials", "1000", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ["add-remove", "replace"] == [audit["neighbors"] for audit in told]
    assert {"no violation found"} == {audit["verdict"] for audit in told}
    assert all(audit["bound"] <= audit["claim"] for audit in told)


def test_the_command_tells_a_violation(capsys: pytest.CaptureFixture[str]) -> None:
    with registered(HalfNoise):
        arguments = ["audit", "half-noise", "--trials", "3000", "--epsilon", "2", "--neighbors", "add-remove"]
        assert 1 == cli.main(arguments)
    out, err = capsys.readouterr()
    assert "VIOLATED" in out
    assert "dpframe: 'half-noise' loses more than it claims under add-remove.\n" == err


def test_parameters_of_the_command_are_read_as_in_a_plan_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == cli.main(
        ["audit", "gaussian", "--set", "noise=triangular", "--neighbors", "replace", "--trials", "1000"]
    )
    assert 1 == cli.main(["audit", "gaussian", "--set", "noise"])
    assert "--set takes PARAMETER=VALUE; got 'noise'" in capsys.readouterr().err
    assert 1 == cli.main(["audit", "laplace-eigenvalues"])
    assert "needs the parameter 'k'" in capsys.readouterr().err
