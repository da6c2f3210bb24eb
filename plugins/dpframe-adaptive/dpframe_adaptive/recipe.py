"""The adaptive release of a covariance: center, radius, moment, each about what was released before."""

from __future__ import annotations

import math
from typing import Any

import attrs

import dpframe.plugin as dp
from dpframe_adaptive.place import SMALLEST_SCALE
from dpframe_adaptive.preconditioner import components_gain
from dpframe_adaptive.shares import POINTS, Form, Pilot, Shares, divided, mean_error, sum_noise, typical_gain, whole

GOALS = ("covariance", "components", "correlation", "regression")
SCALED = ("correlation", "regression")  # columns matter relative to their own variance
WIDEST = 128  # the largest dimension for which there is a linear map: each row is multiplied by a matrix of this size
COMPONENTS = (1, 2, 3, 4, 5)  # the numbers of leading directions that matter where k is not given
CLIPPED = {"covariance": 3.0, "components": 3.0, "correlation": 6.0, "regression": 12.0}
"""How many rows a radius leaves beyond it, in units of the noise; correlations are hardly biased by it, and slopes even
less: a row that is scaled down lies on the same line through the center."""

WIDE = 20
"""The most columns for which that number is right for a covariance; with more, it falls like the cube root of their
number. From simulated tables: noise spreads over all directions, what scaling down takes lies in the strong ones."""

CERTAIN = {"covariance": 2.0, "components": 2.0, "correlation": 5.5, "regression": 6.0}
"""How unlikely a radius beyond all rows is to be, as the logarithm of its odds; where many rows are beyond the wanted
one anyway, that costs little. In divided columns the grid of radii goes 32 times farther."""

CERTAIN_OF_MAP = 4.0
"""The same with a linear map, at least. There is no box to fall back on, and a release with a radius beyond all rows is
several times noisier: at most about one in 50 hardly moves what 95 % of releases keep, which forecasts state."""

MISSED: dict[Form, float] = {"gaussian": 1.0, "pure": 1.2}
"""How many times smaller the gain of a map for components is than the spectrum says: a pure pilot is too noisy for all
of it. From simulated tables."""

MECHANISMS: dict[Form, tuple[str, str]] = {
    "gaussian": ("gaussian-sum", "gaussian"),
    "pure": ("laplace-sum", "matrix-laplace"),
}
"""The mechanisms that release the sum and the moment."""

MARGIN = 0.05  # what each row beyond the radius costs, when ball and box are compared
FINEST = 1000.0  # the grid of radii goes from the longest possible row down to this fraction of it


def _check_target(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    named = (value,) if isinstance(value, str) else value
    if named is not None and not (isinstance(named, tuple) and named and all(isinstance(each, str) for each in named)):
        raise dp.validators.refuse(owner, "target", "the name of a column, or a list of names", value)


@attrs.frozen(kw_only=True)
class Adaptive(dp.Recipe):
    """A covariance about a released center, clipped to a released radius, and corrected for its noise.

    Few rows are near the middle of their ranges or as long as the ranges allow, and noise grows with the squared length
    that is allowed. So the sum of the rows is released first, then a radius about their mean, then the moment of the
    rows about it, scaled down to that radius. A pilot moment comes before: it gives a linear map that takes noise where
    it does least harm for covariance and components, and scales, by which columns are divided, for correlations and
    regression. Without a linear map, where the box of the ranges is hardly longer than the radius, the moment is that
    of the box. With few columns a sum about the center is released beside it, so that means are known as well as
    deviations. Count, mean and covariance are computed from all of it. The covariance is corrected for the noise, which
    is known; for regression it is left as it is, in the scaled coordinates, since `regression` takes the noise into
    account.

    Each step is a release of the plan with a price of its own. All choices depend on the plan or on released values:
    Gaussian or pure noise, shares, radii, linear map or scales, ball or box.

    Args:
        goal: what the result is for: "covariance" (default), "components", "correlation" or "regression".
        k: the number of principal components to derive as well, named '<name>.components'.
        target: for regression, the column that is predicted, or several: rows are divided such that there is less noise
            on the covariances with them.

    Guarantee:
        The composition of its releases: Gaussian losses, or pure ones where delta is 0 or where they are smaller, and
        bounded-range losses of the radii; worst case, for either neighboring relation.

    References:
        Biswas, Dong, Kamath and Ullman 2020 (rounds); Dong, Liang and Yi 2022 (clipping); Bun, Allez, Bouchaud and
        Potters 2016 (correction for noise).
    """

    name = "adaptive"

    goal: str = attrs.field(default="covariance", validator=dp.validators.one_of(*GOALS))
    k: int | None = attrs.field(default=None, validator=attrs.validators.optional(dp.validators.positive_int))
    target: str | tuple[str, ...] | None = attrs.field(
        default=None, converter=dp.validators.as_tuple, validator=_check_target
    )

    @classmethod
    def recipe(cls, task: str, **public: Any) -> list[dp.Step] | None:
        """The adaptive covariance, and the task's result derived from it."""
        rows, budget, k = public["rows"], public["budget"], public.get("k")
        if rows.columns is None or rows.is_moved or rows.norm is not None:
            return None
        goal = "components" if task == "subspace" else "covariance"
        recipe = cls(goal=goal, k=k) if task == "subspace" else cls(goal=goal)
        own = "covariance.components"  # the same as the result
        steps = [s for s in recipe.settled(rows, budget, None, "auto").steps("covariance", 1.0) if s.name != own]
        tasks = {"subspace": "top-subspace", "low-rank": "rank-k", "eigenvalues": "eigenvalues"}
        if task == "moment":
            return steps
        if task not in tasks:
            return None
        return [*steps, dp.derive("result", tasks[task], of="covariance", k=k)]

    def settled(self, rows: dp.Rows, budget: dp.Budget, scenario: dp.Scenario | None, accountant: str) -> dp.Recipe:
        if rows.columns is None:
            raise dp.PlanError(
                "'adaptive' needs public ranges, dp.Rows(columns=[...]): rows are taken about a released center in "
                "coordinates from -1 to 1."
            )
        if rows.is_moved or rows.norm is not None:
            raise dp.PlanError("'adaptive' finds center, scales and norm itself; leave about=, scale= and norm= out.")
        dim = rows.known_dim
        if self.k is not None and self.k > dim:
            raise dp.PlanError(f"k={self.k} is more than the {dim} coordinates of the rows.")
        pilot, shares = self._divided(rows, budget, accountant)
        return Rounds(
            goal=self.goal,
            k=self.k,
            targets=self._targets(rows),
            pilot=pilot,
            shares=shares,
            unit=sum_noise(shares.form, rows),
            columns=rows.widths,
        )

    def _targets(self, rows: dp.Rows) -> tuple[int, ...]:
        """The coordinates of the targets: of a category all levels, or one that is named."""
        named = (self.target,) if isinstance(self.target, str) else self.target or ()
        if named and self.goal != "regression":
            raise dp.PlanError("target= of 'adaptive' is for goal=\"regression\"; leave it out.")
        labels = [(column.name, label) for column in rows.columns or () for label in column.labels]
        found = {name: [place for place, each in enumerate(labels) if name in each] for name in named}
        if absent := [name for name in named if not found[name]]:
            raise dp.PlanError(
                f"target={absent[0]!r} is not a column of the rows; there is: "
                f"{', '.join(column.name for column in rows.columns or ())}."
            )
        places = {place for each in found.values() for place in each}
        if len(places) == len(labels):
            raise dp.PlanError("target= of 'adaptive' names all columns; nothing is left to predict them from.")
        return tuple(sorted(places))

    def _divided(self, rows: dp.Rows, budget: dp.Budget, accountant: str) -> tuple[Pilot, Shares]:
        """What a pilot gives, and the shares: of the form, with or without a pilot, with the least error to expect.

        Where means matter as well, it is the geometric mean of the errors of both that counts.
        """
        dim, means = rows.known_dim, self.goal == "covariance"
        forms: tuple[Form, ...] = ("pure",) if budget.delta == 0.0 else ("gaussian", "pure")
        candidates = [
            (
                pilot,
                divided(
                    form,
                    dim=dim,
                    neighbors=str(rows.neighbors),
                    pilot=pilot,
                    clipped=self._clipped(dim),
                    certain=max(CERTAIN[self.goal], CERTAIN_OF_MAP if pilot == "linear" else 0.0),
                    mean=means,
                ),
            )
            for form in forms
            for pilot in self._pilots(dim)
        ]

        def error(candidate: tuple[Pilot, Shares]) -> float:
            pilot, shares = candidate
            gain = 1.0
            if pilot == "linear":
                gain = typical_gain(dim) if means else components_gain(dim, self._ranks) / MISSED[shares.form]
            uneven = mean_error(dim) if means and shares.offset is None else 1.0
            return shares.cost * math.sqrt(uneven) / (gain * whole(shares, budget, accountant))

        return min(candidates, key=error)

    def _clipped(self, dim: int) -> float:
        """How many rows a radius leaves beyond it, in units of the noise."""
        fewer = min(WIDE / dim, 1.0) ** (1 / 3) if self.goal == "covariance" else 1.0
        return CLIPPED[self.goal] * fewer

    @property
    def _ranks(self) -> tuple[int, ...]:
        """The numbers of leading directions that matter."""
        return COMPONENTS if self.k is None else (self.k,)

    def _pilots(self, dim: int) -> tuple[Pilot, ...]:
        """What a pilot may give; None without one.

        For one direction the noise is best nearly the same everywhere, and a pilot would be in vain.
        """
        if self.goal in SCALED:
            return ("scale",)
        return (None,) if dim > WIDEST or (self.goal, self.k) == ("components", 1) else (None, "linear")

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        raise dp.PlanError("'adaptive' divides the budget of a plan; put the step into a dp.Plan.")


@attrs.frozen(kw_only=True)
class Rounds(dp.Recipe):
    """An adaptive release with all choices made that do not depend on released values.

    Args:
        goal: what the result is for.
        k: the number of principal components to derive as well.
        targets: the coordinates that a regression predicts.
        pilot: what a pilot gives; None without one.
        shares: how the budget is divided.
        unit: the deviation of the noise on the sum at level 1, for one row per person.
        columns: the number of coordinates of each column.
    """

    name = "adaptive"

    goal: str
    k: int | None
    targets: tuple[int, ...]
    pilot: Pilot
    shares: Shares
    unit: float
    columns: tuple[int, ...]

    def steps(self, name: str, weight: float) -> list[dp.Step]:
        sums, moments = MECHANISMS[self.shares.form]
        total, center, kept, radius = (f"{name}.{part}" for part in ("sum", "center", "kept", "radius"))
        place: dict[str, Any] = {"about": dp.ref(center)}
        steps = [
            dp.release(total, sums, weight=weight * self.shares.center),
            dp.derive(center, "mean", of=total),
            dp.derive(kept, "kept-share", of=total, beyond_per_noise=self._beyond_per_noise),
            self._radius(radius, weight, kept, place, longest=self._longest),
        ]
        found: dict[str, Any] = {"sum": total, "moment": f"{name}.moment"}
        if self.shares.pilot is not None:
            pilot, gives = f"{name}.pilot", f"{name}.{self.pilot}"
            rows = {**place, "norm": dp.ref(radius), "center": True}
            steps.append(dp.release(pilot, moments, weight=weight * self.shares.pilot, rows=rows))
            place |= {str(self.pilot): dp.ref(gives)}
            found |= {str(self.pilot): gives}
            if self.pilot == "linear":
                found |= {"about": center, "pilot": pilot}
                known = {"sum": total, "about": center, "moment": pilot}
                steps.append(dp.derive(gives, "preconditioner", **known, **self._preconditioner))
                radius, longest = f"{name}.linear-radius", self._longest
            else:
                scales = {"of": pilot, "targets": self.targets, "gain": self._gain} if self.targets else {"of": pilot}
                by = "regression-scales" if self.targets else "column-scales"
                steps.append(dp.derive(gives, by, **scales))
                radius, longest = f"{name}.scaled-radius", self._longest / SMALLEST_SCALE
            steps.append(self._radius(radius, weight, kept, place, longest=longest))
        if self.targets:
            scaled, radius = radius, f"{name}.affordable-radius"
            steps.append(dp.derive(radius, "affordable-radius", radius=scaled, **self._affordable(name)))
        norm = radius
        if self.pilot != "linear":
            norm, about = f"{name}.norm", f"{name}.about"
            choice = {"center": center, "radius": radius, "scale": found.get("scale"), **self._choice}
            steps += [
                dp.derive(about, "ball-or-box-center", **choice),
                dp.derive(norm, "ball-or-box-norm", **choice),
            ]
            place |= {"about": dp.ref(about)}
            found |= {"about": about}
        rows = {**place, "norm": dp.ref(norm), "center": True}
        goal = self.goal if self.goal in SCALED else "covariance"
        if self.shares.offset is not None:
            found |= {"offset": f"{name}.offset"}
            steps.append(dp.release(f"{name}.offset", sums, placed=True, weight=weight * self.shares.offset, rows=rows))
        steps += [
            dp.release(f"{name}.moment", moments, weight=weight * self.shares.moment, rows=rows),
            dp.derive(f"{name}.count", "adaptive-count", **found),
            dp.derive(f"{name}.mean", "adaptive-mean", **found),
            dp.derive(name, "adaptive-covariance", **found, goal=goal),
        ]
        if self.k is not None:
            steps.append(dp.derive(f"{name}.components", "top-subspace", of=name, k=self.k))
        return steps

    @property
    def _beyond_per_noise(self) -> float:
        """The number of rows beyond the radius for each unit of noise on the sum, to three digits."""
        return float(f"{self.shares.beyond * self.shares.center / self.unit:.3g}")

    @property
    def _preconditioner(self) -> dict[str, Any]:
        """What the linear map depends on, beside released values."""
        if self.goal == "covariance":
            return {"power": 0.25, "gain": self._gain}
        return {"power": None, "components": COMPONENTS if self.k is None else (self.k,), "gain": self._gain}

    def _affordable(self, name: str) -> dict[str, Any]:
        """What the enlarged radius depends on, beside the released one."""
        released = {"pilot": f"{name}.pilot", "pilot_radius": f"{name}.radius", "scale": f"{name}.scale"}
        return {**released, "targets": self.targets, "gain": self._gain}

    @property
    def _gain(self) -> float:
        """The level of the moment, in units of that of the pilot."""
        assert self.shares.pilot is not None  # asked for what follows from a pilot only
        return float(f"{self.shares.moment / self.shares.pilot:.3g}")

    @property
    def _choice(self) -> dict[str, Any]:
        """What the choice of ball or box depends on, beside released values."""
        known = bool(self.targets)  # then the radius itself says what scaling down rows is worth
        margin = 1.0 if known else round(1 + MARGIN * self.shares.beyond / self.shares.noise, 3)
        return {"columns": self.columns if max(self.columns) > 1 else None, "margin": margin}

    @property
    def _longest(self) -> float:
        """A length that no row of numeric columns exceeds about any center, each contributing at most 2; rounded up."""
        return math.ceil(20 * math.sqrt(len(self.columns))) / 10

    def _radius(self, name: str, weight: float, kept: str, place: dict[str, Any], *, longest: float) -> dp.Step:
        """A radius about the center, from a grid that goes down from the longest row that is possible."""
        return dp.release(
            name,
            "private-quantile",
            quantile=dp.ref(kept),
            high=longest,
            low=round(self._longest / FINEST, 6),
            points=POINTS,
            weight=weight * self.shares.radius,
            rows=dict(place),
        )
