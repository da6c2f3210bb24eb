"""Errors of a Gaussian release and of values derived from it: forecasts, proved bounds and published rates.

Values are root mean squares, √E‖·‖², which are never below the mean, unless they have a confidence. They are for the
noise before it is rounded to the lattice; rounding moves no entry by more than half of a squared lattice step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

import dpframe.plugin as dp
from dpframe_gaussian import dyson, first_order, gap_free, rates
from dpframe_gaussian.mechanism import SymmetricGaussian
from dpframe_gaussian.noise import Noise
from dpframe_gaussian.target import Floats, Target

GAP_FACTOR = 10.0  # gaps of this many s√d: first-order forecasts are within a few percent of simulation
BETA = 0.05  # the probability with which a bound with a confidence may fail
ROOT_MEAN_SQUARE = "root mean square"
PAPER = "Mangoubi and Vishnoi 2022"
PROOF = "docs/explanation/gaussian-error.md"


@attrs.frozen(eq=False)
class Question:
    """A step that is the Gaussian release, or computed from it alone.

    Args:
        rows: with the dimension of the scenario.
        source: the name of the release.
        noise: the deviations of its noise, in the units of the data.
        dim: the number of coordinates.
        target: what is derived from it, for the assumed eigenvalues; None for the release itself.
        difference: what the error measures, in words.
        refuted: the assumption that no row is scaled down, if the scenario contradicts it; every value rests on it.
    """

    rows: dp.Rows
    source: str
    noise: Noise
    dim: int
    target: Target | None
    difference: str
    refuted: tuple[dp.Assumption, ...] = ()

    def limited(self, bounds: Iterable[dp.Bound]) -> list[dp.Bound]:
        """The bounds, with the refuted assumption added and, except for forecasts, their values removed."""
        if not self.refuted:
            return list(bounds)
        return [
            attrs.evolve(
                bound,
                value=bound.value if bound.kind == "forecast" else None,
                assumptions=(*bound.assumptions, *self.refuted),
            )
            for bound in bounds
        ]

    def norm(self, norm: str = "Frobenius", figure: str = "") -> str:
        """The norm of a bound, in words."""
        return f"{norm}, of {self.difference}" + (f"; {figure}" if figure else "")


def asked(plan: dp.Plan, step: str, scenario: dp.Scenario, *, also_complex: bool = False) -> Question | None:
    """The question about a step; None if it is not about uncentered Gaussian noise, or no spectrum is assumed.

    Args:
        plan: the plan.
        step: the step.
        scenario: the assumed data.
        also_complex: whether it may be about complex rows, for which most bounds are not derived.
    """
    if plan.rows.center or not plan.same_public_rows or (plan.rows.complex and not also_complex):
        return None
    actions: dict[str, Any] = {part.name: part.action for part in plan.steps}
    action = actions[step]
    of = getattr(action, "of", None)
    source = step if isinstance(action, SymmetricGaussian) else of.name if isinstance(of, dp.Ref) else None
    if source is None or not isinstance(actions[source], SymmetricGaussian):
        return None
    target = (None, "the noise") if source == step else _target(action, scenario)
    if target is None:
        return None
    rows = plan.rows.bind(scenario.dim)
    scales = actions[source].noise(rows, plan.pricing.levels[source])
    noise = Noise(scales["diagonal"], scales["off-diagonal"], complex=rows.complex)
    return Question(rows, source, noise, scenario.dim, *target, refuted=_too_long(rows, scenario))


def _too_long(rows: dp.Rows, scenario: dp.Scenario) -> tuple[dp.Assumption, ...]:
    """The refuted assumption, if the assumed rows are on average longer than the norm to which they are scaled down."""
    if scenario.n is None or scenario.eigenvalues is None or isinstance(rows, dp.Matrix):
        return ()
    square, most = float(scenario.eigenvalues.sum()) / scenario.n, rows.length**2
    if square <= most * (1 + 1e-9):
        return ()
    text = f"no row is scaled down: the mean squared length is {square:.4g}; it must be at most {most:.4g}, the norm's"
    return (dp.Assumption(text=text, holds=False),)


def _target(action: Any, scenario: dp.Scenario) -> tuple[Target | None, str] | None:
    sigma = scenario.eigenvalues
    if sigma is None:
        return None
    if isinstance(action, dp.postprocess.TopSubspace):
        return Target.subspace(sigma, action.k), "the difference of projectors"
    if isinstance(action, dp.postprocess.RankK):
        return Target.rank_k(sigma, action.k), "the difference of rank-k parts"
    if isinstance(action, dp.postprocess.WithSpectrum) and isinstance(action.spectrum, dp.Spectrum):
        return Target.with_spectrum(sigma, action.spectrum.array), "the difference of matrices with this spectrum"
    return None


class FirstOrder(dp.BoundOracle):
    """Expected error to first order in the noise, capped at the largest possible distance.

    See :func:`dpframe_gaussian.first_order.forecast`; for the release itself, √E‖N‖² without approximation.
    """

    name = "first-order"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        question = asked(plan, step, scenario, also_complex=True)
        if question is None:
            return []
        target, noise = question.target, question.noise
        covered = "" if noise.isotropic else "; for isotropic noise of √2 times the off-diagonal deviation, never less"
        forecasts = [
            dp.Bound(
                name="first-order",
                value=noise.frobenius(question.dim) if target is None else first_order.forecast(target, noise),
                norm=question.norm(figure=ROOT_MEAN_SQUARE),
                kind="forecast",
                explicit=True,
                assumptions=() if target is None else _wide_enough(target, noise),
                citation="exact: the sum of the variances of all entries"
                if target is None
                else f"perturbation theory; compare {PAPER}, Theorem 2.2{covered}",
            )
        ]
        return question.limited(forecasts)


def _wide_enough(target: Target, noise: Noise) -> tuple[dp.Assumption, ...]:
    at, gap = target.tightest
    text = f"the gap below eigenvalue {at} is at least {GAP_FACTOR:g} s√d"
    holds = gap >= GAP_FACTOR * noise.scale * math.sqrt(target.dim)
    return (dp.Assumption(text=text, holds=holds),) if math.isfinite(gap) else ()


class Dyson(dp.BoundOracle):
    """Proved bounds with all constants: by Dyson Brownian motion where gaps are large enough, and others for any gaps.

    See :mod:`dpframe_gaussian.dyson` and :mod:`dpframe_gaussian.gap_free`. Where a gap is too small a bound has no
    value, and its assumption states which gap and how large it would have to be.
    """

    name = "dyson"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        question = asked(plan, step, scenario)
        if question is None:
            return []
        if question.target is None:
            return question.limited(_of_noise(question))
        return question.limited([*_by_motion(question, question.target), *_any_gap(question, question.target)])


def proved(name: str, value: float | None, norm: str, beta: float | None = None, **about: Any) -> dp.Bound:
    """A proved bound on a mean, or one with the confidence 1 − β."""
    return dp.Bound(
        name=name if beta is None else f"{name}, {1 - beta:.0%} sure",
        value=value,
        norm=norm,
        kind="upper-mean" if beta is None else "upper-probability",
        explicit=True,
        confidence=None if beta is None else 1 - beta,
        **about,
    )


def _of_noise(question: Question) -> Iterator[dp.Bound]:
    noise, dim = question.noise, question.dim
    spectral = question.norm("spectral")
    yield proved(
        "sum of variances",
        noise.frobenius(dim),
        question.norm(figure=ROOT_MEAN_SQUARE),
        citation=f"exact, for the root mean square; {PROOF}",
    )
    yield proved(
        "Sudakov–Fernique",
        noise.spectral(dim),
        question.norm("spectral", ROOT_MEAN_SQUARE),
        citation=f"Sudakov–Fernique and Poincaré inequalities; {PROOF}",
    )
    citation = f"Gaussian concentration; {PROOF}"
    yield proved("concentration", noise.spectral_quantile(dim, BETA), spectral, BETA, citation=citation)
    yield proved("concentration", noise.frobenius_quantile(dim, BETA), question.norm(), BETA, citation=citation)


def _by_motion(question: Question, target: Target) -> Iterator[dp.Bound]:
    noise, theorem = question.noise, "Corollary 2.3" if target.kept else "Theorem 2.2"
    stays = dyson.stays(target, noise) if noise.isotropic else []
    most, most_likely = gap_free.largest(target, noise), gap_free.largest_quantile(target, noise, BETA)
    mean = min(dyson.mean(stays), most) if stays else None
    sure = dyson.concentrated(stays, noise, BETA)
    least, surely = noise.least_width(target.dim), dyson.needed_gap(target, noise, BETA)
    open_gap = _open_gap(target, noise, f"above {least:.4g} (2√2·s√d)", mean is not None)
    sure_gap = _open_gap(target, noise, f"above {surely:.4g} (for {1 - BETA:.0%} to be promised)", sure is not None)
    yield proved(
        "dyson",
        mean,
        question.norm(figure=ROOT_MEAN_SQUARE),
        assumptions=open_gap,
        citation=f"{PAPER}, {theorem}, with constants: {PROOF}",
    )
    yield proved(
        "dyson, Markov",
        None if mean is None else min(dyson.markov(mean, BETA), most_likely),
        question.norm(),
        BETA,
        assumptions=open_gap,
        citation=f"{PAPER}, Appendix E; {PROOF}",
    )
    yield proved(
        "dyson, concentration",
        None if sure is None else min(sure, most_likely),
        question.norm(),
        BETA,
        assumptions=open_gap if mean is None else sure_gap,
        citation=f"Gaussian concentration; {PROOF}",
    )


def _open_gap(target: Target, noise: Noise, must: str, holds: bool) -> tuple[dp.Assumption, ...]:
    """The assumption that the smallest relevant gap is wide enough, or that the noise is isotropic where it is not."""
    if not noise.isotropic:
        return (dp.Assumption(text="the noise has no preferred direction; noise='triangular' has", holds=False),)
    at, gap = target.tightest
    return (gap_assumption(at, gap, must, holds),) if math.isfinite(gap) else ()


def gap_assumption(at: int, gap: float, must: str, holds: bool) -> dp.Assumption:
    """The assumption that a gap is wide enough."""
    return dp.Assumption(text=f"the gap below eigenvalue {at} is {gap:.4g}; it must be {must}", holds=holds)


def _any_gap(question: Question, target: Target) -> Iterator[dp.Bound]:
    noise, norm = question.noise, question.norm(figure=ROOT_MEAN_SQUARE)
    citation = f"Davis–Kahan, telescoped as in {PAPER}, equations 37 to 42, with constants: {PROOF}"
    yield proved("any gap, Davis–Kahan", gap_free.davis_kahan(target, noise), norm, citation=citation)
    yield proved(
        "any gap, Hoffman–Wielandt",
        gap_free.hoffman_wielandt(target, noise),
        norm,
        citation=f"Hoffman–Wielandt inequality: {PROOF}",
    )
    sure = gap_free.davis_kahan_quantile(target, noise, BETA)
    yield proved("any gap, Davis–Kahan", sure, question.norm(), BETA, citation=citation)


class PrintedRates(dp.BoundOracle):
    """Published rates, with unknown constants set to one, for the ε and δ of the release alone.

    See :mod:`dpframe_gaussian.rates`. They are for the calibration and noise of the papers, and serve to
    compare spectra and ranks, not to predict sizes.
    """

    name = "printed-rates"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        question = asked(plan, step, scenario)
        if question is None or question.target is None or not 0 < question.target.k < question.dim:
            return []
        delta = plan.budget.delta
        epsilon = dp.accountant(plan.accountant).epsilon(plan.pricing.losses[question.source], delta)
        if not 0.0 < epsilon < math.inf:
            return []
        unit = dp.rounding.sqrt_up(dp.Moment().sensitivity(question.rows)["moment"].l2_squared) * question.rows.step**2
        papers = _Papers(question.target, question.norm(), unit, {"epsilon": epsilon, "delta": delta})
        return question.limited(papers.of_rank_k() if question.target.kept else papers.of_spectrum())


@attrs.frozen(eq=False)
class _Papers:
    """The rates for one target, in units of the sensitivity."""

    target: Target
    norm: str
    unit: float
    privacy: dict[str, float]

    def of_spectrum(self) -> Iterator[dp.Bound]:
        """The rates for a given spectrum, and for a projector."""
        k, values = self.target.k, self.target.values[: self.target.k]
        projector = bool((values == 1.0).all())
        gaps = self._assumption_2_1(2.0 if projector else float(values[0]))  # 2 as in Corollary 2.4
        rate = rates.theorem_2_2(self._sigma, values, **self.privacy)
        yield self._rate("rate, Theorem 2.2", rate, f"{PAPER}, Theorem 2.2", gaps)
        if projector:
            first = rates.corollary_2_4(self._sigma, k, **self.privacy)
            second = rates.corollary_2_4_even(self._sigma, k, **self.privacy)
            yield self._rate("rate, Corollary 2.4 (I)", first, f"{PAPER}, Corollary 2.4", gaps)
            yield self._rate("rate, Corollary 2.4 (II)", second, f"{PAPER}, Corollary 2.4", gaps, self._even())
            yield self._rate("rate, Analyze Gauss", first, "Dwork et al. 2014, Theorem 6", self._wide())
            score = rates.analyze_gauss_low_rank(self.target.dim, k, **self.privacy) * self.unit
            inner = self._rate("rate, inner product", score, "Dwork et al. 2014, Theorem 3 (upper) and 18 (lower)")
            yield attrs.evolve(inner, norm="shortfall of variance, ⟨P − P̂, M⟩")

    def of_rank_k(self) -> Iterator[dp.Bound]:
        """The rates for the rank-k part."""
        k, gaps = self.target.k, self._assumption_2_1(float(self._sigma[0]))
        rate = rates.corollary_2_3(self._sigma, k, **self.privacy)
        yield self._rate("rate, Corollary 2.3", rate * self.unit, f"{PAPER}, Corollary 2.3", gaps)
        open_gap = dp.Assumption(text=f"the gap below eigenvalue {k} is above 0", holds=self._last_gap > 0)
        rate = rates.telescoped(self._sigma, k, **self.privacy)
        yield self._rate("rate, telescoped Davis–Kahan", rate * self.unit, f"{PAPER}, equation 42", open_gap)
        rate = rates.analyze_gauss_low_rank(self.target.dim, k, **self.privacy)
        excess = self._rate("rate, Analyze Gauss", rate * self.unit, "Dwork et al. 2014, Theorem 7")
        yield attrs.evolve(excess, norm="Frobenius, of the excess over the best rank-k part: ‖M̂_k − M‖ − ‖M_k − M‖")

    @property
    def _sigma(self) -> Floats:
        return self.target.eigenvalues / self.unit

    @property
    def _last_gap(self) -> float:
        return float(self.target.gaps[self.target.k - 1])

    def _rate(self, name: str, value: float, where: str, *assumptions: dp.Assumption) -> dp.Bound:
        return dp.Bound(
            name=name,
            value=value if math.isfinite(value) and all(each.holds for each in assumptions) else None,
            norm=self.norm,
            kind="rate",
            explicit=False,
            assumptions=assumptions,
            citation=f"{where}; constant set to 1",
        )

    def _assumption_2_1(self, largest: float) -> dp.Assumption:
        k = self.target.k
        at, gap = rates.smallest_gap(self._sigma, k)
        needed = rates.needed_gap(self.target.dim, k, largest, **self.privacy)
        must = f"at least {needed * self.unit:.4g} (Assumption 2.1, for each of the first {k})"
        return gap_assumption(at, gap * self.unit, must, rates.assumption_2_1(self._sigma, k, largest, **self.privacy))

    def _even(self) -> dp.Assumption:
        k = self.target.k
        holds = bool(self.target.gaps[:k].min() >= self._last_gap)
        return dp.Assumption(text=f"no gap above the one below eigenvalue {k} is smaller", holds=holds)

    def _wide(self) -> dp.Assumption:
        needed = math.sqrt(self.target.dim) * rates.factor(**self.privacy) * self.unit
        must = f"at least of the order of {needed:.4g}"
        return gap_assumption(self.target.k, self._last_gap, must, self._last_gap >= needed)
