"""The source that mechanisms are handed, and what it refuses."""

import doctest
import pickle
import types
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpframe.noise
from dpframe.noise import (
    Keystream,
    Random,
    gaussian,
    keystream,
    laplace,
    normals,
    random,
    rounded,
    rounded_gaussian,
    rounded_laplace,
)


def test_names() -> None:
    names = ["Keystream", "Normals", "Random", "exponential_choice", "rounded_gaussian", "rounded_laplace"]
    assert dpframe.noise.__all__ == names


@pytest.mark.parametrize("size", [0, 5, (), (2, 3), (0, 4), np.int64(3)])
def test_shape_and_type(size: Any) -> None:
    random = Random(Keystream.insecure(7))
    for draw in (random.gaussian, random.laplace):
        results = draw(3.0, size)
        assert np.empty(size).shape == results.shape
        assert np.int64 == results.dtype


def test_samples_are_those_of_the_stream() -> None:
    random, stream = Random(Keystream.insecure(7)), Keystream.insecure(7)
    assert rounded_gaussian(stream, 9.0, 6).tolist() == random.gaussian(9.0, (2, 3)).ravel().tolist()
    assert rounded_laplace(stream, 9.0, 6).tolist() == random.laplace(9.0, 6).tolist()
    assert stream.words(2).tolist() == random.words(2).tolist()
    assert stream.child("a").words(2).tolist() == random.child("a").words(2).tolist()


def test_positions() -> None:
    random = Random(Keystream.insecure(7))
    random.words(3)
    first = random.gaussian(9.0, 100_001).tolist()
    assert random.tell() == 100_004
    random.seek(3)
    assert first == random.gaussian(9.0, 100_001).tolist()


def test_private() -> None:
    assert Random(Keystream.secure()).child("a").private
    assert not Random(Keystream.insecure(7)).child("a").private
    assert repr(Random(Keystream.insecure(7))) == "Random(keystream=<Keystream from a seed, NOT PRIVATE>)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Random(Keystream.secure()))


@pytest.mark.parametrize("scale", [0.0, -0.0, -1.0, float("nan"), float("inf"), 2.0**57, 2**53 + 1, "1", None, 1j])
def test_bad_scales(scale: Any) -> None:
    random = Random(Keystream.insecure(7))
    with pytest.raises(ValueError, match=r"^rounded_gaussian: sigma must be a finite number in \(0, 2\*\*56\]; got "):
        random.gaussian(scale, 3)
    with pytest.raises(ValueError, match=r"^rounded_laplace: scale must be a finite number in \(0, 2\*\*52\]; got "):
        random.laplace(scale, 3)
    assert random.tell() == 0


def test_message_has_the_value() -> None:
    message = r"^rounded_gaussian: sigma must be a finite number in \(0, 2\*\*56\]; got -1\.0\.$"
    with pytest.raises(ValueError, match=message):
        rounded_gaussian(Keystream.insecure(7), -1.0, 3)
    with pytest.raises(ValueError, match=r"got Fraction\(1, 3\)\.$"):
        rounded_gaussian(Keystream.insecure(7), Fraction(1, 3), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [3, np.float64(3), np.float32(3), np.int64(3), Fraction(3)])
def test_exact_scales_of_other_types(scale: Any) -> None:
    assert rounded_gaussian(Keystream.insecure(7), 3.0, 50).tolist() == (
        rounded_gaussian(Keystream.insecure(7), scale, 50).tolist()
    )


@pytest.mark.parametrize("size", [-1, 2.5, "3", None, (2, -1), (2, 2.5), [2, 3]])
def test_bad_sizes(size: Any) -> None:
    random = Random(Keystream.insecure(7))
    for draw in (random.gaussian, random.laplace):
        with pytest.raises(ValueError, match=r"^Random: size must be a non-negative integer or a tuple of such; got "):
            draw(1.0, size)
    for sampler in (rounded_gaussian, rounded_laplace):
        with pytest.raises(ValueError, match="size must be a non-negative integer; got "):
            sampler(Keystream.insecure(7), 1.0, size)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-3])
def test_tiny_scales_give_zeros(scale: float) -> None:
    random = Random(Keystream.insecure(7))
    assert not random.gaussian(scale, 100_000).any()
    assert not random.laplace(scale, 100_000).any()


@pytest.mark.parametrize(("draw", "scale"), [("gaussian", 2.0**56), ("laplace", 2.0**52)])
def test_largest_scales(draw: str, scale: float) -> None:
    results = getattr(Random(Keystream.insecure(7)), draw)(scale, 3_000)
    assert scale < np.abs(results).max() < 40 * scale
    assert abs(np.mean(results / scale)) < 0.2
    assert len(np.unique(results & 15)) == 16


@pytest.mark.parametrize("module", [random, gaussian, keystream, laplace, normals, rounded])
def test_examples(module: types.ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.failed == 0
    assert found.attempted > 0 or module is rounded
