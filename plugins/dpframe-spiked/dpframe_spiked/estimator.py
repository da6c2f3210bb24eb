"""Algorithm 1 of Cai, Xia and Zha (2024): principal components and covariance, private under the spiked model only."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_spiked.grid_noise import GridNoise
from dpframe_spiked.marchenko_pastur import noise_variance
from dpframe_spiked.shifts import Model

MODEL = "spiked-covariance"
ESTIMATED = ("noise", "rank", "spike")
_SHAPES = {"triangular": 1.0, "goe": dp.rounding.sqrt_up(2) / 2}


def _check_private(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    words = isinstance(value, tuple) and all(word in ESTIMATED for word in value)
    if not words or len(set(value)) < len(value):
        raise dp.validators.refuse(owner, "private", "some of 'noise', 'rank', 'spike', each once", value)


def _positive(**field: Any) -> Any:
    return attrs.field(converter=dp.validators.as_float, validator=dp.validators.number(above=0.0), **field)


@attrs.frozen(kw_only=True)
class Spiked(dp.Mechanism):
    """Components or covariance of rows from the spiked covariance model, with noise fitted to that model.

    With Σ̂ = Σxxᵀ/n and its leading directions Û, noise of size Δ₁ is added to the projector ÛÛᵀ, whose leading
    directions Ũ are the components, and noise of size Δ₂ to Ũᵀ(Σ̂ − σ²I)Ũ = Λ̃; the covariance is ŨΛ̃Ũᵀ + σ²I. Here

        Δ₁ = C(σ²/λ_r + √(κσ²/λ_r)) √(p(r + ln n))/n,    Δ₂ = C(λ₁(r + ln n) + σ²(p + ln n))/n

    with κ = λ₁/λ_r bound how far replacing one row *by an independent copy* moves them, with high probability *for data
    from the model*. Rows not from the model are not protected: for arbitrary data the shifts have no such bound. The
    constant C is not known; the paper's experiments use 4.

    Args:
        rank, noise: r and σ² of the model, assumed known; upper bounds on those that are estimated.
        spike: λ₁ ≥ … ≥ λ_r in the same way, of which the first and the last are used (Corollary 1); one number λ stands
            for equal spikes (Lemma 2). Data whose spikes are not about equal needs all of them: for λ = (300, 10, 10)
            one of the two shifts exceeds what any single number allows.
        n: the number of rows, used by the formulas.
        output: "covariance", or "components" alone, for which nothing is spent on Λ̃.
        private: which of "noise" (§5.3), "rank" (§7.1) and "spike" (§7.2) to estimate, each with an equal share.
        constant: C.
        shape: "triangular", as printed, draws the upper triangle independently with variance s²; "goe" has half of
            that off the diagonal, which covers the same shift.

    Guarantee:
        Gaussian loss with mu = level under the model "spiked-covariance", rows replaced by independent copies; the
        parts share it equally. Not a worst-case guarantee. `printed_level` gives the level of the printed noise.

    References:
        Cai, Xia and Zha, "Optimal differentially private PCA and estimation for spiked covariance matrices", 2024,
        Algorithm 1, Lemmas 2 to 4 and Corollary 1.
    """

    name = "spiked"
    unit = "mu"
    law_unknown = "the noise of 'spiked' passes through an eigendecomposition that it does not release."
    smallest_level = 2.0**-30  # noise of up to dim · √parts / level steps is within the range of the sampler
    gives = dp.Covariance

    rank: int = attrs.field(validator=dp.validators.positive_int)
    n: int = attrs.field(validator=dp.validators.positive_int)
    spike: float | tuple[float, ...] = attrs.field(
        converter=dp.validators.as_floats, validator=dp.validators.descending
    )
    variance: float = attrs.field(
        alias="noise", converter=dp.validators.as_float, validator=dp.validators.number(above=0.0)
    )
    wanted: str = attrs.field(
        default="covariance", alias="output", validator=dp.validators.one_of("covariance", "components")
    )
    private: tuple[str, ...] = attrs.field(default=(), converter=dp.validators.as_tuple, validator=_check_private)
    constant: float = _positive(default=4.0)
    shape: str = attrs.field(default="triangular", validator=dp.validators.one_of(*_SHAPES))

    def __attrs_post_init__(self) -> None:
        if isinstance(self.spike, tuple) and len(self.spike) != self.rank:
            raise dp.PlanError(
                f"'spiked' has rank={self.rank}, but {len(self.spike)} spikes: give one for all directions, or as many."
            )

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Covariance if self.wanted == "covariance" else dp.Subspace

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        directions = None if "rank" in self.private else self.rank
        return rows.dim, rows.dim if self.wanted == "covariance" else directions

    def working_bytes(self, rows: dp.Rows) -> int:
        return 3 * 8 * rows.known_dim**2  # the covariance, its eigenvectors and a noisy projector

    def check(self, rows: dp.Rows) -> None:
        if rows.center or rows.neighbors != "replace" or rows.contributions != 1:
            raise dp.PlanError(
                "'spiked' is analyzed for rows that are replaced, one for each person, and have mean zero: "
                'dp.Rows(neighbors="replace", contributions=1, center=False).'
            )
        if rows.dim is not None and 2 * self.rank >= rows.dim:
            raise dp.PlanError(f"'spiked' needs a rank below half of the {rows.dim} coordinates; got rank={self.rank}.")
        if rows.dim is not None and self.private and self.rank >= min(rows.dim, self.n):
            raise dp.PlanError(f"'spiked' cannot estimate from {self.n} rows with a rank of up to {self.rank}.")

    def check_level(self, rows: dp.Rows, level: float) -> None:
        """Refuse noise, variances or norms so large or small that floats would overflow or divide by zero."""
        super().check_level(rows, level)
        if rows.dim is None:
            return
        numbers = [*self._ends, self.variance, *(() if rows.awaited else (1.0 + rows.length,))]
        try:
            model, factor = self._model(rows.dim), math.sqrt(self.parts) / level
            numbers += [shift * factor for shift in (model.projector_shift, model.eigenvalue_shift)]
            usable = all(1 / LARGEST <= number <= LARGEST for number in (float(self.n), *numbers))
        except (OverflowError, ZeroDivisionError):
            usable = False
        if not usable:
            raise dp.PlanError(
                f"'spiked' computes in floats, and needs n=, spike=, noise=, the norm of the rows and the noise that "
                f"follows from them at level {level:.3g} to be between {1 / LARGEST:g} and {LARGEST:g}."
            )

    @property
    def parts(self) -> int:
        """The number of releases that share the level."""
        return 1 + (self.wanted == "covariance") + len(self.private)

    @property
    def _ends(self) -> tuple[float, float]:
        """λ₁ and λ_r, the largest and the smallest spike."""
        return (self.spike[0], self.spike[-1]) if isinstance(self.spike, tuple) else (self.spike, self.spike)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        failure = (
            f"4n^-99 + exp(-c min(n, p)), n = {self.n}, for a constant c that is not known, provided that "
            f"C = {self.constant:g}, n and λ/σ² are large enough, which is not known either, and {self._needed}"
        )
        return dp.losses.ModelBased(loss=dp.losses.Gaussian(mu=level), model=MODEL, failure=failure)

    @property
    def _needed(self) -> str:
        """What the guarantee needs of the spikes."""
        largest, smallest = self._ends
        if "spike" in self.private:
            return (
                f"no spike is above {largest:g}, the largest is not estimated too small and the smallest not too large"
            )
        if isinstance(self.spike, tuple):
            return f"no spike is above {largest:g} or below {smallest:g}"
        if self.rank == 1:
            return f"the spike is about {largest:g}"
        needed = f"all {self.rank} spikes are about {largest:g}"
        return f"{needed} (one number does not cover unequal ones; give each, as spike=[...])"

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        sample = data.moment.astype(np.float64) * (data.rows.step**2 / self.n)
        values, vectors = np.linalg.eigh(sample)
        values, vectors = values[::-1], vectors[:, ::-1]
        draw = GridNoise(random, math.sqrt(self.parts) / level)
        model = self._estimated(values, draw)
        bounds = self._bounds(model)
        leading = vectors[:, : model.rank]
        noisy = draw.symmetric(leading @ leading.T, bounds.projector_shift, _SHAPES[self.shape])
        basis = dp.postprocess.TopSubspace(of=noisy, k=model.rank).apply().array
        if self.wanted == "components":
            return dp.Subspace(basis, axes=data.rows.axes)
        spread = basis.T @ (sample - model.variance * np.eye(len(sample))) @ basis
        inner = draw.symmetric((spread + spread.T) / 2, self._model(len(sample)).eigenvalue_shift, _SHAPES[self.shape])
        covariance = basis @ inner @ basis.T + model.variance * np.eye(len(sample))
        return dp.Covariance((covariance + covariance.T) / 2, axes=data.rows.axes)

    def law_error(self, rows: dp.Rows, level: float) -> float:
        """What rounding moves eigenvectors by, for data from the model, in deviations of the noise.

        Two Gaussians that are x deviations apart have a distance of at most x/2 in total variation.
        """
        model = self._model(rows.known_dim)
        rounding = model.dim * 2.0**-52 * (model.condition + model.variance / model.spike)
        return min(1.0, model.dim * rounding * level / (math.sqrt(self.parts) * model.projector_shift))

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """Components under the model, if the scenario is that model; the plan has to accept the model."""
        scenario = public["scenario"]
        if task != "subspace" or scenario.model != "spiked" or public["k"] != scenario.rank:
            return None
        model = {"rank": scenario.rank, "n": scenario.n, "spike": scenario.spike, "noise": scenario.noise}
        return [dp.release("components", cls.name, output="components", **model)]

    def _model(self, dim: int) -> Model:
        return Model(
            dim=dim,
            rows=self.n,
            rank=self.rank,
            spike=self._ends[1],
            largest=self._ends[0],
            variance=self.variance,
            constant=self.constant,
        )

    def _bounds(self, estimated: Model) -> Model:
        """The model for Δ₁: the given bounds on σ² and r, and the estimates of the spikes, up to their bounds.

        Δ₁ increases in σ² and λ₁ and decreases in λ_r. An estimate of σ² that its noise moves near zero would also
        remove the noise of the projector.
        """
        known = self._model(estimated.dim)
        if "spike" not in self.private:
            return known
        smallest = min(estimated.spike, known.spike)
        largest = min(max(estimated.largest, smallest), known.largest)
        return attrs.evolve(known, spike=smallest, largest=largest)

    def _estimated(self, values: dp.FloatArray, draw: GridNoise) -> Model:
        """The model with its estimated parameters, whose noise follows from the given bounds."""
        known = self._model(len(values))
        estimated = known
        if "noise" in self.private:
            shift = known.eigenvalue_shift / math.sqrt(min(len(values), self.n))
            (variance,) = draw.numbers(np.array([noise_variance(values, self.n)]), shift)
            estimated = attrs.evolve(estimated, variance=max(abs(variance), SMALLEST))
        if "rank" in self.private:
            noisy = np.maximum(draw.numbers(values[: self.rank + 1], known.eigenvalue_shift), SMALLEST)
            estimated = attrs.evolve(estimated, rank=1 + int(np.argmax(noisy[:-1] / noisy[1:])))
        if "spike" in self.private:
            noisy = draw.numbers(values[: estimated.rank], known.eigenvalue_shift) - estimated.variance
            smallest, largest = (max(float(each), SMALLEST) for each in (noisy.min(), noisy.max()))
            estimated = attrs.evolve(estimated, spike=smallest, largest=largest)
        return estimated


LARGEST = 1e60
"""Numbers up to this, and their inverses, can be squared, multiplied and divided without overflow."""

SMALLEST = 1e-12
"""A lower limit on estimated variances, spikes and eigenvalues."""


def printed_level(*, epsilon: float, delta: float, parts: int = 2) -> float:
    """The level at which `spiked` draws exactly the printed noise for (epsilon, delta).

    In the paper each of k parts is (epsilon/k, delta/k)-private, with the classical deviation
    Δ·k√(2 ln(1.25k/delta))/epsilon: halves give 8Δ² ln(2.5/delta)/epsilon², thirds 18Δ² ln(3.75/delta)/epsilon². A
    level solved from the budget has less noise, since Gaussian noise composes better than that.

    >>> round(2**0.5 / printed_level(epsilon=1.0, delta=1e-6), 4)
    10.8561
    """
    usable = dp.validators.is_finite(epsilon) and dp.validators.is_finite(delta) and dp.validators.is_int(parts)
    if not (usable and epsilon > 0 and 0 < delta < 1 and parts > 0):
        raise dp.PlanError(
            "the printed noise needs epsilon > 0, 0 < delta < 1 and at least one part; "
            f"got epsilon={epsilon!r}, delta={delta!r}, parts={parts!r}."
        )
    return epsilon / (math.sqrt(parts) * math.sqrt(2 * math.log(1.25 * parts / delta)))
