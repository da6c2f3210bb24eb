"""Plan and result files from anywhere: each is refused, or all that is made of it works, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dpframe as dp
from tests.support import mutants
from tests.support.packages import ROOT

SAMPLE, ALL, BATCH = 1_500, 100_000, 5_000
GENEROUS = 30.0  # seconds, where a machine may be busy with other tests


def held(what: str, first: int, count: int, seconds: float) -> str:
    """The mutants that break something, or the process; it has limits of its own."""
    command = [sys.executable, "-m", "tests.support.mutants", what, str(first), str(count), str(seconds)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3600)
    return "" if ran.returncode == 0 else f"exit code {ran.returncode}\n{ran.stdout}{ran.stderr}"


@pytest.mark.parametrize("what", ["plan", "result"])
def test_a_sample(what: str) -> None:
    assert "" == held(what, 0, SAMPLE, GENEROUS)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, ALL, BATCH))
@pytest.mark.parametrize("what", ["plan", "result"])
def test_all(what: str, first: int) -> None:
    assert "" == held(what, first, BATCH, mutants.SECONDS)


def test_mutants_are_what_they_were_and_differ() -> None:
    for what in ("plan", "result"):
        some = [mutants.mutant(what, number) for number in range(50)]
        assert some == [mutants.mutant(what, number) for number in range(50)]
        assert len(set(some)) > 45


def test_some_mutants_load(tmp_path: Path) -> None:
    """Else nothing would be known about printing them."""
    for what, load in (("plan", dp.Plan.load), ("result", dp.Result.load)):
        loaded = 0
        for number in range(200):
            (tmp_path / "mutant").write_bytes(mutants.mutant(what, number))
            try:
                load(tmp_path / "mutant")
            except dp.DPFrameError:
                continue
            loaded += 1
        assert loaded > 10


@pytest.mark.parametrize(
    ("planted", "says"),
    [
        ("raise KeyError(1)", "0: KeyError: 1"),
        ("bytes(2**28)", "0: MemoryError"),
        ("while True: pass", "0: TooLong"),
        ("print(path.read_bytes() and '\\x1b')", ""),
        ("mutants.assert_visible('\\x1b[2J')", "0: AssertionError: control characters are printed"),
    ],
    ids=["another error", "memory", "time", "nothing", "control characters"],
)
def test_a_planted_failure_is_found(planted: str, says: str) -> None:
    """The checks can fail: of the mutants, not of the golden files, which come first."""
    code = (
        "from tests.support import mutants\n"
        f"def check(path):\n    if path.read_bytes() == mutants.mutant('plan', 0):\n        {planted}\n"
        "mutants.CHECKS['plan'] = check\n"
        "raise SystemExit(mutants.main('plan', '0', '1', '0.2'))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (says, bool(says)) == (ran.stdout.replace("\x1b", "").strip(), ran.returncode != 0), ran.stderr
