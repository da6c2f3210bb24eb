"""The command dpframe: what it prints, what it writes, how it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.cli import main as cli
from dpframe.forecast import column_margins
from tests.support import shell
from tests.support.derivations import Disliking
from tests.support.mechanisms import Failing, NoisyTrace, registered
from tests.support.packages import ROOT
from tests.support.shell import dpframe

PLAN = f"""{shell.PLAN}
[[steps]]
derive = "components"
with = "top-subspace"
of = {{ref = "moment"}}
k = 2
"""

TABLE = """format = 1

[rows]
neighbors = "add-remove"
center = true

[[rows.columns]]
name = "age"
low = 17
high = 90
unit = "years"
sd = 13

[[rows.columns]]
name = "sex"
levels = ["F", "M"]

[budget]
epsilon = 1.0

[[steps]]
release = "moment"
with = "matrix-laplace"

[[steps]]
derive = "mean"
with = "mean"
of = {ref = "moment"}

[[steps]]
derive = "covariance"
with = "covariance"
of = {ref = "moment"}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("plan.toml").write_text(PLAN)
    np.save("rows.npy", np.random.default_rng(0).standard_normal((7919, 4)))


def test_run_writes_the_result_and_prints_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe("run", "plan.toml", "rows.npy", capsys=capsys)
    assert (0, "") == (code, err)
    assert out.index("What was promised") < out.index("Releases") < out.index("components: a subspace")
    assert "7919" not in out
    result = dp.Result.load("plan-result/result.json")
    assert result.private
    assert dp.Plan.load("plan.toml").content_hash == result.statement.plan
    with np.load("plan-result/arrays.npz", allow_pickle=False) as arrays:
        assert {"moment", "components"} == set(arrays.files)
        assert all(np.array_equal(result[name], arrays[name]) for name in arrays.files)


def test_run_as_json_into_a_folder_of_choice(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe("run", "plan.toml", "rows.npy", "-o", "deep/er", "--json", capsys=capsys)
    assert 0 == code
    assert json.loads(out) == json.loads(Path("deep/er/result.json").read_text())


def test_a_result_is_never_overwritten_and_nothing_is_charged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dpframe("run", "plan.toml", "rows.npy", capsys=capsys)
    before = Path("plan-result/result.json").read_bytes()
    ran: list[Any] = []
    monkeypatch.setattr(dp.Plan, "run", lambda *a, **k: ran.append(a))
    code, _, err = dpframe("run", "plan.toml", "rows.npy", capsys=capsys)
    assert 1 == code
    assert "exists already" in err
    Path("file").touch()
    code, _, err = dpframe("run", "plan.toml", "rows.npy", "-o", "file", capsys=capsys)
    assert 1 == code
    assert "Nothing was charged" in err
    assert [] == ran
    assert before == Path("plan-result/result.json").read_bytes()


PARTIAL = (
    PLAN.replace('with = "gaussian"', 'with = "noisy-trace"')
    .replace("top-subspace", "test-disliking")
    .replace("k = 2\n", "")
)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_failing_derivation_writes_and_prints_what_was_released(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    Path("partial.toml").write_text(PARTIAL)
    with registered(NoisyTrace, Disliking):
        words = ["run", "partial.toml", "rows.npy", *(["--json"] if as_json else [])]
        code, out, err = dpframe(*words, capsys=capsys)
    assert 3 == code
    assert "step 'components' failed after the charge: ValueError: " in err
    written = dp.Result.load("partial-result/result.json")
    assert (["moment"], ["components"]) == (list(written), list(written.failed))
    assert (out == Path("partial-result/result.json").read_text()) if as_json else ("Steps without a result" in out)
    assert ["moment"] == np.load("partial-result/arrays.npz").files


def test_a_failure_after_the_charge_has_its_own_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with registered(Failing):
        Path("plan.toml").write_text(PLAN.replace('"gaussian"', '"failing"').split("[[steps]]\nderive")[0])
        code, out, err = dpframe("run", "plan.toml", "rows.npy", capsys=capsys)
    assert (3, "") == (code, out)
    assert "stands" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "absent.toml", "rows.npy"], "'absent.toml': no such file. Nothing was charged. A plan file is the"),
        (["run", ".", "rows.npy"], "'.' cannot be read as a plan file: is a directory. Nothing was charged."),
        (
            ["run", "plan.toml", "absent.npy"],
            "'absent.npy': no such file. Nothing was charged. DATA is a .npy, .csv or",
        ),
        (["run", "plan.toml", "absent.parquet"], "'absent.parquet': no such file. Nothing was charged. DATA is"),
        (
            ["run", "plan.toml", "plan.npy"],
            "'plan.npy' cannot be read as an array (ValueError): it is no .npy file, shorter than",
        ),
        (["check", "plan.toml", "absent.npy"], "'absent.npy': no such file. Nothing was charged"),
        (["explain", "plan.toml", "--spectrum", "a,b"], "--spectrum takes numbers"),
        (["explain", "plan.toml", "--spectrum", "1,2"], "a spectrum must have"),
        (["audit", "gaussian", "--set", "name=3"], "step 'release': 'gaussian' has no parameter 'name'"),
        (["explain", "plan.toml", "--dim", "1"], "k=2 is more than the 1 coordinates"),
    ],
)
def test_user_errors_are_one_line_and_exit_one(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.npy").write_text(PLAN)
    code, out, err = dpframe(*words, capsys=capsys)
    assert (1, "") == (code, out)
    assert err.startswith("dpframe: ")
    assert says in err
    assert "Traceback" not in err


def test_a_wrong_command_line_exits_two(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["fly"], ["run", "plan.toml"], ["explain", "plan.toml", "--dim", "many"]):
        code, _, err = dpframe(*words, capsys=capsys)
        assert 2 == code
        assert "usage: dpframe" in err


def test_the_exit_codes_of_the_help_are_those_of_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe("--help", capsys=capsys)
    assert 0 == code
    page = (ROOT / "docs" / "tutorial" / "from-a-shell.md").read_text(encoding="utf-8")
    assert [0, 1, 2, 3] == list(cli.EXIT_CODES)
    for number, meaning in cli.EXIT_CODES.items():
        assert f"  {number}  {meaning}" in out
        assert f"| {number} | {meaning} |" in page


def test_explain_prices_and_forecasts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe("explain", "plan.toml", "--spectrum", "4000,3000,200,100", capsys=capsys)
    assert 0 == code
    assert out.index("What this plan promises") < out.index("Error to expect")
    code, out, _ = dpframe("explain", "plan.toml", "--spectrum", "4000,3000,200,100", "--json", capsys=capsys)
    content = json.loads(out)
    assert 0 == code
    assert [4000, 3000, 200, 100] == content["scenario"]["spectrum"]
    assert "first-order" == content["forecasts"]["components"][0]["name"]
    assert content["statement"]["accountants"]["gdp"] == content["statement"]["spent"]["epsilon"]


def test_the_scenario_of_the_file_is_used_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(PLAN + "\n[scenario]\ndim = 3\nspectrum = [900, 500, 10]\n")
    content = json.loads(dpframe("explain", "plan.toml", "--json", capsys=capsys)[1])
    assert [900, 500, 10] == content["scenario"]["spectrum"]
    told = json.loads(dpframe("explain", "plan.toml", "--spectrum", "9,5,1,0", "--json", capsys=capsys)[1])
    assert [9, 5, 1, 0] == told["scenario"]["spectrum"]


ASSUMED = PLAN + "\n[scenario]\ndim = 4\nn = 5000\nspectrum = [4000, 3000, 200, 100]\n"


def test_explain_writes_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe("explain", "plan.toml", "--dim", "3", "--html", "plan.html", capsys=capsys)
    assert (0, "") == (code, err)
    assert "What this plan promises" in out
    assert 5 == Path("plan.html").read_text(encoding="utf-8").count("data-epsilon=")
    code, out, err = dpframe("explain", "plan.toml", "--html", "absent/plan.html", capsys=capsys)
    assert (1, "") == (code, out)
    assert "absent/plan.html cannot be written: No such file or directory." in err


def test_explain_simulates_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(ASSUMED)
    code, out, _ = dpframe("explain", "plan.toml", "--simulations", "200", "--json", capsys=capsys)
    assert 0 == code
    assert "monte-carlo" in {bound["name"] for bound in json.loads(out)["forecasts"]["components"]}


def test_compare_ranks_what_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = dpframe("compare", "plan.toml", "-k", "1", capsys=capsys)
    assert 1 == code
    assert "has no [scenario]" in err
    Path("plan.toml").write_text(ASSUMED)
    code, out, _ = dpframe("compare", "plan.toml", "-k", "1", capsys=capsys)
    assert 0 == code
    assert out.index("gaussian") < out.index("bingham")
    code, out, _ = dpframe("compare", "plan.toml", "-k", "1", "--json", capsys=capsys)
    assert ["matrix-laplace", "gaussian"] == [candidate["name"] for candidate in json.loads(out)["candidates"]][:2]


def test_compare_takes_columns_and_several_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    columns = "".join(f'[[rows.columns]]\nname = "x{i}"\nlow = 0\nhigh = 9\n' for i in range(3))
    steps = '[[steps]]\nrelease = "moment"\nwith = "gaussian"\n'
    rows = f'format = 1\n[rows]\nneighbors = "replace"\n{columns}'
    Path("table.toml").write_text(f"{rows}[budget]\nepsilon = 1.0\ndelta = 1e-6\n{steps}")
    words = ("compare", "table.toml", "--task", "eigenvalues", "-k", "1", "--n", "300", "--json")
    code, out, _ = dpframe(*words, "--epsilons", "0.5,2", capsys=capsys)
    assert 0 == code
    assert [0.5, 2.0] == [each["epsilon"] for each in json.loads(out)["comparisons"]]
    code, _, err = dpframe(*words, "--epsilons", "a", capsys=capsys)
    assert (1, True) == (code, "--epsilons takes numbers separated by commas; got 'a'" in err)


def test_require_prints_a_plan_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.toml").write_text(ASSUMED)
    words = ("require", "plan.toml", "--angle-degrees", "5", "--confidence", "0.5")
    code, out, _ = dpframe(*words, capsys=capsys)
    assert 0 == code
    Path("cheaper.toml").write_text(out)
    assert dp.Plan.load("cheaper.toml").budget.epsilon < 1.0
    code, _, err = dpframe("require", "plan.toml", capsys=capsys)
    assert 1 == code
    assert "say one target" in err


def test_columns_are_forecast_and_have_targets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_margins, "DRAWS", 40)
    Path("plan.toml").write_text(TABLE)
    code, out, _ = dpframe("explain", "plan.toml", "--rows", "50000", "--confidence", "0.9", capsys=capsys)
    assert 0 == code
    assert "for 50000 rows: ± holds 90 % of releases" in out
    assert "age (years)" in out
    code, out, _ = dpframe("explain", "plan.toml", "--rows", "50000", "--json", capsys=capsys)
    assert ["age", "sex=F", "sex=M"] == [column["name"] for column in json.loads(out)["columns"]["columns"]]
    words = (
        "require",
        "plan.toml",
        "--rows",
        "50000",
        "--mean",
        "age=0.5",
        "--mean",
        "sex=F=0.1",
        "--correlation",
        "0.5",
    )
    code, out, _ = dpframe(*words, capsys=capsys)
    assert 0 == code
    Path("cheaper.toml").write_text(out)
    assert dp.Plan.load("cheaper.toml").budget.epsilon < 1.0
    for refused, reason in (
        (("explain", "plan.toml", "--rows", "0"), "rows must be an integer from 2"),
        (("require", "plan.toml", "--mean", "age=1"), "rows=, or --rows in a shell"),
        (("require", "plan.toml", "--rows", "50", "--sd", "age"), "--sd takes COLUMN=NUMBER"),
        (("require", "plan.toml", "--rows", "50", "--mean", "aeg=1"), "'aeg', which is no column"),
    ):
        code, _, err = dpframe(*refused, capsys=capsys)
        assert (1, True) == (code, reason in err)


def test_check_is_marked_not_private(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe("check", "plan.toml", "rows.npy", capsys=capsys)
    assert 0 == code
    assert out.startswith("NOT PRIVATE")
    assert "7919" in out


def test_plugins_in_words_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert "mechanism gaussian" in " ".join(dpframe("plugins", capsys=capsys)[1].split())
    found = json.loads(dpframe("plugins", "--json", capsys=capsys)[1])
    assert {"dpframe", "dpframe-gaussian"} <= {plugin["name"] for plugin in found}
    assert all(set(plugin) == {"name", "version", "status", "provides", "reason"} for plugin in found)


def test_schema_version_and_demo(capsys: pytest.CaptureFixture[str]) -> None:
    assert "dpframe plan" == json.loads(dpframe("schema", capsys=capsys)[1])["title"]
    code, out, _ = dpframe("--version", capsys=capsys)
    assert 0 == code
    assert f"dpframe {dp.__version__}" == out.splitlines()[0]
    code, out, _ = dpframe("demo", capsys=capsys)
    assert 0 == code
    assert "NOT PRIVATE: only the steward of the data may see it" in " ".join(out.split())


@pytest.mark.parametrize("command", [[sys.executable, "-m", "dpframe"], [str(Path(sys.executable).parent / "dpframe")]])
def test_it_is_installed_as_a_command_and_a_module(command: list[str]) -> None:
    printed = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert printed.startswith(f"dpframe {dp.__version__}")


def test_progress_tells_phases_and_nothing_of_the_data() -> None:
    phases: list[str] = []
    dp.Plan.load("plan.toml").run(np.load("rows.npy"), progress=phases.append)
    assert ["reading the data, pass 1 of 1", "working on 'moment'", "working on 'components'"] == phases
