"""Standard output that is full, closed or ASCII: the result is safe, and the exit code is the run's own."""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dpframe as dp
from dpframe.cli import streams
from tests.support.shell import RUN, process, write_files


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


@pytest.fixture
def full() -> Iterator[Any]:
    with open("/dev/full", "wb") as file:
        yield file


@pytest.fixture
def unread() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def released() -> bool:
    return ["moment"] == list(dp.Result.load("plan-result/result.json"))


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_full_standard_output(words: tuple[str, ...], full: Any) -> None:
    ran = process(*RUN, *words, stdout=full)
    assert 3 == ran.returncode
    assert b"the report could not be printed (No space left on device)" in ran.stderr
    assert b"The result is in plan-result: report.html, report.txt, result.json, arrays.npz" in ran.stderr
    assert released()


def test_both_streams_full(full: Any) -> None:
    assert 3 == process(*RUN, stdout=full, stderr=full).returncode
    assert released()


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_closed_streams(closed: tuple[int, ...]) -> None:
    ran = process(*RUN, stdout=subprocess.PIPE, preexec_fn=partial(deque, map(os.close, closed), maxlen=0))
    assert 0 == ran.returncode
    assert released()


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_pipe_that_nobody_reads(words: tuple[str, ...], unread: int) -> None:
    ran = process(*RUN, *words, stdout=unread)
    assert (0, b"") == (ran.returncode, ran.stderr)
    assert released()


def test_a_standard_output_in_ascii() -> None:
    ran = process(*RUN, stdout=subprocess.PIPE, environment={"PYTHONIOENCODING": "ascii"})
    assert (0, b"") == (ran.returncode, ran.stderr)
    assert b"\\u03b5 alone" in ran.stdout
    assert released()


def test_other_commands_are_refused_where_nothing_can_be_printed(full: Any) -> None:
    ran = process("explain", "plan.toml", stdout=full)
    assert (1, b"dpframe: [Errno 28] No space left on device. Nothing was charged.\n") == (ran.returncode, ran.stderr)


def test_a_line_on_standard_error_holds_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    streams.report("no file '\x1b[2J'\nat all")
    assert "dpframe: no file '\\x1b[2J'\\nat all\n" == capsys.readouterr().err


def test_a_text_goes_to_the_first_stream_that_takes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "standard output" == streams.printed("paid")
    monkeypatch.setattr("sys.stdout", None)
    assert "standard error" == streams.printed("for")
    monkeypatch.setattr("sys.stderr", None)
    assert streams.printed("lost") is None
    assert ("paid\n", "for\n") == capsys.readouterr()
