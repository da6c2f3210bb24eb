"""The kit itself: its reports, its pytest form, and what it must be told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.testing import Finding, Report, check, check_mechanism, check_postprocessor, conformance
from dpframe.testing.checks import kit
from tests.support.mechanisms import NoisySignal, NoisyTrace
from tests.support.planted.statistics import RightSum, UnnormalizedRows

REPORT = Report(
    subject="thing",
    role="mechanism",
    findings=(
        Finding(check="one", outcome="passed", detail="3 pairs"),
        Finding(check="two", outcome="not run", detail="it has no parameters"),
        Finding(check="three", outcome="failed", detail="too little noise"),
    ),
)


def test_a_report_tells_how_many_ran_and_why_others_did_not() -> None:
    assert "mechanism thing: 1 checks passed, 1 failed, 1 not run (two: it has no parameters)" == REPORT.summary
    assert ("three",) == REPORT.failed
    with pytest.raises(AssertionError, match="too little noise"):
        REPORT.assert_passed()
    assert "3 pairs" in str(REPORT)
    assert {"subject": "thing", "role": "mechanism"}.items() <= json.loads(REPORT.to_json()).items()


def test_every_check_says_what_it_is_about() -> None:
    for checks in kit().values():
        names = [each.name for each in checks]
        assert len(names) == len(set(names))
        assert all(each.about.endswith(".") for each in checks)


def test_inputs_are_given_as_values() -> None:
    basis = np.eye(3)[:, :1]
    assert () == check_mechanism(NoisySignal(basis=basis), without=["stated-loss"]).failed
    with pytest.raises(dp.PlanError, match="give a value in of=, not a reference"):
        check_postprocessor(dp.postprocess.Eigenvalues(of=dp.ref("moment")))


def test_a_promise_that_is_refused_must_be_given() -> None:
    with pytest.raises(dp.PlanError, match="pass rows="):
        check(dp.ColumnHistogram(column="age", edges=[20.0, 40.0]))
    rows = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99, missing=40)], neighbors="replace")
    assert () == check(dp.ColumnHistogram(column="age", edges=[20.0, 40.0]), rows=rows).failed


def test_only_objects_of_a_known_role_are_checked() -> None:
    with pytest.raises(dp.PlanError, match="made with their parameters; got <class"):
        check(NoisyTrace)
    with pytest.raises(dp.PlanError, match="takes the objects to check"):
        conformance()


def test_a_mechanism_is_charged_with_the_mistakes_of_its_statistics() -> None:
    import attrs

    @attrs.frozen(kw_only=True)
    class Reader(NoisyTrace):
        statistic: dp.Statistic = attrs.field(factory=RightSum)

        def reads(self) -> tuple[dp.Statistic, ...]:
            return (dp.Moment(), self.statistic)

    leave_out = ["stated-loss", "bad-parameters-refused", "plan-file-round-trip"]
    assert () == check_mechanism(Reader(), without=leave_out).failed
    assert ("declared-sensitivity",) == check_mechanism(Reader(statistic=UnnormalizedRows()), without=leave_out).failed


MODULE = """
import dpframe.plugin as dp
from dpframe.testing import conformance

test_conformance = conformance(dp.Moment(), dp.NormHistogram(edges=[1.0]))
"""


def test_one_line_of_a_test_module_runs_prints_and_writes_the_checks(tmp_path: Path) -> None:
    (tmp_path / "test_plugin.py").write_text(MODULE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), "test_plugin.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout
    assert "2 passed" in done.stdout
    total = len(kit()["statistic"])
    assert f"statistic norm-histogram: {total} checks passed, 0 failed, 0 not run" in done.stdout
    assert "1 not run (bad-parameters-refused: it has no parameters)" in done.stdout
    written = tmp_path / ".pytest_cache" / "d" / "dpframe-conformance" / "test_plugin-norm-histogram-1.json"
    findings = json.loads(written.read_text(encoding="utf-8"))["findings"]
    assert total == len(findings)
    assert {"passed"} == {finding["outcome"] for finding in findings}
