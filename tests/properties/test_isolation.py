"""Bad plugins, by the real command: they are named with the reason, and everything else keeps working."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import numpy as np

from tests.support.packages import run
from tests.support.plugins import write_plugin

BAD = {
    "raises_one": ("raise RuntimeError('no license')\n", "it cannot be imported: RuntimeError: no license"),
    "clashes_one": (
        """
        import dpframe_gaussian as other
        import dpframe.plugin as dp

        @dp.hookimpl
        def dpframe_mechanisms(): return [other.SymmetricGaussian]
        """,
        "the mechanism name 'gaussian' is already provided by dpframe-gaussian 0.1.0",
    ),
    "outdated_one": ("DPFRAME_API = 0\n", "it was written for interface version 0; this dpframe has 1"),
    "wrong_one": (
        """
        import dpframe.plugin as dp

        @dp.hookimpl
        def dpframe_mechanisms(): return "gaussian"
        """,
        "dpframe_mechanisms must return a list of classes; it returned str",
    ),
    "stranger_one": (
        """
        import dpframe.plugin as dp

        @dp.hookimpl
        def dpframe_mechanisms(): return [int]
        """,
        "<class 'int'> is not a mechanism class",
    ),
}
GOOD = """
import attrs
import dpframe.plugin as dp

@attrs.frozen(kw_only=True)
class Positive(dp.postprocess.PositivePart):
    name = "another-psd"

@dp.hookimpl
def dpframe_postprocessors(): return [Positive]
"""
PLAN = """format = 1

[rows]
neighbors = "replace"
norm = 1.0

[budget]
epsilon = 1.0
delta = 1e-6

[[steps]]
release = "moment"
with = "gaussian"

[[steps]]
derive = "positive"
with = "another-psd"
of = {ref = "moment"}
"""


def test_bad_plugins_leave_every_command_and_all_others_working(tmp_path: Path) -> None:
    """One of each kind and a good one, with the real command: the bad ones are named with the reason."""
    write_plugin(tmp_path, "good_one", GOOD)
    for module, (code, _) in BAD.items():
        write_plugin(tmp_path, module, textwrap.dedent(code))

    def dpframe(*words: str) -> str:
        return run(sys.executable, "-W", "error", "-m", "dpframe", *words, cwd=tmp_path, path=tmp_path)

    found = {plugin["name"]: plugin for plugin in json.loads(dpframe("plugins", "--json"))}
    set_aside = {name: plugin["reason"] for name, plugin in found.items() if plugin["status"] != "active"}
    assert {module.replace("_", "-"): reason for module, (_, reason) in BAD.items()} == set_aside
    assert {"set aside"} == {found[name]["status"] for name in set_aside}
    assert {"good-one", "dpframe", "dpframe-gaussian", "dpframe-laplace", "dpframe-pld"} <= set(found) - set(set_aside)
    table = " ".join(dpframe("plugins").split())
    assert all(reason in table for _, reason in BAD.values())
    assert "Protected" in dpframe("demo")
    assert "good-one 1.5" in dpframe("--version")
    (tmp_path / "plan.toml").write_text(PLAN)
    np.save(tmp_path / "rows.npy", np.eye(3, 2))
    assert "another-psd" in dpframe("run", "plan.toml", "rows.npy")
