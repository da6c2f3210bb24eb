"""Entries for the registry of deployments: what is known is filled in, the rest is marked, and the schema holds."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpframe as dp
from dpframe.run.registry_entry import FIELDS, OPEN, WORDS, as_yaml

yaml: Any = pytest.importorskip("yaml", reason="entries are read back by PyYAML, which comes with Dask")

SCHEMA = "DPFRAME_REGISTRY_SCHEMA"
"""The path of the registry's deployments-schema.yaml, from a clone of opendp/deployments-registry-data."""
X = np.random.default_rng(1).normal(size=(200, 3)) / 2


def released(delta: float = 1e-6, neighbors: str = "replace", **run: Any) -> dp.Result:
    plan = dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors=neighbors, contributions=2),
        budget=dp.Budget(epsilon=0.5, delta=delta),
        steps=[
            dp.release("moment", "gaussian" if delta else "matrix-laplace"),
            dp.derive("top", "top-subspace", of="moment", k=1),
        ],
    )
    return plan.run(X, **run)


def charged(tmp_path: Path) -> dp.Result:
    ledger = dp.Ledger.create(tmp_path / "ledger.db")
    ledger.add("clinic", budget=dp.Budget(epsilon=2.0, delta=1e-5), neighbors="replace", contributions=2)
    return released(ledger=ledger, dataset="clinic")


def modeled() -> dp.Result:
    return dp.Plan(
        rows=dp.Rows(norm=1.0, neighbors="replace"),
        budget=dp.Budget(epsilon=0.5, delta=1e-6),
        steps=[dp.release("value", "spiked", rank=1, n=200, spike=4.0, noise=1.0)],
        accept=[dp.model("spiked-covariance")],
    ).run(X)


def entries(tmp_path: Path) -> list[tuple[dp.Result, str]]:
    results = [released(), released(delta=0.0, neighbors="add-remove"), charged(tmp_path), modeled()]
    return [(result, result.to_registry()) for result in results]


def test_entries_have_the_fields_and_words_of_the_schema(tmp_path: Path) -> None:
    for result, text in entries(tmp_path):
        entry = yaml.safe_load(text)
        assert ["url_slug", "status", "tier", "deployment"] == list(entry)
        assert re.fullmatch("[a-z0-9_]+", entry["url_slug"])
        assert ("Draft", 3) == (entry["status"], entry["tier"])
        assert set(FIELDS) == set(entry["deployment"])
        for section, fields in entry["deployment"].items():
            assert set(fields) <= set(FIELDS[section])
            missing = set(FIELDS[section]) - set(fields)
            assert missing <= {"data_product_sector", "release_type", "data_source_type"}
            assert all(f"# {name}: {OPEN}: one of {WORDS[name][0]}" in text for name in missing)
            for name, value in fields.items():
                assert value in WORDS.get(name, (value,))
                kinds = {"data_curators": list, "registry_authors": list, "privacy_parameters": dict}
                assert type(value) is kinds.get(name, str)
        datetime.date.fromisoformat(entry["deployment"]["basic"]["publication_date"])
        parameters = entry["deployment"]["privacy_loss"]["privacy_parameters"]
        assert result.spent.epsilon == parameters["epsilon"]
        assert result.spent.delta == parameters.get("delta", 0.0)
        assert result.statement.plan in entry["deployment"]["administrative"]["notes"]


def test_what_is_known_is_said(tmp_path: Path) -> None:
    names = [yaml.safe_load(text)["deployment"]["dp_variant"]["variant_name"] for _, text in entries(tmp_path)]
    assert ["Approximate DP", "Pure DP", "Approximate DP", "Custom"] == names
    deployment = yaml.safe_load(released().to_registry())["deployment"]
    assert "up to 2 rows: what their rows say" in deployment["privacy_loss"]["privacy_unit_details"]
    assert "moment: gaussian (diagonal " in deployment["implementation"]["mechanisms"]
    assert "top (top-subspace of moment)" in deployment["accounting"]["post_processing"]
    assert "it has no ledger" in deployment["accounting"]["composition"]
    assert "how many rows there are" in deployment["dp_variant"]["unprotected_quantities"]
    (tmp_path / "other").mkdir()
    noted = yaml.safe_load(charged(tmp_path / "other").to_registry())["deployment"]
    assert "over all runs of data set 'clinic'" in noted["accounting"]["composition"]
    assert OPEN not in noted["accounting"]["composition"]


@pytest.mark.parametrize(
    "text", ["a: 'b' \"c\" # \\ {x} é", "no", "1900-01-01", "\x00\x85\u2028\ufeff", "🙂", "\n- a\t"]
)
def test_any_text_comes_back(text: str) -> None:
    content = {"name": text, "list": [text], "inner": {"number": 1e-06, "whole": 3}}
    assert content == yaml.safe_load(as_yaml(content))


def test_a_file_is_new_and_a_seeded_run_is_refused(tmp_path: Path) -> None:
    result, path = released(), tmp_path / "entry.yaml"
    assert result.to_registry(path) == path.read_text(encoding="utf-8")
    with pytest.raises(FileExistsError):
        result.to_registry(path)
    with pytest.raises(dp.PlanError, match="nothing to register"):
        released(insecure_seed=1).to_registry()


def test_the_registry_itself_accepts_them(tmp_path: Path) -> None:
    """Its own schema, and ours beside it: where that changes, FIELDS and WORDS must."""
    if SCHEMA not in os.environ:
        pytest.skip(f"set {SCHEMA} to the registry's schemas/deployments-schema.yaml")
    jsonschema: Any = pytest.importorskip("jsonschema", reason="the registry checks entries with it")
    schema = yaml.safe_load(Path(os.environ[SCHEMA]).read_text(encoding="utf-8"))
    sections = schema["properties"]["deployment"]["properties"]
    assert {name: set(fields) for name, fields in FIELDS.items()} == {
        name: set(section["properties"]) for name, section in sections.items()
    }
    words = {
        name: tuple(field["enum"])
        for section in sections.values()
        for name, field in section["properties"].items()
        if "enum" in field
    }
    assert words == WORDS
    validator = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    for _, text in entries(tmp_path):
        assert [] == [error.message for error in validator.iter_errors(yaml.safe_load(text))]
