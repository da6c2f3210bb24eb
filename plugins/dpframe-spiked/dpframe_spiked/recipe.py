"""Rounds of blocks in a released basis: the second moment of spiked data, with a worst-case guarantee."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import attrs

import dpframe.plugin as dp
from dpframe_spiked.choice import MOST_ROUNDS, Assumed, Layout, Round, best, in_units, laid_out, plain
from dpframe_spiked.ranges import coordinates, longest

RADIUS_WEIGHT = 0.25  # of the recipe's weight, for released radii: about one percent of the budget
GRID_END = 1000.0  # the grid of released radii goes from the norm down to the norm divided by this
CENTER_WEIGHT = 0.3  # of the recipe's weight, for a released center: about eight percent of the budget
CENTERED_SHARES = (0.2, 0.8)  # of the moment and of one round about a released center, where there is no model

_EVERYTHING = (1.0, 1.0, 1.0)


def _shares(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    numbers = isinstance(value, tuple) and all(map(dp.validators.is_finite, value))
    if not numbers or not 1 <= len(value) <= 1 + MOST_ROUNDS or min(value) <= 0.0 or abs(sum(value) - 1.0) > 1e-9:
        allowed = f"up to {1 + MOST_ROUNDS} positive numbers that add up to 1"
        raise dp.validators.refuse(owner, "shares", allowed, value)


@attrs.frozen(kw_only=True)
class SpikedBlock(dp.Recipe):
    """The second moment of rows with a few strong directions, by rounds of blocks in a released basis.

    First the moment of the clipped rows is released with Gaussian noise, and its leading directions U are derived. Then
    each round releases blocks in the current basis (`block-gaussian`): the sides Uᵀx and U⊥ᵀx of a row are clipped
    separately, so that the cross part, which alone rotates the subspace, needs noise of size αβ instead of α² + β².
    Every round starts from the estimate of the one before. All intermediate values are released; the result is the last
    estimate.

    Parameters that are not given are chosen from the plan, which is public: from its scenario, promise and budget, as
    if no other step used part of that. If the forecast error of the rounds is above 0.85 of that of one Gaussian
    release, the whole budget goes to that release instead.

    Args:
        rank: r, the number of strong directions, below half of the coordinates.
        radii: public lengths α and β. By default they follow from the scenario, or without one from the ranges of the
            columns.
        quantile: the share of rows that α, and released radii, should leave unclipped.
        release_radii: release radii from the data instead (`block-radii`), once the first basis is known; costs budget.
        release_center: first release the mean of a table, and a radius about it (`gaussian-sum`, `private-quantile`),
            and take rows about it in all rounds; radii are released too, unless they are given. It costs budget. The
            result is a covariance.
        range_radii: derive radii from the ranges of the columns (`range-radii`) even if there is a scenario; they are
            free and clip nothing.
        shares: the shares of the budget, in mu², of the moment and then of each round; by default from the scenario.

    Guarantee:
        Gaussian losses that compose to mu = weight · t, and those of the radii if they are released; worst case,
        for any data and either neighboring relation.

    References:
        Cai, Xia and Zha, "Optimal differentially private PCA and estimation for spiked covariance matrices", 2024: the
        rate. The rounds and their calibration are in docs/explanation/spiked.md.
    """

    name = "spiked-block"

    rank: int = attrs.field(validator=dp.validators.positive_int)
    radii: Any = dp.input(dp.Radii, default=None)
    quantile: float = attrs.field(
        default=0.95, converter=dp.validators.as_float, validator=dp.validators.number(above=0.5, below=1.0)
    )
    release_radii: bool = attrs.field(default=False, validator=dp.validators.boolean)
    release_center: bool = attrs.field(default=False, validator=dp.validators.boolean)
    range_radii: bool = attrs.field(default=False, validator=dp.validators.boolean)
    shares: tuple[float, ...] | None = attrs.field(
        default=None, converter=dp.validators.as_tuple, validator=attrs.validators.optional(_shares)
    )

    def __attrs_post_init__(self) -> None:
        if isinstance(self.radii, dp.Ref):
            raise dp.PlanError(
                f"'spiked-block' needs radii= as numbers; got a reference to {self.radii.name!r}. "
                "Use release_radii=True for radii from the data, or range_radii=True for those of the columns' ranges."
            )
        if (self.radii is not None) + self.release_radii + self.range_radii > 1:
            raise dp.PlanError("'spiked-block' takes one of radii=, release_radii=True and range_radii=True.")
        if self.release_center and (self.range_radii or len(self.shares or CENTERED_SHARES) < 2):
            raise dp.PlanError(
                "'spiked-block' with release_center=True takes radii= or released radii, and at least one round: leave "
                "range_radii= out, and give two shares or more."
            )

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """The rounds for a spiked scenario, or about a released center for a table, and the result of the task."""
        scenario, k = public["scenario"], public.get("k")
        if task not in ("subspace", "low-rank"):
            return None
        last = "top-subspace" if task == "subspace" else "rank-k"
        if scenario.model == "table":
            centered = dp.release("covariance", cls.name, rank=k, release_center=True)
            return [centered, dp.derive("result", last, of="covariance", k=k)]
        if scenario.model != "spiked" or k != scenario.rank:
            raise dp.PlanError(f"{cls.name!r} takes part for tables, and for spiked scenarios of rank k.")
        steps = cls(rank=k).settled(public["rows"], public["budget"], scenario, "auto").steps("moment", 1.0)
        return [*steps, dp.derive("result", last, of="moment", k=k)]

    def settled(self, rows: dp.Rows, budget: dp.Budget, scenario: dp.Scenario | None, accountant: str) -> dp.Recipe:
        if rows.center:
            raise dp.PlanError(
                "'spiked-block' needs rows without a constant coordinate: dp.Rows(center=False). With "
                "release_center=True it takes the rows of a table about a released mean."
            )
        dim = rows.dim if scenario is None else scenario.dim
        if dim is not None and rows.dim not in (None, dim):
            raise dp.PlanError(f"the scenario has {dim} coordinates, but the rows have {rows.dim}.")
        if dim is not None and 2 * self.rank >= dim:
            raise dp.PlanError(
                f"'spiked-block' needs a rank below half of the {dim} coordinates; got rank={self.rank}. "
                "Use 'gaussian' for more directions."
            )
        model = None if scenario is None or scenario.model != "spiked" else scenario
        if self.release_center:
            return self._centered(rows, budget, model)
        ranges = self._ranges(rows, model)
        layout = self._layout(rows, budget, model, (longest(rows),) * 2 if ranges is not None else None)
        return Rounds(rank=self.rank, layout=layout, released=self._released(rows), ranges=ranges)

    def _centered(self, rows: dp.Rows, budget: dp.Budget, model: dp.Scenario | None) -> Rounds:
        """Rounds about a released center, with a released norm."""
        if rows.columns is None or rows.is_moved or rows.norm is not None:
            raise dp.PlanError(
                "'spiked-block' with release_center=True releases the center and the norm of rows: it needs "
                "dp.Rows(columns=[...]) without about=, scale= and norm=."
            )
        released = attrs.evolve(rows, about=dp.ref("center"), norm=dp.ref("radius"))
        chosen = attrs.evolve(self, release_center=False, release_radii=self.radii is None)
        layout = None if model is None else chosen._layout(released, budget, model, None)
        if layout is None or not layout.rounds:
            layout = attrs.evolve(chosen, shares=self.shares or CENTERED_SHARES)._as_written(
                None if self.radii is None else _pair(self.radii)
            )
        farthest = 2 * math.sqrt(rows.known_dim)  # from any point of the box
        return Rounds(
            rank=self.rank,
            layout=layout,
            released=chosen._released(released),
            ranges=None,
            center={"quantile": self.quantile, "high": farthest},
        )

    def _released(self, rows: dp.Rows) -> dict[str, Any] | None:
        """The parameters of `block-radii`; None if radii are not released. A released norm is their unit."""
        if not self.release_radii:
            return None
        if "norm" in rows.awaited:
            return {"quantile": self.quantile}
        return {"quantile": self.quantile, "high": rows.length, "low": rows.length / GRID_END}

    def _ranges(self, rows: dp.Rows, model: dp.Scenario | None) -> dict[str, Any] | None:
        """The parameters of `range-radii`; None if radii do not come from the ranges of columns."""
        if self.range_radii and rows.columns is None:
            raise dp.PlanError(
                "'spiked-block' with range_radii=True needs dp.Rows(columns=[...]), whose ranges bound both sides of a "
                "row. Without columns, give radii= as numbers, or release_radii=True."
            )
        not_given = self.radii is None and not self.release_radii and model is None
        if rows.columns is None or not (self.range_radii or not_given):
            return None
        if rows.is_moved:
            raise dp.PlanError(
                "radii from the ranges of columns are about the middle of the ranges, but the rows are not. With "
                "Rows.about or Rows.scale, give radii= as numbers."
            )
        made, norm = coordinates(rows), longest(rows)
        wanted = {"columns": made if max(made) > 1 else None, "norm": norm if norm < math.sqrt(len(made)) else None}
        return {name: value for name, value in wanted.items() if value is not None}

    def _layout(
        self, rows: dp.Rows, budget: dp.Budget, model: dp.Scenario | None, ranges: tuple[float, float] | None
    ) -> Layout:
        radii = ranges if self.radii is None else _pair(self.radii)
        if model is None:
            return self._as_written(radii)
        model.refuse_true("'spiked-block'")
        assumed = Assumed.of(model, rows, rank=self.rank, mu=_mu(budget), quantile=self.quantile)
        assert model.noise is not None  # a spiked scenario has it
        unit = math.sqrt(model.noise)
        chosen = self._chosen(assumed, None if radii is None else (radii[0] / unit, radii[1] / unit))
        return in_units(chosen if ranges is None else _unclipped(chosen), unit)

    def _chosen(self, assumed: Assumed, radii: tuple[float, float] | None) -> Layout:
        if self.shares is None:
            return best(assumed, radii)
        if len(self.shares) == 1:
            return plain(assumed)
        layout = laid_out(assumed, self.shares, radii)
        if layout is None:
            raise dp.PlanError(
                f"shares={self.shares} start a round from too inaccurate a subspace, for the assumed data. "
                "Increase the first shares, or leave shares= out."
            )
        return layout

    def _as_written(self, radii: tuple[float, float] | None) -> Layout:
        """Without a model, all choices have to be given, and the effect of clipping is not corrected for."""
        if self.shares is None or (radii is None and not self.release_radii and len(self.shares) > 1):
            raise dp.PlanError(
                "'spiked-block' cannot choose its rounds: give the plan public assumptions, dp.Plan(..., "
                "scenario=dp.Scenario(model='spiked', dim=, n=, rank=, spike=, noise=)), or give shares=, and radii: "
                "as numbers (radii=), from the ranges of columns (dp.Rows(columns=[...])), or released "
                "(release_radii=True)."
            )
        sides = radii or (1.0, 1.0)
        rounds = [Round(share=share, radii=sides, kept=_EVERYTHING, left=_EVERYTHING) for share in self.shares[1:]]
        return Layout(first=self.shares[0], rounds=tuple(rounds), forecast=(math.inf, math.inf))

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        raise dp.PlanError("'spiked-block' chooses its rounds from a plan; put the step into a dp.Plan.")


@attrs.frozen(kw_only=True)
class Rounds(dp.Recipe):
    """A `spiked-block` with all choices made.

    Args:
        rank: r, the number of strong directions.
        layout: how the budget is spent.
        released: the parameters of `block-radii`, if radii are released.
        ranges: the parameters of `range-radii`, if radii come from the ranges of columns.
        center: the parameters of the `private-quantile` about a released center, if there is one.
    """

    name = "spiked-block"

    rank: int
    layout: Layout
    released: dict[str, Any] | None
    ranges: dict[str, Any] | None
    center: dict[str, Any] | None = None

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        if not self.layout.rounds:
            return [dp.release(name, "gaussian", weight=weight)]
        known = f"{name}.moment"
        steps, seen, end = self._center(name, weight)
        steps.append(dp.release(known, "gaussian", weight=weight * math.sqrt(self.layout.first), rows=seen))
        for number, each in enumerate(self.layout.rounds, start=1):
            mark = "" if len(self.layout.rounds) == 1 else f"-{number}"
            basis, blocks = f"{name}.basis{mark}", f"{name}.blocks{mark}"
            steps.append(dp.derive(basis, "top-subspace", of=known, k=self.rank))
            radii: Any = each.radii
            if self.released is not None:
                radii, share = dp.ref(f"{name}.radii"), RADIUS_WEIGHT * weight
                if number == 1:
                    drawn = {"basis": basis, "weight": share, "rows": seen, **self.released}
                    steps.append(dp.release(radii.name, "block-radii", **drawn))
            elif self.ranges is not None:
                radii = dp.ref(f"{name}.radii{mark}")
                steps.append(dp.derive(radii.name, "range-radii", of=basis, **self.ranges))
            share = weight * math.sqrt(each.share)
            steps.append(dp.release(blocks, "block-gaussian", basis=basis, radii=radii, weight=share, rows=seen))
            last = number == len(self.layout.rounds)
            before, known = known, name if last else f"{name}.estimate{mark}"
            weights = {"kept": each.kept, "left": each.left, **(end if last else {})}
            steps.append(dp.derive(known, "block-estimate", of=blocks, prior=before, **weights))
        return steps

    def _center(self, name: str, weight: float) -> tuple[list[dp.Step], dict[str, Any] | None, dict[str, Any]]:
        """The steps that release a center and a radius, the rows that all others see, and parts of the last step."""
        if self.center is None:
            return [], None, {}
        center, radius = dp.ref(f"{name}.center"), dp.ref(f"{name}.radius")
        lengths = {"weight": RADIUS_WEIGHT * weight, "rows": {"about": center}, **self.center}
        steps = [
            dp.release(f"{name}.sum", "gaussian-sum", weight=CENTER_WEIGHT * weight),
            dp.derive(center.name, "mean", of=f"{name}.sum"),
            dp.derive(f"{name}.count", "count", of=f"{name}.sum"),
            dp.release(radius.name, "private-quantile", **lengths),
        ]
        return steps, {"about": center, "norm": radius}, {"residual": "prior", "count": f"{name}.count"}


def _pair(radii: dp.Radii) -> tuple[float, float]:
    alpha, beta = radii.array.tolist()
    return alpha, beta


def _unclipped(layout: Layout) -> Layout:
    """The layout for radii that clip nothing, so that no correction is needed."""
    return attrs.evolve(layout, rounds=tuple(attrs.evolve(each, left=_EVERYTHING) for each in layout.rounds))


@lru_cache(maxsize=256)
def _mu(budget: dp.Budget) -> float:
    """The Gaussian level that a budget allows, to six digits: precise enough to divide it."""
    if budget.delta == 0.0:
        return budget.epsilon  # such a plan is refused when it is priced
    accountant = dp.accountant("gdp")
    low, high = 0.0, 1.0
    while accountant.epsilon([dp.losses.Gaussian(mu=high)], budget.delta) < budget.epsilon:
        high *= 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        inside = accountant.epsilon([dp.losses.Gaussian(mu=middle)], budget.delta) < budget.epsilon
        low, high = (middle, high) if inside else (low, middle)
    return low
