"""The layers of the core, from the lowest: a module may import what is before it, and nothing after it.

`tests/test_layers.py` holds the code to this order; the picture in `docs/explanation/architecture.md` is drawn from it.
"""

from __future__ import annotations

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "validators", "rounding", "lattice", "hermitian", "eigensolver", "jit"),
    ("noise",),
    ("kinds", "losses", "intervals"),
    ("spec",),
    ("sensitivity", "display"),
    ("interfaces", "hookspecs"),
    ("discovery", "registry"),
    ("accounting",),
    ("reading",),
    ("statistics",),
    ("sources",),
    ("postprocess",),
    ("builtin",),
    ("plan",),
    ("run",),
    ("ledger", "forecast", "auditing", "steward"),
    ("plots",),
    ("testing",),
    ("demo", "cli"),
)
"""Within a layer a module may import those to its left, except among `APART`."""

APART = frozenset({"ledger", "forecast", "auditing", "steward"})
"""None of these imports another."""
