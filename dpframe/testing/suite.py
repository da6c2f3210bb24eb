"""The kit as one line of a pytest module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpframe.errors import PlanError
from dpframe.testing.report import Report


def conformance(*subjects: Any, **options: Any) -> Callable[..., None]:
    """Make a pytest test that runs, for each of these objects, every check of its role.

    Assign it to a name that pytest collects::

        test_conformance = conformance(LaplaceEigenvalues(k=2))

    Each test prints how many checks passed, failed and were not run, and why, and writes the table of outcomes to
    pytest's cache, in ``.pytest_cache/d/dpframe-conformance``.

    Args:
        subjects: mechanisms, statistics, post-processors, accountants and bound oracles, with their parameters.
        options: keyword arguments of ``check_mechanism`` or of the function for the role.
    """
    import pytest

    if not subjects:
        raise PlanError("conformance takes the objects to check, such as LaplaceEigenvalues(k=2).")
    labels = [f"{subject.name}-{number}" for number, subject in enumerate(subjects)]

    @pytest.mark.parametrize(("subject", "label"), list(zip(subjects, labels, strict=True)), ids=labels)
    def test_conformance(
        subject: Any, label: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from dpframe.testing import check

        report = check(subject, **options)
        _write(report, request, f"{request.path.stem}-{label}")
        with capsys.disabled():
            print(f"\n{report.summary}")
        report.assert_passed()

    collected: Callable[..., None] = test_conformance
    return collected


def _write(report: Report, request: Any, label: str) -> None:
    cache = getattr(request.config, "cache", None)  # absent with -p no:cacheprovider
    if cache is not None:
        Path(cache.mkdir("dpframe-conformance"), f"{label}.json").write_text(report.to_json(), encoding="utf-8")
