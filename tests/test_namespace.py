"""What users type, what authors of plugins import, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import dpframe
from dpframe import plugin

USERS = {
    "a plan": "Plan Rows Matrix Column Category Budget ModelBudget Step Scenario release derive ref model",
    "one call": "covariance pca correlation regression covariance_plan pca_plan correlation_plan regression_plan",
    "a result": "Result Record Interval Charge Explanation Progress",
    "data": "query table csv check",
    "a ledger": "Ledger Dataset",
    "before and beside a run": "compare Comparison Comparisons audit Audit accountant losses",
    "interfaces": "Mechanism PostProcessor Accountant BoundOracle Statistic Recipe hookimpl",
    "plugins": "plugins PluginInfo register unregister",
    "errors": "DPFrameError PlanError BudgetExceeded DataError PluginError LedgerError ReleaseFailed "
    "DerivationFailed SamplingError",
}


def test_the_names_that_users_type() -> None:
    assert sorted(" ".join(USERS.values()).split()) == sorted(dpframe.__all__)


def test_tab_completion_offers_no_submodule() -> None:
    assert {*dpframe.__all__, "__version__"} == set(dir(dpframe))
    assert ["losses"] == [name for name in dpframe.__all__ if isinstance(getattr(dpframe, name), ModuleType)]


def test_no_function_shadows_a_module() -> None:
    """Also in packages of the core: `from dpframe.x import y` means one thing."""
    code = (
        "import importlib, pkgutil, types, dpframe\n"
        "for info in pkgutil.walk_packages(dpframe.__path__, 'dpframe.'):\n"
        "    if info.name.endswith('__main__') or '.templates' in info.name:\n"
        "        continue\n"
        "    module = importlib.import_module(info.name)\n"
        "    parent, _, name = info.name.rpartition('.')\n"
        "    found = getattr(importlib.import_module(parent), name)\n"
        "    assert isinstance(found, types.ModuleType), info.name\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ("done\n", "") == (done.stdout, done.stderr)


def test_authors_of_plugins_have_all_that_users_have() -> None:
    assert all(getattr(dpframe, name) is getattr(plugin, name) for name in dpframe.__all__)
    assert len(plugin.__all__) == len(set(plugin.__all__))
    assert all(hasattr(plugin, name) for name in plugin.__all__)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Spectrum",
            "module 'dpframe' has no attribute 'Spectrum'; it is in the namespace for plugin authors: ",
        ),
        ("Plam", "module 'dpframe' has no attribute 'Plam'$"),
        ("_private", "module 'dpframe' has no attribute '_private'$"),
    ],
)
def test_a_name_that_is_elsewhere(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(dpframe, name)
