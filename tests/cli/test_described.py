"""``dpframe plugins NAME``: purpose, parameters, guarantee and an example, for everything that is installed."""

from __future__ import annotations

import json

import attrs
import pytest

import dpframe as dp
from dpframe.cli.described import described
from tests.support.shell import dpframe


def test_a_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe("plugins", "gaussian", capsys=capsys)
    assert (0, "") == (code, err)
    assert out.startswith("gaussian: mechanism of dpframe-gaussian 0.1.0")
    words = " ".join(out.split())
    for expected in (
        "The second moment with symmetric Gaussian noise.",
        "Parameters noise",
        "(default 'goe')",
        "Guarantee Gaussian loss with mu = level",
        '[[steps]] release = "result" with = "gaussian"',
        "References Dwork, Talwar",
    ):
        assert expected in words
    assert ">>>" not in out


def test_a_post_processor_with_required_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = dpframe("plugins", "top-subspace", "--json", capsys=capsys)
    (found,) = json.loads(out)
    assert (0, "postprocessor") == (code, found["role"])
    assert found["parameters"]["k"].endswith("(required)")
    assert '[[steps]]\nderive = "result"\nwith = "top-subspace"\nof = {ref = "..."}\nk = ...' == found["example"]


def test_everything_that_is_installed_has_a_purpose_and_every_mechanism_a_guarantee() -> None:
    for info in dp.plugins():
        found = described(info.name)
        assert info.provides == tuple(f"{each.role} {each.name}" for each in found)
        for each in found:
            assert each.purpose, each
            assert not each.purpose.startswith(("Abstract", "Base")), each
            assert all(not words.startswith("(") for words in each.parameters.values()), each


@pytest.mark.parametrize(
    ("name", "reason"),
    [("gausian", "Did you mean 'gaussian'"), ("dpframe-none", "no installed plugin provides")],
)
def test_an_unknown_name(name: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = dpframe("plugins", name, capsys=capsys)
    assert (1, "") == (code, out)
    assert reason in err


def test_a_class_without_a_docstring_or_sections() -> None:
    @attrs.frozen(kw_only=True)
    class Bare(dp.PostProcessor):
        name = "test-bare"
        gives = dp.plugin.Scalar  # type: ignore[attr-defined]

        def apply(self) -> dp.plugin.Kind:  # type: ignore[name-defined]
            raise AssertionError

    dp.register(Bare)
    try:
        (found,) = described("test-bare")
        assert ("this process", "") == (found.provider, found.guarantee)
    finally:
        dp.unregister(Bare)
