"""The keystream: the right words, at every position, to one reader each."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpframe.noise import keystream
from dpframe.noise.keystream import Keystream
from tests.support.exact import FALSE_ALARM, multinomial_alarm

Words = npt.NDArray[np.uint64]


def words_by_block(key: bytes, position: int, count: int) -> Words:
    """The words at a position from the block cipher, one counter at a time."""
    blocks = range(position // 2, (position + count + 1) // 2)
    counters = b"".join(block.to_bytes(16, "big") for block in blocks)
    plain = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters)
    return np.frombuffer(plain, "<u8")[position % 2 :][:count].astype(np.uint64)


def cipher_key(stream: Keystream) -> bytes:
    return keystream._derive(stream._master, b"words", b"")


def test_published_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    # NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): key, initial counter and the first output block.
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    stream = Keystream.insecure(7)
    monkeypatch.setattr(keystream, "_derive", lambda *_: key)
    stream.seek(2 * 0xF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF)
    assert stream.bytes(16).hex() == "0bdf7df1591716335e9a8b15c860c502"


def test_seed_gives_the_words_it_always_gave() -> None:
    assert Keystream.insecure(7).words(2).tolist() == [14771060548160033743, 6839489305931119805]
    assert Keystream.insecure(7).child("moment").words(2).tolist() == [14870055912601072720, 7436742607603993744]
    assert next(Keystream.insecure(7).extension(3)) == 7137888755045091426


EDGES = [0, 1, 2, 3, 8191, 8192, 8193, 2**61 - 1, 2**61, 2**61 + 1, 2**64 + 1, 2**65 - 3, 2**128 - 1, 2**129 - 9]


@pytest.mark.parametrize("position", EDGES)
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_words_at_any_position(position: int, count: int) -> None:
    stream = Keystream.secure()
    stream.seek(position)
    expected = words_by_block(cipher_key(stream), position, count + 2)
    assert stream.words(count).tolist() == expected[:count].tolist()
    assert stream.tell() == position + count
    assert stream.words(2).tolist() == expected[count:].tolist()
    stream.seek(position)
    assert stream.words(count).tolist() == expected[:count].tolist()


def test_long_reads_equal_short_ones() -> None:
    stream, pieces = Keystream.insecure(7), Keystream.insecure(7)
    stream.words(3)
    pieces.words(3)
    lengths = [1, 8191, 2, 8192, 8193, 5, 40000]
    expected = np.concatenate([pieces.words(length) for length in lengths])
    assert expected.tolist() == stream.words(sum(lengths)).tolist()
    assert expected.tolist() == words_by_block(cipher_key(stream), 3, sum(lengths)).tolist()


def test_bytes_take_whole_words() -> None:
    stream = Keystream.insecure(7)
    expected = stream.words(2).astype("<u8").tobytes()
    stream.seek(0)
    assert stream.bytes(11) == expected[:11]
    assert stream.tell() == 2


@pytest.mark.parametrize("position", [-1, 2**129])
def test_seek_outside_is_refused(position: int) -> None:
    with pytest.raises(ValueError, match=r"position must be in \[0, 2\*\*129\); got"):
        Keystream.insecure(7).seek(position)


def test_reading_past_the_end_is_refused() -> None:
    stream = Keystream.insecure(7)
    stream.seek(2**129 - 1)
    with pytest.raises(ValueError, match=r"2\*\*129 words"):
        stream.words(2)
    for read in (stream.words, stream.bytes):
        with pytest.raises(ValueError, match="count must be a non-negative integer; got -1"):
            read(-1)


def test_interrupted_read_leaves_the_stream_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Keystream.insecure(7)
    expected = stream.words(20_000)[5:]
    stream.seek(5)

    class Interrupted:
        def update_into(self, *_: object) -> None:
            raise RuntimeError("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(Keystream, "_open", lambda *_: Interrupted())
        with pytest.raises(RuntimeError, match="interrupted"):
            stream.words(19_995)
    assert stream.tell() == 5
    assert expected.tolist() == stream.words(19_995).tolist()


def test_secure_streams_differ_and_are_private() -> None:
    first, second = Keystream.secure(), Keystream.secure()
    assert first.words(4).tolist() != second.words(4).tolist()
    assert first.private
    assert first.child("a").private
    assert not Keystream.insecure(7).private
    assert not Keystream.insecure(7).child("a").private


def test_streams_of_one_family_are_different() -> None:
    parent = Keystream.insecure(7)
    family = [parent, parent.child("a"), parent.child("b"), parent.child(""), parent.child("a").child("b")]
    family += [Keystream.insecure(8), Keystream.insecure(-7), Keystream.insecure(8).child("a"), parent.child("words")]
    firsts = [stream.words(1)[0] for stream in family]
    firsts += [next(parent.extension(position)) for position in (0, 1, 2**128)]
    firsts += [next(parent.child("a").extension(0))]
    assert len(set(firsts)) == len(firsts)


def test_child_does_not_depend_on_what_was_read() -> None:
    parent = Keystream.insecure(7)
    expected = parent.child("a").words(5).tolist()
    parent.words(100)
    assert expected == parent.child("a").words(5).tolist()


def test_words_and_children_are_uniform_and_unrelated() -> None:
    # Three tests, each with a false-alarm rate of at most 1e-6: bytes of two children, and of their difference.
    parent = Keystream.insecure(7)
    first, second = parent.child("a").words(200_000), parent.child("b").words(200_000)
    for words in (first, second, first ^ second):
        counts = np.bincount(words.view(np.uint8), minlength=256)
        assert multinomial_alarm(counts, np.full(256, 1 / 256)) > FALSE_ALARM
    biased = np.bincount((first | (second & np.uint64(1))).view(np.uint8), minlength=256)
    assert multinomial_alarm(biased, np.full(256, 1 / 256)) < FALSE_ALARM


def test_threads_share_a_stream_without_repeating_a_word() -> None:
    stream, interval = Keystream.insecure(7), sys.getswitchinterval()
    taken: list[tuple[int, Words]] = []

    def read(seed: int) -> None:
        sizes = np.random.default_rng(seed).integers(1, 40, 400)
        taken.extend([stream.take(int(size)) for size in sizes])

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(6)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    taken.sort(key=lambda read: read[0])
    starts = [start for start, _ in taken]
    assert starts == np.cumsum([0, *(len(words) for _, words in taken[:-1])]).tolist()
    expected = Keystream.insecure(7).words(stream.tell())
    assert expected.tolist() == np.concatenate([words for _, words in taken]).tolist()


def in_child(work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a forked process; nothing if it hangs for ten seconds."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # some Pythons warn of forks beside BLAS threads
        pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        os.write(writing, work())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@needs_fork
def test_fork_gives_new_keys_to_secure_streams() -> None:
    root = Keystream.secure()
    named = root.child("a")
    readers: list[Callable[[], bytes]] = [
        lambda: root.bytes(32),
        lambda: named.bytes(32),
        lambda: root.child("b").bytes(32),
    ]
    root.words(3)
    named.words(3)
    answers = [in_child(read) for read in readers for _ in range(2)] + [read() for read in readers]
    assert all(len(answer) == 32 for answer in answers)
    assert len(set(answers)) == len(answers)


@needs_fork
def test_fork_keeps_insecure_streams_and_the_position() -> None:
    stream = Keystream.insecure(7)
    stream.words(3)
    answer = in_child(lambda: stream.tell().to_bytes(4, "big") + stream.bytes(32))
    assert answer == (3).to_bytes(4, "big") + stream.bytes(32)


@needs_fork
@pytest.mark.parametrize("make", [Keystream.secure, lambda: Keystream.insecure(7)])
def test_fork_while_another_thread_reads(make: Callable[[], Keystream]) -> None:
    stream = make()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with stream._lock:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    answer = in_child(lambda: stream.bytes(32))
    done.set()
    thread.join()
    assert len(answer) == 32


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused(clone: Callable[[Keystream], object]) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied: the copy would repeat its noise"):
        clone(Keystream.secure())


def test_repr_shows_no_key() -> None:
    assert repr(Keystream.secure()) == "<Keystream from the operating system>"
    assert repr(Keystream.insecure(7)) == "<Keystream from a seed, NOT PRIVATE>"


def test_import_is_light() -> None:
    script = "import sys, dpframe.noise; print([m for m in ('scipy', 'flint', 'cryptography') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_streams_are_freed() -> None:
    stream = Keystream.insecure(7)
    freed = weakref.ref(stream)
    assert stream in keystream._LIVE
    del stream
    assert freed() is None
