"""Signatures of outcomes, so that one that is recorded later is the one that the run had.

A run makes a key pair of its own (Ed25519), writes the public key into its reservation, and signs its outcome at its
end. The private key is never stored and is gone with the process. So whoever holds the file of a result can have its
outcome recorded, but nobody can have another one recorded in its place.
"""

from __future__ import annotations

from typing import Any

import attrs

from dpframe.ledger.chain import canonical


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


@attrs.frozen(repr=False, eq=False)
class Signer:
    """A new key pair."""

    _key: Any = attrs.field(factory=_new_key, init=False)

    @property
    def public_key(self) -> str:
        """The public key, in hexadecimal digits."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def sign(self, outcome: Any) -> str:
        """The signature of an outcome, in hexadecimal digits.

        Args:
            outcome: plain data.
        """
        return str(self._key.sign(canonical(outcome).encode()).hex())


def is_signed(outcome: Any, signature: str, public_key: str) -> bool:
    """Whether a signature is that of an outcome.

    Args:
        outcome: plain data.
        signature: in hexadecimal digits.
        public_key: in hexadecimal digits.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), canonical(outcome).encode())
    except (InvalidSignature, ValueError):
        return False
    return True
