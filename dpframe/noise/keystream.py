"""Randomness: a seekable AES-256-CTR keystream, keyed from the operating system."""

import builtins
import hmac
import os
import secrets
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Keystream", "Words"]

Words = npt.NDArray[np.uint64]

_END = 2**129  # words: the counter of AES-CTR has 2**128 values, each a block of two words
_ZEROS = memoryview(bytes(2**16))  # the plaintext: encrypting zeros gives the keystream


class Keystream:
    """A stream of independent uniform 64-bit words that can be read again from any position.

    The words are AES-256 in counter mode, so each is a function of the key and its position alone; without the key they
    are computationally indistinguishable from uniform words. A stream may be read from several threads: every word goes
    to one of them. After a fork, a secure stream draws a new key in the child, so that it never repeats its parent.
    Make a stream with `secure`, or with `insecure` in a test.

    Reading a position twice gives the same words twice. Coupling from the past needs this; nothing else should do it.

    >>> stream = Keystream.insecure(7)
    >>> first = stream.words(3)
    >>> stream.seek(1)
    >>> bool((stream.words(2) == first[1:]).all()), stream.tell()
    (True, 3)
    """

    __slots__ = ("__weakref__", "_cipher", "_lock", "_master", "_position", "_private")

    def __init__(self, master: builtins.bytes, *, private: bool) -> None:
        """Take a 32-byte master key, and whether the operating system drew it (`private`). Callers use `secure`."""
        self._master = master
        self._private = private
        self._position = 0
        self._cipher: Any = None
        self._lock = threading.Lock()
        _LIVE.add(self)

    @classmethod
    def secure(cls) -> Self:
        """A stream keyed from the operating system."""
        return cls(secrets.token_bytes(32), private=True)

    @classmethod
    def insecure(cls, seed: int) -> Self:
        """A stream keyed from a seed: for tests, NOT PRIVATE."""
        return cls(_derive(b"dpframe", b"insecure", str(int(seed)).encode()), private=False)

    @property
    def private(self) -> bool:
        """Whether the key came from the operating system."""
        return self._private

    def child(self, name: str) -> "Keystream":
        """The child of this name: independent of this stream and of its other children, whatever was read so far.

        >>> parent = Keystream.insecure(7)
        >>> bool((parent.child("a").words(9) == parent.child("a").words(9)).all())
        True
        """
        return Keystream(_derive(self._master, b"child", name.encode()), private=self._private)

    def extension(self, position: int) -> Iterator[int]:
        """Further words for one position, for a draw that needs more bits than the word at that position."""
        more = Keystream(_derive(self._master, b"extension", position.to_bytes(17, "big")), private=self._private)
        while True:
            yield int(more.words(1)[0])

    def words(self, count: int) -> Words:
        """The next `count` words."""
        return self.take(count)[1]

    def take(self, count: int) -> tuple[int, Words]:
        """The next `count` words and the position of the first, atomically among threads."""
        if count < 0:
            raise ValueError(f"Keystream: count must be a non-negative integer; got {count!r}.")
        size = 8 * count
        out = np.empty(size + 16, np.uint8)  # update_into needs one block of room beyond its output
        room = out.data
        with self._lock:
            start = self._position
            if start + count > _END:
                raise ValueError(
                    f"Keystream: a stream has 2**129 words; {count} more at position {start} are too many."
                )
            # In the loop the cipher is ahead of the position; after an interrupt it must not be used again.
            cipher, self._cipher = self._cipher or self._open(start), None
            for at in range(0, size, len(_ZEROS)):
                cipher.update_into(_ZEROS[: size - at], room[at:])
            self._position, self._cipher = start + count, cipher
        return start, out[:size].view("<u8").astype(np.uint64, copy=False)

    def tell(self) -> int:
        """The position of the next word, counted in words from the start."""
        with self._lock:
            return self._position

    def seek(self, position: int) -> None:
        """Make `position` the position of the next word."""
        if not 0 <= position < _END:
            raise ValueError(f"Keystream.seek: position must be in [0, 2**129); got {position!r}.")
        with self._lock:
            if position != self._position:
                self._position, self._cipher = position, None

    def bytes(self, count: int) -> builtins.bytes:
        """The next `count` bytes; the rest of the last word is skipped."""
        if count < 0:
            raise ValueError(f"Keystream: count must be a non-negative integer; got {count!r}.")
        return self.words(-(-count // 8)).astype("<u8", copy=False).tobytes()[:count]

    def _open(self, position: int) -> Any:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        block, odd = divmod(position, 2)
        key = _derive(self._master, b"words", b"")  # the master key is used in HMAC only
        cipher = Cipher(algorithms.AES(key), modes.CTR(block.to_bytes(16, "big"))).encryptor()
        if odd:
            cipher.update(bytes(8))
        return cipher

    def _renew(self) -> None:
        self._lock = threading.Lock()  # a thread that does not exist in the child may hold the old lock
        self._cipher = None
        if self._private:
            self._master = secrets.token_bytes(32)

    def __repr__(self) -> str:
        return f"<Keystream {'from the operating system' if self._private else 'from a seed, NOT PRIVATE'}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "a Keystream cannot be pickled or copied: the copy would repeat its noise. Use child(name) for an "
            "independent stream, or Keystream.secure() in the other process."
        )


def _derive(key: bytes, label: bytes, data: bytes) -> bytes:
    return hmac.digest(key, b"dpframe.noise/" + label + b"\0" + data, "sha256")


_LIVE: "weakref.WeakSet[Keystream]" = weakref.WeakSet()


def _after_fork() -> None:
    for stream in list(_LIVE):
        stream._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
