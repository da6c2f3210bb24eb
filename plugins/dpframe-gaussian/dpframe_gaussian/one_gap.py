"""What is proved of components and rank-k parts of a Gaussian release from the gap below eigenvalue k alone."""

from __future__ import annotations

from collections.abc import Iterator

import dpframe.plugin as dp
from dpframe_gaussian import excess, gap_free, kth_gap
from dpframe_gaussian.oracles import BETA, PAPER, ROOT_MEAN_SQUARE, Question, asked, gap_assumption, proved
from dpframe_gaussian.target import Target

PROOF = "docs/explanation/kth-gap.md"
BLOCKS = f"perturbation of blocks: {PROOF}"


class OneGap(dp.BoundOracle):
    """Proved bounds with all constants that use no gap but the one below eigenvalue k, and bounds on the objective.

    See :mod:`dpframe_gaussian.kth_gap` and :mod:`dpframe_gaussian.excess`. In Frobenius norm there is a number if the
    gap is above about s√2(√k + √(d − k)); in spectral norm, and for the objective, there always is.
    """

    name = "one-gap"

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        question = asked(plan, step, scenario, also_complex=True)
        if question is None or question.target is None or not 0 < question.target.k < question.dim:
            return []
        found = list(_of_objective(question, question.target))
        if kth_gap.applies(question.target, question.noise):
            found = [*_of_result(question, question.target), *found]
        return question.limited(found)


def _of_result(question: Question, target: Target) -> Iterator[dp.Bound]:
    """Bounds on the error of the result itself."""
    noise, gap, least = question.noise, float(target.gaps[target.k - 1]), kth_gap.least_width(target, question.noise)
    mean, sure = kth_gap.frobenius(target, noise), kth_gap.frobenius_quantile(target, noise, BETA)
    most, most_likely = gap_free.hoffman_wielandt(target, noise), gap_free.largest_quantile(target, noise, BETA)
    must = f"above {least:.4g} (about {'2s' if noise.complex else 's√2'}(√k + √(d − k)))"
    yield proved(
        "k-th gap",
        None if mean is None else min(mean, most),
        question.norm(figure=ROOT_MEAN_SQUARE),
        assumptions=(gap_assumption(target.k, gap, must, mean is not None),),
        citation=BLOCKS,
    )
    yield proved(
        "k-th gap",
        None if sure is None else min(sure, most_likely),
        question.norm(),
        BETA,
        assumptions=(gap_assumption(target.k, gap, f"{must}, by a few s", sure is not None),),
        citation=BLOCKS,
    )
    norm = question.norm("spectral", ROOT_MEAN_SQUARE)
    yield proved("k-th gap", kth_gap.spectral(target, noise), norm, citation=BLOCKS)
    value = kth_gap.spectral_quantile(target, noise, BETA)
    yield proved("k-th gap", value, question.norm("spectral"), BETA, citation=BLOCKS)


def _of_objective(question: Question, target: Target) -> Iterator[dp.Bound]:
    """Bounds on how much worse than the best the result is."""
    if target.kept:
        norm = "excess over the best rank-k part, ‖M̂_k − M‖ − ‖M_k − M‖ in Frobenius norm; mean"
        where = f"trace inequality, {PAPER}, Appendix C, with constants: {PROOF}"
        yield proved("any gap, excess", excess.excess(target, question.noise), norm, citation=where)
    elif bool((target.values[: target.k] == 1.0).all()):
        norm = "shortfall of variance, ⟨P − P̂, M⟩; mean"
        where = f"compare Dwork et al. 2014, Theorem 3, with constants: {PROOF}"
        yield proved("any gap, inner product", excess.inner_product(target, question.noise), norm, citation=where)
