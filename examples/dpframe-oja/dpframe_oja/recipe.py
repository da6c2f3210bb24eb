"""DP-Oja as a step of a plan: a recipe of several rounds."""

from __future__ import annotations

import math
from typing import Any

import attrs

import dpframe.plugin as dp
from dpframe_oja.release import NoisyOjaSum
from dpframe_oja.statistic import check_clip, check_seed
from dpframe_oja.update import OjaStep

MOST_ROUNDS = 1000


def _check_rounds(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not dp.validators.is_int(value) or not 1 <= value <= MOST_ROUNDS:
        raise dp.validators.refuse(owner, "rounds", f"an integer from 1 to {MOST_ROUNDS}", value)


@attrs.frozen(kw_only=True)
class Oja(dp.Recipe):
    """The leading direction of the second moment by noisy rounds of Oja's algorithm.

    Each round releases the sum of x (x·w) over all rows at the current direction w, with Gaussian noise, and takes
    a step towards it. Rounds compose exactly: T rounds of mu/√T cost mu, so a recipe of weight 1 costs as much as one
    Gaussian release of weight 1.

    Liu et al. read one row per round, n rounds in total, and rely on amplification by shuffling, whose constants they
    leave open. Here every round reads all rows, a few rounds suffice, and the guarantee is computed. As in their paper,
    the result is one direction.

    Args:
        rounds: the number of rounds, each with one pass over the data.
        clip: the largest length of a row's share, as a fraction of norm². Noise is proportional to it, so the typical
            length of x (x·w) is a good choice; scaling down longer shares changes the direction little.
        step: how far each round moves the direction.
        seed: the seed of the public random start.

    Guarantee:
        One Gaussian loss per round; their squared mu add up to the square of the recipe's level; worst case, for either
        neighboring relation.

    References:
        Liu, Kong, Jain and Oh, "DP-PCA: statistically optimal and differentially private PCA", NeurIPS 2022,
        Algorithm 2.

    >>> [step.name for step in Oja(rounds=2).steps("top", weight=1.0)]
    ['top.sum-1', 'top.direction-1', 'top.sum-2', 'top']
    """

    name = "oja"

    rounds: int = attrs.field(default=10, validator=_check_rounds)
    clip: float = attrs.field(default=1.0, converter=dp.validators.as_float, validator=check_clip)
    step: float = attrs.field(
        default=1.0, converter=dp.validators.as_float, validator=dp.validators.number(above=0.0, below=1e12)
    )
    seed: int = attrs.field(default=0, validator=check_seed)

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """One release for one direction, so that ``dp.compare`` ranks it."""
        return [dp.release("components", cls.name)] if task == "subspace" and public["k"] == 1 else None

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        share = weight / math.sqrt(self.rounds)
        steps: list[dp.Step] = []
        direction: dp.Ref | None = None
        for number in range(1, self.rounds + 1):
            total = f"{name}.sum-{number}"
            after = name if number == self.rounds else f"{name}.direction-{number}"
            reading = NoisyOjaSum(direction=direction, clip=self.clip, seed=self.seed)
            moving = OjaStep(of=total, direction=direction, seed=self.seed, step=self.step)
            steps += [dp.Step(name=total, action=reading, weight=share), dp.Step(name=after, action=moving)]
            direction = dp.ref(after)
        return steps
