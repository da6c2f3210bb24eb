"""JSON schemas of what commands print with ``--json``: ``dpframe schema COMMAND`` prints one.

A schema lists every field, and which of them are always there. No other fields are allowed where an object is ours to
change, so that a test finds a field that nobody wrote down; what plugins may add to, such as the values of their own
kinds, is left open. Numbers that JSON lacks are the strings "Infinity", "-Infinity" and "NaN".
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
TRUTH: Schema = {"type": "boolean"}
NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity", "NaN"]}]}
ANYTHING: Schema = {"type": "object"}
ARRAY: Schema = {"$ref": "#/$defs/array"}


def either(*schemas: Schema) -> Schema:
    """One of several."""
    return {"anyOf": list(schemas)}


def or_null(schema: Schema) -> Schema:
    """That, or null."""
    return either(schema, {"type": "null"})


def listed(schema: Schema) -> Schema:
    """An array of such."""
    return {"type": "array", "items": schema}


def named(schema: Schema) -> Schema:
    """An object of such, by names that differ from case to case."""
    return {"type": "object", "additionalProperties": schema}


def record(fields: dict[str, Schema], optional: dict[str, Schema] | None = None, *, closed: bool = True) -> Schema:
    """An object with these fields, all of them but the optional ones required; no others, unless it is open."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
        **({"additionalProperties": False} if closed else {}),
    }


BUDGET = record({"epsilon": NUMBER, "delta": NUMBER})
SPENT = record({"epsilon": NUMBER, "delta": NUMBER}, {"model": TEXT, "failure": TEXT})
NEIGHBORS: Schema = {"enum": ["add-remove", "replace"]}
NUMERICS: Schema = {"enum": ["exact", "certified", "floating"]}

LINE = record(
    {
        **dict.fromkeys(("name", "action", "kind", "guarantee", "unit"), TEXT),
        "parameters": named(TEXT),
        "of": listed(TEXT),
        "numerics": NUMERICS,
        "passes": WHOLE,
        "level": or_null(NUMBER),
        "losses": listed(TEXT),
        "noise": named(NUMBER),
        **dict.fromkeys(("slack", "epsilon_alone", "epsilon_so_far"), or_null(NUMBER)),
    }
)
STATEMENT = record(
    {
        **dict.fromkeys(("protected", "against", "strength", "rows", "plan", "accountant", "computed_by"), TEXT),
        "budget": BUDGET,
        "spent": SPENT,
        "neighbors": NEIGHBORS,
        "accountants": named(NUMBER),
        "passes": WHOLE,
        "lines": listed(LINE),
    }
)
CHARGE = record(
    {
        **dict.fromkeys(("dataset", "run", "head", "caveat"), TEXT),
        "entry": WHOLE,
        "budget": BUDGET,
        "spent": SPENT,
        "remaining": BUDGET,
        "slack": NUMBER,
    },
    {"signature": TEXT, "notices": listed(TEXT), "time": TEXT, "others": SPENT},
)
VALUE = record(
    {
        "kind": TEXT,
        "array": either(ARRAY, record({"real": ARRAY, "imaginary": ARRAY})),
        "axes": or_null(ANYTHING),
    },
    closed=False,  # each kind has fields of its own
)
INTERVAL = record(
    {
        "confidence": NUMBER,
        **dict.fromkeys(("low", "high", "determined", "standard_error"), ARRAY),
        **dict.fromkeys(("simultaneous", "approximate"), TRUTH),
        "method": TEXT,
        "angle_degrees": or_null(NUMBER),
    }
)
RESULT = record(
    {
        "format": {"const": 1},
        "private": TRUTH,
        "warnings": listed(TEXT),
        "statement": STATEMENT,
        "versions": named(TEXT),
        "charge": or_null(CHARGE),
        "results": named(VALUE),
    },
    {
        "caveat": TEXT,
        "failed": named(TEXT),
        "choices": named(TEXT),
        "plan_file": TEXT,
        "intervals": named(INTERVAL),
        "without_interval": named(TEXT),
    },
)
OUTLOOK = record({"dataset": TEXT, "budget": BUDGET, "spent": SPENT, "notices": listed(TEXT)})
DRY_RUN = record({"dry_run": {"const": True}, "statement": STATEMENT, "outlook": or_null(OUTLOOK)})

BOUND = record(
    {
        **dict.fromkeys(("name", "norm", "kind", "citation"), TEXT),
        "value": or_null(NUMBER),
        "explicit": TRUTH,
        "assumptions": listed(record({"text": TEXT, "holds": TRUTH})),
        "confidence": or_null(NUMBER),
        "interval": or_null(listed(NUMBER)),
    }
)
MARGIN = record({"plus_minus": NUMBER, "bias": NUMBER})
COLUMN = record(
    {
        **dict.fromkeys(("name", "unit"), TEXT),
        **dict.fromkeys(("assumed_mean", "assumed_sd"), NUMBER),
        "by_default": listed(TEXT),
        **dict.fromkeys(("mean", "sd", "correlation"), or_null(MARGIN)),
    }
)
COLUMNS = record(
    {
        "rows": WHOLE,
        "private_rows": TRUTH,
        "confidence": NUMBER,
        "draws": WHOLE,
        "steps": named(TEXT),
        "columns": listed(COLUMN),
        "correlations": or_null(ARRAY),
        "assumptions": listed(TEXT),
    }
)
EXPLANATION = record(
    {
        "statement": STATEMENT,
        "scenario": or_null(ANYTHING),
        "forecasts": named(listed(BOUND)),
        "columns": or_null(COLUMNS),
    },
    {"caveat": TEXT, "note": TEXT},
)

CANDIDATE = record(
    {
        **dict.fromkeys(("name", "guarantee"), TEXT),
        "numerics": NUMERICS,
        **dict.fromkeys(("error", "error_95", "seconds"), NUMBER),
        "interval": listed(NUMBER),
        "errors": named(NUMBER),
        "spent": SPENT,
    }
)
_COMPARISON = {
    **dict.fromkeys(("task", "norm", "over"), TEXT),
    "shapes": listed(TEXT),
    "candidates": listed(CANDIDATE),
    "left_out": named(TEXT),
}
COMPARISON = either(record(_COMPARISON), record({"comparisons": listed(record({"epsilon": NUMBER, **_COMPARISON}))}))

AUDIT = record(
    {
        **dict.fromkeys(("subject", "pair", "statistic", "verdict"), TEXT),
        "neighbors": NEIGHBORS,
        **dict.fromkeys(("claim", "delta", "bound", "visible", "false_alarm", "power"), NUMBER),
        **dict.fromkeys(("trials", "hits", "misses"), WHOLE),
        "pilot": named(NUMBER),
    }
)
PLUGIN = record({**dict.fromkeys(("name", "version", "status", "reason"), TEXT), "provides": listed(TEXT)})
DESCRIPTION = record(
    {
        **dict.fromkeys(("role", "name", "provider", "purpose", "guarantee", "references", "example"), TEXT),
        "parameters": named(TEXT),
    }
)

DATASET = record(
    {
        **dict.fromkeys(("name", "accountant"), TEXT),
        "neighbors": NEIGHBORS,
        **dict.fromkeys(("contributions", "runs", "modelled", "entry"), WHOLE),
        "left": NUMBER,
        "person": or_null(TEXT),
        "budget": BUDGET,
        "spent": SPENT,
        "remaining": BUDGET,
    },
    {"caveat": TEXT, "slack": NUMBER},
)
LEDGER = record({"ledger": TEXT, "head": TEXT, "datasets": listed(DATASET)})
ENTRY = record(
    {**dict.fromkeys(("dataset", "kind", "previous", "hash"), TEXT), "number": WHOLE, "body": either(TEXT, ANYTHING)}
)
HISTORY = record({"entries": listed(ENTRY)})
VERIFIED = record(
    {
        "verified": {"const": True},
        **dict.fromkeys(("entries", "datasets", "runs", "unfinished"), WHOLE),
        "head": TEXT,
        **dict.fromkeys(("known", "covered"), TRUTH),
    }
)

OUTPUTS: dict[str, Schema] = {
    "run": either(RESULT, DRY_RUN),
    "explain": EXPLANATION,
    "compare": COMPARISON,
    "audit": listed(AUDIT),
    "plugins": either(listed(PLUGIN), listed(DESCRIPTION)),
    "ledger-create": LEDGER,
    "ledger-show": LEDGER,
    "ledger-history": HISTORY,
    "ledger-verify": VERIFIED,
    "ledger-record": CHARGE,
    "ledger-repair": HISTORY,
}
"""The schema of the output of each command that takes ``--json``."""


def output_schema(command: str) -> Schema:
    """The JSON schema of what a command prints with ``--json``.

    Args:
        command: its name; of commands of the ledger, as in "ledger-show".
    """
    leaf = either(NUMBER, TRUTH, {"type": "null"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"dpframe {command.replace('-', ' ', 1) if command.startswith('ledger-') else command} --json",
        "$defs": {"array": either(leaf, {"type": "array", "items": ARRAY})},
        **OUTPUTS[command],
    }
