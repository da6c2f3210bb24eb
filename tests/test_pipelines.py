"""The recipes for pipelines run, where their tools are installed: they pay once, whatever is run again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpframe as dp
from dpframe.cli.main import EXIT_CODES
from tests.support.packages import ROOT
from tests.support.pages import blocks

PAGE = ROOT / "docs" / "how-to" / "run-in-a-pipeline.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = {block.title: block.body for block in blocks(TEXT) if block.title}
TOOLS = {
    "snakemake": "snakemake --cores 1",
    "dvc": "dvc init --no-scm -q; dvc repro",
    "dbt": "sh release.sh",
    "sh": "dpframe run adult/plan.toml adult/adult.csv --ledger budget.db --dataset adult --out releases/first",
}
AGAIN = {"snakemake": "snakemake --cores 1 --forceall", "dvc": "dvc repro --force"}


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    here = {
        "PATH": f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "0",
    }
    return subprocess.run(
        command, shell=True, cwd=folder, env=os.environ | here, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_a_pipeline_pays_once(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed; it is heavy, and run by hand")
    for name, body in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(body, encoding="utf-8")
    assert 0 == ran("sh setup.sh", tmp_path).returncode
    first = ran(TOOLS[tool], tmp_path)
    assert 0 == first.returncode, first.stdout + first.stderr
    paid = (tmp_path / "releases/first/result.json").read_bytes()
    again = ran(AGAIN.get(tool, TOOLS[tool]), tmp_path)
    assert (1 if tool == "sh" else 0) == again.returncode, again.stdout + again.stderr
    assert paid == (tmp_path / "releases/first/result.json").read_bytes()
    (data,) = dp.Ledger.open(tmp_path / "budget.db").datasets()
    assert 1 == data.runs
    if tool == "snakemake":
        assert (tmp_path / "covariance.csv").read_text(encoding="utf-8")


def test_the_page_has_the_exit_codes_of_the_command() -> None:
    rows = [line.split("|")[1:3] for line in TEXT.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert [str(code) for code in EXIT_CODES] == [code.strip() for code, _ in rows]
    for (_, meaning), stated in zip(rows, EXIT_CODES.values(), strict=True):
        assert stated.startswith(meaning.strip())
