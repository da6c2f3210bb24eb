"""Signatures of outcomes."""

from __future__ import annotations

from dpframe.ledger.signature import Signer, is_signed


def test_a_signature_is_of_one_outcome_by_one_run() -> None:
    one, other = Signer(), Signer()
    outcome = ["released", {"released": "0" * 64}]
    signature = one.sign(outcome)
    assert is_signed(outcome, signature, one.public_key)
    assert not is_signed(outcome, signature, other.public_key)
    assert not is_signed(["failed", outcome[1]], signature, one.public_key)
    assert not is_signed(outcome, other.sign(outcome), one.public_key)
    assert not is_signed(outcome, "", one.public_key)
    assert not is_signed(outcome, "no digits", one.public_key)


def test_the_key_of_a_run_is_not_shown() -> None:
    signer = Signer()
    assert signer.public_key not in repr(signer)
    assert "Ed25519" not in repr(signer)
