"""Components under pure differential privacy: one draw for all, one direction at a time, and peers."""

from __future__ import annotations

import math
import statistics
import tempfile
from pathlib import Path

import numpy as np

import dpframe.plugin as dp
from benchmarks import environment
from benchmarks.direction import real_direction
from benchmarks.environment import PeerError
from benchmarks.table import Row, Table, at_least, at_most
from benchmarks.timing import Turns
from dpframe.lattice import FloatArray
from dpframe.noise import Keystream

SEEDS = range(1, 13)
EPSILON = 1.0
SPIKE = 10.0
COUNT, DIM = 10_000, 20
RANKS = (1, 2, 3, 4, 6)
JOINT, ONE_BY_ONE = "orbit (all at once)", "bingham (one at a time)"
WANTED_RANK, WANTED = 4, 0.65
PEERS = ("diffprivlib", "opendp")
PATIENCE = 60.0  # seconds that a peer has for one fit
PEER_RANK = 4
DRAWS = 20_000
EXACT = 0.72319  # (1 + I₁(1)/I₀(1))/2


def measure(turns: Turns) -> Table:
    """Every number of components by both mechanisms, the peers at one of them, and everybody's Bingham draw."""
    turns.progress.expect(len(RANKS) * len(SEEDS) + 2 * len(PEERS) + 1)
    rows = [row for k in RANKS for row in _ours(k, turns)]
    notes = [
        f"ε = {EPSILON:g}, δ = 0, add-remove; spiked rows {COUNT:,} × {DIM}: k orthonormal directions of variance "
        f"{SPIKE:g} on top of unit variance, public radius R² = (k + 4 ln n)·{SPIKE:g} + d. Median of {len(SEEDS)} "
        "seeds. Error: ‖ÛÛᵀ − UUᵀ‖ in Frobenius norm, U the top eigenvectors of the moment without noise.",
        f"Peers: the PCA of each library at the same ε and radius, one seed, {PATIENCE:g} s at most. The mean of x₁²: "
        f"of a Bingham vector with density exp(2x₁²) on the circle, over {DRAWS:,} draws; exact: {EXACT:.4f}.",
    ]
    for peer in PEERS:
        try:
            rows += _peer(peer, turns)
        except PeerError as error:
            notes.append(f"{peer} was not measured: {error}.")
    return Table(title="Components under pure privacy", notes=tuple(notes), rows=(*rows, _circle(turns)))


def _data(k: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((DIM, k)))[0]
    rows: FloatArray = math.sqrt(SPIKE) * rng.standard_normal((COUNT, k)) @ basis.T + rng.standard_normal((COUNT, DIM))
    return rows


def _norm(k: int) -> float:
    return math.sqrt((k + 4 * math.log(COUNT)) * SPIKE + DIM)


def _error(found: FloatArray, rows: FloatArray) -> float:
    k = found.shape[1]
    true = np.linalg.eigh(rows.T @ rows)[1][:, -k:]
    return float(np.linalg.norm(found @ found.T - true @ true.T))


def _ours(k: int, turns: Turns) -> list[Row]:
    steps = {
        JOINT: [
            dp.release("estimate", "orbit", spectrum=[1.0] * k),
            dp.derive("components", "top-subspace", of="estimate", k=k),
        ],
        ONE_BY_ONE: [dp.release("components", "bingham", k=k)],
    }
    errors: dict[str, list[float]] = {method: [] for method in steps}
    for seed in SEEDS:
        turns.progress.says(f"k = {k}, seed {seed}")
        rows = _data(k, seed)
        for method, written in steps.items():
            promised = dp.Rows(norm=_norm(k), neighbors="add-remove")
            plan = dp.Plan(rows=promised, budget=dp.Budget(epsilon=EPSILON), steps=written)
            errors[method].append(_error(plan.run(rows, insecure_seed=seed)["components"], rows))
        turns.progress.advance()
    medians = {method: statistics.median(values) for method, values in errors.items()}
    ratio = medians[JOINT] / medians[ONE_BY_ONE]
    joint = Row(what=f"k = {k}", figures={"method": JOINT, "error": medians[JOINT], "ratio": ratio})
    if k == WANTED_RANK:
        goal, verdict = f"ratio at most {WANTED:g}", at_most(ratio, WANTED)
        joint = Row(what=joint.what, figures=joint.figures, goal=goal, verdict=verdict)
    return [joint, Row(what=f"k = {k}", figures={"method": ONE_BY_ONE, "error": medians[ONE_BY_ONE]})]


def _peer(peer: str, turns: Turns) -> list[Row]:
    rows = _data(PEER_RANK, SEEDS[0])
    turns.progress.says(f"{peer}, the mean of x₁²")
    with tempfile.TemporaryDirectory() as folder:
        squares, source, target = (Path(folder) / name for name in ("squares.npy", "rows.npy", "found.npy"))
        environment.run("circle.py", peer, str(DRAWS), str(squares))
        mean = float(np.load(squares).mean())
        turns.progress.advance()
        turns.progress.says(f"{peer}, k = {PEER_RANK}")
        np.save(source, rows)
        arguments = (peer, str(EPSILON), str(PEER_RANK), str(_norm(PEER_RANK)), str(source), str(target))
        finished = environment.run("pca.py", *arguments, seconds=PATIENCE)
        error = _error(np.load(target), rows) if finished else f"did not finish in {PATIENCE:g} s"
        turns.progress.advance()
    return [Row(what=f"k = {PEER_RANK}", figures={"method": f"{peer}, PCA", "error": error, "mean of x₁²": mean})]


def _circle(turns: Turns) -> Row:
    turns.progress.says("mean of x₁²")
    random, costs = dp.Random(Keystream.insecure(1)), np.array([0.0, 2.0])
    mean = statistics.fmean(real_direction(costs, random)[0] ** 2 for _ in range(DRAWS))
    turns.progress.advance()
    closeness = -abs(mean - EXACT)
    return Row(
        what="direction on the circle",
        figures={"method": "bingham", "mean of x₁²": mean},
        goal="mean of x₁² within 0.01",
        verdict=at_least(closeness, -0.01),
    )
