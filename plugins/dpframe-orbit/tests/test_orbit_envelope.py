"""The envelope of a Bingham law: what is proved of it holds, and how many proposals it accepts."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from flint import fmpz_mat
from scipy import integrate, special

import dpframe.plugin as dp
from dpframe_orbit import envelope
from dpframe_orbit.envelope import SHRINK_BITS, VECTOR_BITS, Envelope, best_b

EIGH = np.linalg.eigh
ROW = 2.0**32  # the squared length of a row, in lattice units
LEAST_SHARE = 0.03
"""Of proposals are accepted, divided by the root of the dimension; docs/explanation/bingham.md has the proof."""


def moment(dim: int, count: int = 300, seed: int = 1) -> Any:
    values = np.random.default_rng(seed).integers(-30_000, 30_000, (count, dim)) * np.arange(1, dim + 1) // dim
    return values.T @ values


MATRICES = {
    "generic": moment(5),
    "ties": np.diag([7, 7, 3, 3, 3]) * 10**12,
    "nothing": np.zeros((4, 4), np.int64),
    "one row": np.outer([30_000, -12_345, 999], [30_000, -12_345, 999]),
    "one coordinate": np.array([[12345]]),
    "many rows": moment(6) * 2**20,
    "beyond 64 bits": moment(4).astype(object) * 2**100 + np.diag([1, 2, 3, 4]),
}


def faulty(matrix: Any) -> Any:
    """Orthonormal vectors that are not eigenvectors."""
    values, vectors = EIGH(matrix)
    turn, _ = np.linalg.qr(np.eye(len(values)) + 1e-2 * np.random.default_rng(2).standard_normal((len(values),) * 2))
    return values, vectors @ turn


def not_orthonormal(matrix: Any) -> Any:
    values, vectors = EIGH(matrix)
    return values, vectors * (1 + 1e-6)


def nonsense(matrix: Any) -> Any:
    return np.zeros(len(matrix)), np.full_like(matrix, np.nan)


def stuck(matrix: Any) -> Any:
    raise np.linalg.LinAlgError("did not converge")


def floats(found: envelope.Eigenvectors) -> Any:
    return np.array([[int(entry) for entry in row] for row in found.vectors.tolist()], dtype=object) / 2**found.bits


def excess(law: Envelope) -> float:
    """The smallest eigenvalue of κ(cI − M) − (b/2)((BBᵀ)⁻¹ − I) in the basis V, computed in floats."""
    vectors = floats(law.eigenvectors).astype(np.float64)
    shrink = (law.shrink / 2**SHRINK_BITS).astype(np.float64)
    shifted = law.top * np.eye(law.dim, dtype=object) - law.matrix
    inner = law.rate * (vectors.T @ shifted.astype(np.float64) @ vectors)
    form = inner + law.b / 2 * (vectors.T @ vectors - np.diag(shrink**-2))
    return float(np.linalg.eigvalsh((form + form.T) / 2)[0])


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("solver", [EIGH, faulty, not_orthonormal, nonsense, stuck])
def test_the_envelope_lies_above_the_law_whatever_the_solver_returns(
    name: str, strength: float, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = MATRICES[name]
    size = max(float(np.trace(matrix)), ROW)
    monkeypatch.setattr(np.linalg, "eigh", solver)
    law = Envelope.of(matrix, strength / size)
    monkeypatch.undo()
    assert 0 < law.b <= law.dim
    assert excess(law) >= -1e-9 * (1 + strength)
    assert law.rate * (law.top - max(law.eigenvectors.values)) <= 2 * envelope.LARGEST_COST + 2 * law.rate
    exact = 1 / (1 + 2 * law.rate * np.array([float(law.top - v) for v in law.eigenvectors.values]) / law.b)
    assert np.all((law.shrink / 2**SHRINK_BITS).astype(np.float64) ** 2 >= exact * (1 - 1e-12))


@pytest.mark.parametrize("name", MATRICES)
def test_the_stated_bounds_hold_exactly(name: str) -> None:
    """o and r against exact integers, for float vectors and for those of 128 bits."""
    matrix = MATRICES[name]
    rate = 1 / max(float(np.trace(matrix)), ROW)
    for found in (
        envelope._eigenvectors(matrix, rate),
        envelope._precise(matrix, np.eye(len(matrix)), rate),
    ):
        unit, vectors = 1 << found.bits, found.vectors
        gamma = fmpz_mat([[v if i == j else 0 for j in range(len(matrix))] for i, v in enumerate(found.values)])
        residual = fmpz_mat(matrix.tolist()) * vectors - vectors * gamma
        overlap = vectors.transpose() * vectors - fmpz_mat(np.eye(len(matrix), dtype=int).tolist()) * unit**2
        lengths = [math.sqrt(sum(int(entry) ** 2 for entry in each.entries())) for each in (residual, overlap)]
        assert lengths[0] / unit <= found.residual
        assert lengths[1] / unit**2 <= found.overlap


def test_bounds_that_are_too_small_are_noticed() -> None:
    """What the tests above compare with would tell: with the bounds of a poor decomposition left out, (1) fails."""
    matrix = MATRICES["generic"]
    law = Envelope.of(matrix, 1e4 / float(np.trace(matrix)))
    turned = faulty(matrix.astype(np.float64))[1]
    poor = attrs.evolve(
        law.eigenvectors, vectors=fmpz_mat(np.rint(turned * 2.0**VECTOR_BITS).astype(np.int64).tolist())
    )
    assert excess(attrs.evolve(law, eigenvectors=poor)) < -1.0


def test_large_data_is_proved_in_floats_and_larger_data_with_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = moment(40, 4000)
    used = Envelope.of(matrix * 250, 1 / ROW).eigenvectors  # a million rows
    assert VECTOR_BITS == used.bits
    precise = Envelope.of(moment(6) * 2**20, 1e9 / ROW).eigenvectors
    assert dp.eigensolver.FIXED == precise.bits
    assert 1e9 / ROW * precise.margin(1e9 / ROW) <= 1.0  # rounding of Γ to integers: nothing is lost even there


@pytest.mark.parametrize("dim", [1, 2, 3, 20, 200])
def test_the_best_b_solves_its_equation(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for scale in (0.0, 0.1, 10.0, 1e4, 1e9):
        costs = np.sort(rng.exponential(scale, dim) if scale else np.zeros(dim))
        costs -= costs[0]
        b = best_b(costs)
        assert 0 < b <= dim
        assert float(np.sum(1 / (b + 2 * costs))) == pytest.approx(1.0, rel=1e-9)


def density_at_one(weights: Any) -> float:
    """Of Q = Σ w_i g_i² at 1, from its characteristic function."""
    w = np.asarray(weights)

    def integrand(t: float) -> float:
        turn, size = float(np.arctan(2 * w * t).sum()) / 2 - t, float(np.log1p((2 * w * t) ** 2).sum()) / 4
        return math.cos(turn) * math.exp(-size)

    return float(integrate.quad(integrand, 0, 200, limit=4000)[0]) / math.pi


def share_accepted(weights: Any) -> float:
    """E[exp(−(m/2)(1/v − 1 + log v))], v = m·Σ w_i g_i²/‖g‖²: what formula (2) accepts, by simulation."""
    dim = len(weights)
    squares = np.random.default_rng(3).standard_normal((200_000, dim)) ** 2
    v = dim * (squares @ weights) / squares.sum(axis=1)
    return float(np.mean(np.exp(-dim / 2 * (1 / v - 1 + np.log(v)))))


@pytest.mark.parametrize("costs", [np.linspace(0, 3, 6), np.geomspace(1, 1e3, 12) - 1, np.zeros(4)])
def test_the_share_of_accepted_proposals_is_a_density_of_a_quadratic_form(costs: Any) -> None:
    """Times Γ(m/2)(2e/m)^{m/2}, which is at least √(4π/m); simulation errors are below 0.002."""
    dim, weights = len(costs), 1 / (best_b(costs) + 2 * costs)
    factor = math.exp(special.gammaln(dim / 2) + dim / 2 - dim / 2 * math.log(dim / 2))
    assert factor >= math.sqrt(4 * math.pi / dim)
    assert share_accepted(weights) == pytest.approx(factor * density_at_one(weights), abs=0.01)


def test_the_least_share_of_accepted_proposals() -> None:
    """The constants of the proof, and shares far above them."""
    certain = 1 - 1 / (2 * math.pi**2)  # F is not above this
    s = 0.0116
    assert (s / (s + 1)) ** s > certain  # so s is larger than this
    floats_cost = math.exp(-4 * envelope.LARGEST_COST)
    assert math.sqrt(4 * math.pi) * s * (s / (s + 1)) ** s * floats_cost > LEAST_SHARE
    rng = np.random.default_rng(4)
    for dim in (2, 5, 30):
        for concentration in (0.05, 0.3, 3.0):
            share = share_accepted(rng.dirichlet(np.full(dim, concentration)))
            assert share * math.sqrt(dim) > 20 * LEAST_SHARE
