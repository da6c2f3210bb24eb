"""The digits of Cai, Xia and Zha (2024), Figure 4: three private directions of 1500 images.

They are read from the folder that the environment variable DPFRAME_DATA names, and may not be shipped.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from docs.experiments.covariances import FOLDER
from docs.experiments.spiked import METHODS, Case, Floats, leading

PER_DIGIT = 500


@attrs.frozen(kw_only=True)
class Digits:
    """The digits 1, 4 and 9 in three private directions.

    Args:
        explained: the share of the variance that the directions explain: 5 %, median and 95 % over seeds.
        best: the most that three directions can explain.
        scores: the digits in the first two directions of one seed, by method; without privacy under "".
        labels: which digit is which.
    """

    explained: dict[str, tuple[float, float, float]]
    best: float
    scores: dict[str, Floats]
    labels: NDArray[np.int64]


def mnist(trials: int = 20, *, standardized: bool = False, block: int = 0) -> Digits | None:
    """1500 digits of 14 × 14 pixels, r = 3, ε = 2, δ = 0.1; None where the file is not at hand.

    As in the paper, λ and σ² are read off the data (the mean of the three leading eigenvalues, and of the 50th to the
    140th): this is an experiment on public digits, not a private release.

    Args:
        trials: how many seeds.
        standardized: divide every pixel by its standard deviation. The paper does not say.
        block: which 500 of each digit, in the order of the file.
    """
    path = Path(os.environ.get(FOLDER, "")) / "mnist_149.npz"
    if not path.is_file():
        return None
    rows = digits(path, block)
    if standardized:
        deviations = rows.std(axis=0)
        rows = rows / np.where(deviations > 0.0, deviations, 1.0)
    n, p = rows.shape
    values = np.linalg.eigvalsh(rows.T @ rows / n)[::-1]
    noise = float(values[49:140].mean())
    scaled = rows / math.sqrt(noise)  # unit noise, as everywhere here
    case = Case(n=n, p=p, r=3, spike=float(values[:3].mean()) / noise - 1.0, epsilon=2.0)
    found, scores = {}, {"": rows @ leading(rows.T @ rows, 2)}
    for method in METHODS:
        released = [case.released(method, "components", scaled, seed) for seed in range(trials)]
        shares = [float(np.square(rows @ leading(each, case.r)).sum() / np.square(rows).sum()) for each in released]
        low, middle, high = np.quantile(shares, (0.05, 0.5, 0.95)).tolist()
        found[method], scores[method] = (low, middle, high), rows @ leading(released[0], 2)
    best = float(values[:3].sum() / values.sum())
    return Digits(explained=found, best=best, scores=scores, labels=np.repeat([1, 4, 9], PER_DIGIT))


def digits(path: Path, block: int) -> Floats:
    """500 of each digit, pixels averaged in squares of four, on [0, 1], centered."""
    with np.load(path, allow_pickle=False) as archive:
        images, labels = archive["X"], archive["y"]
    chosen = np.concatenate([np.flatnonzero(labels == digit)[block * PER_DIGIT :][:PER_DIGIT] for digit in (1, 4, 9)])
    small = images[chosen].astype(np.float64).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255
    rows = small.reshape(len(small), 196)
    return np.asarray(rows - rows.mean(axis=0), dtype=np.float64)
