"""The files of a result: reserved before the charge, never overwritten, and printed where they cannot be written."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.cli import main as cli
from dpframe.run import files
from tests.support.mechanisms import NoisyTrace, registered
from tests.support.shell import PLAN, RUN, dpframe, write_files


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()


@pytest.mark.parametrize("name", ["file", "allow_pickle", "self", "kwds", "args"])
def test_a_step_may_have_the_name_of_an_argument_of_numpy(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(PLAN.replace('"moment"', f'"{name}"'))
    code, _, err = dpframe(*RUN, capsys=capsys)
    assert (0, "") == (code, err)
    with np.load("plan-result/arrays.npz", allow_pickle=False) as arrays:
        assert [name] == arrays.files
        assert np.array_equal(dp.Result.load("plan-result/result.json")[name], arrays[name])


@attrs.frozen(eq=False, slots=False)
class Between(dp.Scalar):
    """A number of a third party, with figures that JSON does not have."""

    high: float = attrs.field(kw_only=True)
    low: float = attrs.field(kw_only=True)
    unknown: float = attrs.field(kw_only=True)
    single: float = attrs.field(kw_only=True)


@attrs.frozen(kw_only=True)
class Odd(NoisyTrace):
    """Releases such a number."""

    name = "odd"
    gives = Between  # type: ignore[assignment]

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> Between:
        figures: dict[str, Any] = {"high": math.inf, "low": -math.inf, "unknown": math.nan, "single": np.float32(0.5)}
        return Between(super().release(data, level, random).array, **figures)


def test_figures_that_json_lacks_are_strings_there(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(PLAN.replace('"gaussian"', '"odd"'))
    with registered(Odd):
        code, out, err = dpframe(*RUN, "--json", capsys=capsys)
    assert (0, "") == (code, err)
    content = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    figures = {"high": "Infinity", "low": "-Infinity", "unknown": "NaN", "single": 0.5}
    assert figures.items() <= content["results"]["moment"].items()
    loaded = dp.Result.load("plan-result/result.json")
    value = loaded.record("moment").value
    assert isinstance(value, Between)
    assert (math.inf, -math.inf, 0.5) == (value.high, value.low, value.single)
    assert math.isnan(value.unknown)
    assert content == json.loads(loaded.to_json())


def test_a_name_too_long_for_an_archive_is_refused_before_the_charge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(dp.Plan, "run", lambda *a, **k: ran.append(a))
    Path("plan.toml").write_text(PLAN.replace('"moment"', f'"{"m" * 70_000}"'))
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert (1, "", []) == (code, out, ran)
    assert "Step.name must be a name of letters, digits, '_' and '-', at most 200 of them" in err


def test_of_two_runs_at_once_one_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []
    run = dp.Plan.run

    def slow(plan: dp.Plan, *data: Any, **settings: Any) -> dp.Result:
        monkeypatch.setattr(dp.Plan, "run", run)
        codes.append(cli.main(list(RUN)))
        return run(plan, *data, **settings)

    monkeypatch.setattr(dp.Plan, "run", slow)
    code, _, err = dpframe(*RUN, capsys=capsys)
    assert ([1], 0) == (codes, code)
    assert "plan-result/result.json exists already" in err
    assert "It is empty: another run is going to fill it, or was killed" in err
    assert ["moment"] == list(dp.Result.load("plan-result/result.json"))


@pytest.mark.parametrize(
    "name", ["result.json", "arrays.npz", "report.html", "report.txt", "plan.toml", "tables/moment.csv"]
)
def test_nothing_is_overwritten(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (Path("mine") / name).parent.mkdir(parents=True)
    (Path("mine") / name).write_text("mine")
    code, out, err = dpframe(*RUN, "-o", "mine", capsys=capsys)
    assert (1, "") == (code, out)
    assert f"mine/{name} exists already; a result is never overwritten. Nothing was charged." in err
    assert [Path("mine", name)] == [path for path in Path("mine").rglob("*") if path.is_file()]
    assert "mine" == (Path("mine") / name).read_text()


@pytest.mark.parametrize("words", [("absent.npy",), ("rows.npy", "--key-file", "key")])
def test_a_refused_run_leaves_nothing_behind(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine").mkdir()
    for directory in ("deep/er", "mine"):
        code, _, _ = dpframe("run", "plan.toml", *words, "-o", directory, capsys=capsys)
        assert 1 == code
    assert not Path("deep").exists()
    assert [] == os.listdir("mine")


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_result_that_cannot_be_written_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", full)
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert 3 == code
    assert "plan-result/result.json (No space left on device)" in err
    assert "The result is printed on standard output." in err
    assert ["moment"] == list(json.loads(out)["results"])
    assert not Path("plan-result").exists()


def test_arrays_that_cannot_be_written_are_in_the_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_write_arrays", full)
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert (3, "") == (code, out)
    assert "plan-result/arrays.npz (No space left on device) could not be written" in err
    assert "The result is in plan-result/result.json." in err
    assert {"plan.toml", "report.html", "report.txt", "result.json", "tables"} == set(os.listdir("plan-result"))
    assert ["moment"] == list(dp.Result.load("plan-result/result.json"))


@pytest.mark.parametrize("name", ["report.html", "report.txt", "plan.toml", "tables/moment.csv"])
def test_another_file_that_cannot_be_written_is_named_and_the_result_is_kept(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = files.writers
    monkeypatch.setattr(files, "writers", lambda result: {**real(result), name: full})
    code, _, err = dpframe(*RUN, capsys=capsys)
    assert 3 == code
    assert f"plan-result/{name} (No space left on device) could not be written" in err
    assert "The result is in plan-result/result.json." in err
    assert not Path("plan-result", name).exists()
    assert ["moment"] == list(dp.Result.load("plan-result/result.json"))


def test_an_interrupt_while_writing_does_not_lose_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert 3 == code
    assert "(KeyboardInterrupt)" in err
    assert ["moment"] == list(json.loads(out)["results"])


def test_a_result_that_there_is_no_memory_to_write_out_leaves_its_arrays(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: Any) -> str:
        raise MemoryError

    monkeypatch.setattr(dp.Result, "to_json", exhausted)
    code, out, err = dpframe(*RUN, capsys=capsys)
    assert (3, "") == (code, out)
    assert "plan-result/result.json (MemoryError) could not be written. The result is lost: it could not be" in err
    assert "its values are in plan-result/arrays.npz" in err
    with np.load("plan-result/arrays.npz") as arrays:
        assert ["moment"] == list(arrays)
