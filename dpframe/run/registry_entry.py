"""An entry for the public registry of differential-privacy deployments that OpenDP keeps, from a result.

What the plan, the accountant and the ledger know, which :mod:`dpframe.run.disclosure` gathers for reports as well, is
filled in. All else is marked ``TO BE FILLED IN``, for a person: who publishes it and why, where and when, and for which
reasons parameters were chosen. Fields that may be left out and only take one of a few words are written as comments.
Entries are YAML files, checked against a schema: `FIELDS` and `WORDS` are the facts of it that are needed here, as of
version 3e9c812 of opendp/deployments-registry-data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dpframe.errors import PlanError
from dpframe.run.disclosure import Release, facts
from dpframe.run.result import Charge, Result
from dpframe.run.statement import Statement
from dpframe.spec.budget import ModelBudget

OPEN = "TO BE FILLED IN"
NO_DATE = "1900-01-01"
"""A date must be one; this is what the registry's own template has."""

FIELDS: dict[str, tuple[str, ...]] = {
    "basic": (
        *("name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description"),
        *("publication_date", "data_product_sector"),
    ),
    "dp_variant": ("variant_name", "data_domain", "unprotected_quantities"),
    "privacy_loss": ("privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"),
    "deployment_model": (
        *("model_name", "model_name_details", "actors", "release_type", "release_type_details", "data_source_type"),
        *("data_source_type_details", "access_type", "access_type_details"),
    ),
    "accounting": ("post_processing", "composition"),
    "implementation": ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    "administrative": ("sources", "notes", "registry_authors"),
}
"""The fields of an entry's sections. Of `basic` all but the last must be there, and the authors."""

WORDS: dict[str, tuple[str, ...]] = {
    "data_product_type": (
        *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API"),
        "SQL queries",
    ),
    "data_product_sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
    "variant_name": ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
    "model_name": ("Local", "Central", "Shuffle", "Federated", "Varies"),
    "release_type": ("One release", "Many releases"),
    "data_source_type": ("Static", "Dynamic"),
    "access_type": ("Interactive", "Non-interactive"),
}
"""Fields that take one of these words."""


def entry(result: Result) -> dict[str, Any]:
    """The entry as plain data, with None for words that a person has to choose.

    Args:
        result: the result of a run.
    """
    if not result.private:
        raise PlanError("this result was drawn from a fixed seed and is not private: there is nothing to register.")
    stated = result.statement
    known = {fact.key: fact.answer for fact in facts(Release(statement=stated, charge=result.charge))}
    return {
        "url_slug": "to_be_filled_in",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": OPEN,
                "data_curators": [OPEN],
                "intended_use": OPEN,
                "data_product_type": "Summary statistics",
                "data_product_region": OPEN,
                "description": f"{OPEN}. Released: {', '.join(_released(result))}.",
                "publication_date": NO_DATE,
                "data_product_sector": None,
            },
            "dp_variant": _variant(stated),
            "privacy_loss": _loss(stated, known),
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": f"{known['trust_model']}.",
                "actors": f"Protected against {stated.against}. {OPEN}: who sees the rows, and why they are trusted.",
                "release_type": None,
                "release_type_details": OPEN,
                "data_source_type": None,
                "data_source_type_details": OPEN,
                "access_type": "Non-interactive",
                "access_type_details": f"{known['query_model']}.",
            },
            "accounting": {"post_processing": _derived(stated), "composition": _composition(known, result.charge)},
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": (
                    f"Rows: {known['bounds']}. {OPEN}: where ranges, norms and the budget come from, and whether "
                    "anything was looked at before."
                ),
                "mechanisms": _mechanisms(known, result.versions),
                "justification": OPEN,
            },
            "administrative": {
                "sources": OPEN,
                "notes": f"Plan sha256 {stated.plan}; result sha256 {result.fingerprint}.",
                "registry_authors": [OPEN],
            },
        },
    }


def _released(result: Result) -> Iterator[str]:
    for record in result.records.values():
        yield f"{record.name} ({record.line.kind})"


def _variant(stated: Statement) -> dict[str, Any]:
    name = "Pure DP" if stated.spent.delta == 0.0 else "Approximate DP"
    public = "how many rows there are, and how many each person has" if stated.neighbors == "replace" else "none"
    return {
        "variant_name": "Custom" if isinstance(stated.spent, ModelBudget) else name,
        "data_domain": f"All tables of rows with the plan's columns; {stated.rows}.",
        "unprotected_quantities": f"By the plan: {public}. {OPEN}: anything else that was published of these data.",
    }


def _loss(stated: Statement, known: Mapping[str, str]) -> dict[str, Any]:
    spent = stated.spent
    return {
        "privacy_unit": "Person",
        "privacy_unit_details": f"{known['unit']}. Neighbors: {known['neighbors']}.",
        "privacy_parameters": {"epsilon": spent.epsilon, **({"delta": spent.delta} if spent.delta else {})},
        "privacy_parameters_details": f"{known['definition']}: {known['parameters']}. {OPEN}: why these parameters.",
    }


def _derived(stated: Statement) -> str:
    names = [f"{line.name} ({line.action} of {', '.join(line.of)})" for line in stated.lines if not line.is_release]
    return f"Computed from released values alone: {'; '.join(names)}." if names else "None."


def _composition(known: Mapping[str, str], charge: Charge | None) -> str:
    other = f" {OPEN}: other releases from these data." if charge is None else ""
    return f"Composed {known['accounting']}. {known['composition'].removesuffix('.')}.{other}"


def _mechanisms(known: Mapping[str, str], versions: Mapping[str, str]) -> str:
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = ("mechanisms", "arithmetic", "randomness", "side_channels")
    said = ". ".join(known[part] for part in parts)
    return f"{said}. {software}. {OPEN}: who may read the rows, and how they are stored."


def as_yaml(content: Mapping[str, Any], indent: str = "") -> str:
    """An entry as YAML; words that a person has to choose are comments, and what is open is marked.

    Args:
        content: the entry, or a part of it.
        indent: the spaces before each line.
    """
    lines = []
    for name, value in content.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{name}:\n{as_yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            lines.append(f"{indent}{name}:" + "".join(f"\n{indent}  - {_scalar(each)}" for each in value))
        elif value is None:
            lines.append(f"{indent}# {name}: {OPEN}: one of {', '.join(WORDS[name])}")
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}" + (f"  # {OPEN}" if value == NO_DATE else ""))
    return "\n".join(lines)


def _scalar(value: Any) -> str:
    """Text in double quotes, as in JSON, which YAML reads alike; numbers as they are, with the point YAML asks for."""
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\U{ord(each):08x}" for each in text)
