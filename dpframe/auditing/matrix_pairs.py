"""Pairs of matrices that are as far apart as a promise allows, chosen to expose privacy loss: synthetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe import hermitian
from dpframe.auditing.pair import Pair
from dpframe.errors import PlanError
from dpframe.lattice import FloatArray
from dpframe.reading.given_matrix import GivenMatrix
from dpframe.sources.matrices import open_matrix
from dpframe.spec.matrix import NORMS, Matrix

BACKGROUND = 1000.0  # the largest eigenvalue of a background, in bounds


def of_matrices(promise: Matrix) -> list[Pair]:
    """Worst-case neighbors for a promise about a matrix.

    Differences reach a promised bound: one direction; one direction against another, which moves scores the most; all
    directions with alternating signs, for a bound in Frobenius norm; off the diagonal; an entry of one triangle alone,
    of which half counts. They are added to nothing, to a background whose largest direction they may change, and to one
    of negative eigenvalues. Entries that are not finite, or beyond the largest, stand beside them; and entries between
    two points of the lattice move to different sides.

    Args:
        promise: the promise, with a known dimension.
    """
    dim = promise.known_dim
    top, last = np.zeros((2, dim))
    top[0] = last[-1] = 1.0
    signs = np.where(np.arange(dim) % 2, -1.0, 1.0)
    one_way, two_ways = np.outer(top, top), np.outer(top, top) - np.outer(last, last)
    across, lower = np.outer(top, last) + np.outer(last, top), np.outer(last, top)
    every_way = np.diag(signs)
    nothing = np.zeros((dim, dim))
    ground = np.diag(promise.length**2 * BACKGROUND * 0.5 ** np.arange(dim))
    lost, far = nothing.copy(), nothing.copy()
    lost[-1, 0], far[-1, 0] = np.nan, 1e300
    middle = 4.0**-promise.halvings  # entries are rounded to multiples of twice that
    settings = [
        ("one direction where there was nothing", nothing, one_way),
        ("one direction for another", nothing, two_ways),
        ("all directions, with alternating signs", nothing, every_way),
        ("off the diagonal", nothing, across),
        ("in one triangle only", nothing, lower),
        ("the top of a background for its bottom", ground, two_ways),
        ("across a background", ground, across),
        ("all directions of a background", ground, every_way),
        ("one direction of a negative background", -ground, one_way),
        ("beside an entry that is not a number", lost, one_way),
        ("beside an entry beyond the largest", far, one_way),
        ("between two points of the lattice", np.full((dim, dim), -middle), signs[:, None] * signs),
    ]
    phases = 1j ** np.arange(dim) if promise.complex else np.ones(dim)
    turn = np.outer(phases, phases.conj())  # a unitary change of coordinates: all norms stay as they are
    scaled = ((name, base, shape * _most(shape, promise)) for name, base, shape in settings)
    return [Pair(name, (base + moved) * turn, base * turn) for name, base, moved in scaled]


def _most(shape: FloatArray, promise: Matrix) -> float:
    """The factor by which a difference reaches the first promised bound; 0 for no difference, in one dimension."""
    bounds = {name: bound for name in NORMS if (bound := getattr(promise, name)) is not None}
    sizes = _sizes(shape)
    return min((float(bound / sizes[name]) for name, bound in bounds.items() if sizes[name] > 0.0), default=0.0)


def _sizes(difference: NDArray[Any]) -> dict[str, float]:
    """The norms of a difference, by the name of the promised bound."""
    values = np.linalg.svd(difference, compute_uv=False)
    return {"frobenius": math.sqrt(math.fsum(values**2)), "trace_norm": math.fsum(values)}


def check_apart(pair: Pair, promise: Matrix) -> None:
    """Raise PlanError unless two matrices, as they are taken, are as close as promised, up to their rounding.

    Args:
        pair: the pair.
        promise: the promise, with a known dimension.
    """
    one, other = (open_matrix(data, promise) for data in (pair.one, pair.other))
    sizes = _sizes(_taken(one, promise) - _taken(other, promise))
    rounding = 3 * promise.known_dim**1.5 * promise.step**2
    for name, words in NORMS.items():
        bound = getattr(promise, name)
        if bound is not None and sizes[name] > bound * (1 + 1e-9) + rounding:
            raise PlanError(
                f"{pair.name}: these are not neighbors under a promise of {name}={bound:g}: the matrices are "
                f"{sizes[name]:.6g} apart in {words}."
            )


def _taken(matrix: GivenMatrix, promise: Matrix) -> NDArray[Any]:
    """The symmetric or Hermitian part of a matrix as it is taken, from the lattice."""
    floats = matrix.moment(promise).astype(np.float64) * promise.step**2
    return hermitian.as_complex(floats) if promise.complex else floats
