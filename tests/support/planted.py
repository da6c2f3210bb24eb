"""Mechanisms and their like with one mistake each, for the conformance kit to find.

Each is a right one with a few lines changed; `PLANTED` names the checks that find it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe.lattice import RADIUS, gram
from dpframe.noise import Keystream
from dpframe.rounding import sqrt_up
from dpframe_gaussian import FirstOrder

RESULTS: list[Any] = []


def symmetric(noise: Any) -> Any:
    return np.triu(noise) + np.triu(noise, 1).T


@attrs.frozen(kw_only=True)
class Right(dp.Mechanism):
    """The moment with noise on its upper triangle, as it should be."""

    name = "planted"
    unit = "mu"
    gives: ClassVar[type[dp.Kind]] = dp.SymmetricMatrix

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise))

    def scale(self, rows: dp.Rows, level: float) -> float:
        return sqrt_up(dp.Moment().sensitivity(rows)["moment"].l2_squared) / level


# -- noise that does not hide a person ---------------------------------------------------------------------------------


class LowNoise(Right):
    """Noise 20 % too small."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return 0.8 * super().scale(rows, level)


class OtherRelation(Right):
    """The sensitivity of add-remove under replace."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(attrs.evolve(rows, neighbors="add-remove"), level)


class OneRowOnly(Right):
    """The sensitivity of one row where a person has several."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(attrs.evolve(rows, contributions=1), level)


class ForgottenHalf(Right):
    """Noise on the upper triangle; the lower one, left as it was, is released beside it."""

    gives = dp.Vector

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.Vector((data.moment + np.triu(noise)).ravel())


class NormNotSquared(Right):
    """The sensitivity of a sum of rows for a sum of squares: in units, norm for norm²."""

    def scale(self, rows: dp.Rows, level: float) -> float:
        return super().scale(rows, level) / rows.length


class ForgottenConstant(Right):
    """The sensitivity without the constant coordinate of centred rows."""

    def output(self, rows: dp.Rows) -> type[dp.Kind]:
        return dp.Moment.kind(rows)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        scale = self.scale(attrs.evolve(data.rows, center=False), level)
        dim = len(data.moment)
        noise = random.gaussian(scale / math.sqrt(2), (dim, dim))
        np.fill_diagonal(noise, random.gaussian(scale, dim))
        return dp.Moment.value(data.moment + symmetric(noise), data.rows)


class WrongDensity(Right):
    """No noise on the diagonal, and a density that hides it."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = symmetric(random.gaussian(self.scale(data.rows, level), data.moment.shape))
        np.fill_diagonal(noise, 0)
        return dp.SymmetricMatrix(data.moment + noise)

    def log_density(self, value: dp.Kind, data: dp.PrivateData, level: float) -> float:
        return 0.0


class TellingSign(Right):
    """A random direction whose sign is that of the data."""

    gives = dp.Subspace

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        direction = random.gaussian(2.0**30, len(data.moment)).astype(np.float64)
        direction *= np.sign(direction[0]) * (1 if np.trace(data.moment) > 0 else -1)
        return dp.Subspace((direction / np.linalg.norm(direction))[:, None])


class VaryingNoise(Right):
    """Noise of a size that depends on the data, from a stream of the same calls."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise) * (10 if data.moment.any() else 1))


class RareFailure(Right):
    """Too little noise, and an error where it would show."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        scale = 0.3 * self.scale(data.rows, level)
        noise = symmetric(random.gaussian(scale, data.moment.shape))
        if noise[0, 0] > 2.6 * scale:
            raise dp.SamplingError("the noise is too large")
        return dp.SymmetricMatrix(data.moment + noise)


class RoughLattice(Right):
    """Noise in steps of 2²⁰, which leave the last digits of the moment as they are."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = random.gaussian(self.scale(data.rows, level) / 2**20, data.moment.shape) * 2**20
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


@attrs.frozen(kw_only=True)
class DirectionDraw(dp.Mechanism):
    """A direction with density proportional to exp(κ xᵀMx), drawn by rejection in the plane spanned by two axes."""

    name = "planted-direction"
    unit = "epsilon"
    gives = dp.Subspace
    draws_depend_on_data = True
    exponent: ClassVar[float] = 1.0

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.BoundedRange(epsilon=level)

    def check(self, rows: dp.Rows) -> None:
        if rows.dim != 2:
            raise dp.PlanError("planted-direction draws in two dimensions: say dim=2.")

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        spread = (2 if data.rows.neighbors == "replace" else 1) * data.rows.contributions * RADIUS**2
        moment = level / spread * data.moment.astype(np.float64)
        values, vectors = np.linalg.eigh(values_last(moment))
        shape = values[-1] - values  # A: density exp(−xᵀAx), smallest eigenvalue 0
        b = self._b(shape)
        omega = 1 + 2 * shape / b
        while True:
            z = np.array([uniform_normal(random) for _ in range(2)]) / np.sqrt(omega)
            x = z / np.linalg.norm(z)
            # Kent, Ganeiban and Mardia: the envelope needs the power +d/2 of xᵀΩx.
            ratio = math.exp(-float(shape @ x**2)) * float(omega @ x**2) ** self.exponent
            if random.words(1)[0] / 2**64 < ratio / (math.exp(-(2 - b) / 2) * (2 / b)):
                return dp.Subspace((vectors @ x)[:, None])

    @staticmethod
    def _b(shape: Any) -> float:
        low, high = 1.0, 2.0  # Σ 1/(b + 2a) = 1
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if float((1 / (middle + 2 * shape)).sum()) > 1 else (low, middle)
        return high


def values_last(matrix: Any) -> Any:
    return (matrix + matrix.T) / 2


def uniform_normal(random: dp.Random) -> float:
    first, second = ((word + 0.5) / 2**64 for word in random.words(2).tolist())
    return math.sqrt(-2 * math.log(first)) * math.cos(2 * math.pi * second)


class InvertedBingham(DirectionDraw):
    """The acceptance ratio of the direction draw with the exponent inverted."""

    exponent = -1.0


# -- randomness --------------------------------------------------------------------------------------------------------


class GlobalRandomness(Right):
    """Noise of the right size from numpy's global generator."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = np.rint(np.random.normal(0.0, self.scale(data.rows, level), data.moment.shape))
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class FewSeeds(Right):
    """A generator of its own, seeded from its stream with 16 bits only."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        seed = int(random.words(1)[0]) % 2**16
        return super().release(data, level, dp.Random(Keystream.insecure(seed)))


class FewNumpySeeds(Right):
    """numpy's generator, seeded from its stream with 16 bits only."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        generator = np.random.default_rng(int(random.words(1)[0]) % 2**16)
        noise = np.rint(generator.normal(0.0, self.scale(data.rows, level), data.moment.shape))
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class ReusedStream(Right):
    """The stream of its first step in all steps, from the beginning each time."""

    streams: ClassVar[list[dp.Random]] = []

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        self.streams.append(random)
        self.streams[0].seek(0)
        return super().release(data, level, self.streams[0])


class DrawBeforeCharge(Right):
    """Draws while the plan is built, to see whether the level suits it."""

    def check_level(self, rows: dp.Rows, level: float) -> None:
        dp.Random(Keystream.secure()).gaussian(self.scale(rows, level), 1)


class LocalSensitivity(Right):
    """More noise than needed, by an amount that tells the trace of the data."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        more = 1.5 + 1e-6 * math.log1p(float(np.trace(data.moment)))
        noise = random.gaussian(more * self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class KeepsTheMoment(Right):
    """Keeps what it was handed, for a second look later."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        RESULTS.append(data.moment)
        return super().release(data, level, random)


class ShapeTellsData(Right):
    """Releases nothing where there are no rows."""

    gives = dp.Vector

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        value = super().release(data, level, random).array.ravel()
        return dp.Vector(value if data.moment.any() else value[:0])


class UntrueShape(Right):
    """Tells of one column more than it gives."""

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return rows.width, rows.width + 1


class TellingUnits(Right):
    """Units taken from the data beside numbers that are private."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        value = super().release(data, level, random).array
        scale = tuple(1.0 + np.sqrt(np.diagonal(data.moment).astype(np.float64)))
        names = tuple(map(str, range(len(value))))
        return dp.SymmetricMatrix(value, axes=dp.Axes(names, scale, (0.0,) * len(value)))


class Talkative(Right):
    """Prints what it was handed."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        print(data.moment)
        return super().release(data, level, random)


# -- as values ---------------------------------------------------------------------------------------------------------


@attrs.define(kw_only=True, unsafe_hash=True)
class Mutable(dp.Mechanism):
    """Not frozen: parameters can be changed after pricing."""

    name = "planted"
    unit = "mu"
    gives = dp.SymmetricMatrix

    wide: bool = attrs.field(default=False, validator=dp.validators.boolean)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level)

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        return Right().release(data, level, random)


def complex_only(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, complex):
        raise dp.validators.refuse(owner, attribute.name, "a complex number", value)


@attrs.frozen(kw_only=True)
class LostParameter(Right):
    """A parameter that a plan file cannot hold."""

    factor: complex = attrs.field(default=1j, validator=complex_only)


@attrs.frozen(kw_only=True)
class NoValidation(Right):
    """A parameter that may be anything."""

    factor: float = 1.0


# -- the loss ----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class LossOfInput(Right):
    """States a loss that depends on a released value."""

    shift: Any = dp.input(dp.Scalar, default=0.0)

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=level + abs(float(self.shift.array)))


class CappedLoss(Right):
    """States no more than a fixed loss, however large the level."""

    def loss(self, rows: dp.Rows, level: float) -> dp.PrivacyLoss:
        return dp.losses.Gaussian(mu=min(level, 20.0))


# -- statistics --------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RightSum(dp.Statistic):
    """The sum of the lattice rows."""

    name = "planted-sum"

    def sensitivity(self, rows: dp.Rows) -> Mapping[str, dp.Sensitivity]:
        moved = (2 if rows.neighbors == "replace" else 1) * rows.contributions * RADIUS
        return {"sum": dp.Sensitivity(l2_squared=moved**2)}

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": self.rows(chunk).sum(axis=0).astype(np.int64)}

    def rows(self, chunk: dp.Chunk) -> Any:
        return chunk.integers()

    def check(self, rows: dp.Rows) -> None:
        if rows.center:
            raise dp.PlanError("planted-sum needs dp.Rows(center=False).")


class UnnormalisedRows(RightSum):
    """Rows taken as they are."""

    def rows(self, chunk: dp.Chunk) -> Any:
        values = np.nan_to_num(np.where(np.isfinite(chunk.values).all(axis=1)[:, None], chunk.values, 0.0))
        return np.rint(np.clip(values * (RADIUS // 2), -(2.0**40), 2.0**40))


class DataDependentRadius(RightSum):
    """Rows scaled down to the length of the longest of their chunk, not to the norm."""

    def rows(self, chunk: dp.Chunk) -> Any:
        finite = np.where(np.isfinite(chunk.values).all(axis=1)[:, None], chunk.values, 0.0).astype(np.longdouble)
        longest = np.sqrt((finite**2).sum(axis=1)).max(initial=np.longdouble(0))
        return np.rint(finite / longest * (RADIUS - 2)) if longest > 0 else finite


class SlippedNaN(RightSum):
    """Rows scaled down where they are longer than the norm, which a row with a NaN never is."""

    def rows(self, chunk: dp.Chunk) -> Any:
        values = chunk.values.astype(np.longdouble) * (RADIUS - 2) / chunk.rows.length
        lengths = np.sqrt((values**2).sum(axis=1))
        too_long = lengths > RADIUS - 2
        values[too_long] *= ((RADIUS - 2) / lengths[too_long])[:, None]
        return np.rint(np.where(np.isnan(values), 0.0, values)).astype(np.float64)


class RoundedTotals(RightSum):
    """Halves of rows, rounded once they are summed."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": np.floor(chunk.integers().sum(axis=0) / 2).astype(np.int64)}


class AddsTwice(RightSum):
    """Adds every chunk to its totals twice."""

    def add_to(self, chunk: dp.Chunk, sums: Mapping[str, Any]) -> None:
        super().add_to(chunk, sums)
        super().add_to(chunk, sums)


class FloatSums(RightSum):
    """Sums that are not integers."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        return {"sum": chunk.integers().sum(axis=0)}


class KeepsRows(RightSum):
    """Keeps the rows it has seen, for an extra pass over the data."""

    def partial(self, chunk: dp.Chunk) -> Mapping[str, Any]:
        RESULTS.append(chunk)
        return super().partial(chunk)


@attrs.frozen(kw_only=True)
class ExtraPass(Right):
    """Reads through a statistic that keeps the rows, and looks at them a second time."""

    def reads(self) -> tuple[dp.Statistic, ...]:
        return (dp.Moment(), KeepsRows())

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        again = gram(RESULTS[-1].integers())
        return dp.SymmetricMatrix(super().release(data, level, random).array + 0 * again)


# -- post-processors ---------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RightTrace(dp.PostProcessor):
    """The trace of a released matrix."""

    name = "planted-trace"
    gives = dp.Scalar
    of: Any = dp.input(dp.SymmetricMatrix)

    def apply(self) -> dp.Kind:
        return dp.Scalar(float(np.trace(self.of.array)))


class RandomTrace(RightTrace):
    """Adds noise from the global generator."""

    def apply(self) -> dp.Kind:
        return dp.Scalar(float(np.trace(self.of.array)) + np.random.normal())


class TraceOfAnotherKind(RightTrace):
    """Gives a vector where it says a number."""

    def apply(self) -> dp.Kind:
        return dp.Vector([float(np.trace(self.of.array))])


class TraceOfUntrueShape(RightTrace):
    """Tells of a vector where it gives a number."""

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return (None,)


class AsksForData(RightTrace):
    """Wants the private data as well."""

    def apply(self, data: dp.PrivateData) -> dp.Kind:  # type: ignore[override]
        return dp.Scalar(float(np.trace(data.moment)))


# -- accountants -------------------------------------------------------------------------------------------------------


class RightSumOfMus(dp.Accountant):
    """Gaussian losses, through the exact one of the core."""

    name = "planted-accountant"

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian)

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return dp.accountant("gdp").epsilon(losses, delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return dp.accountant("gdp").delta(losses, epsilon)


class Optimist(RightSumOfMus):
    """Two per cent below the truth."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return 0.98 * super().epsilon(losses, delta)

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return super().delta(losses, epsilon / 0.98)


class OnlyTheDearest(RightSumOfMus):
    """Of losses of several types, only the dearest type counts."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian | dp.losses.Pure)

    def _by_type(self, losses: Sequence[dp.PrivacyLoss]) -> Sequence[Sequence[dp.PrivacyLoss]]:
        types = (dp.losses.Gaussian, dp.losses.Pure)
        return [found for cls in types if (found := [loss for loss in losses if isinstance(loss, cls)])]

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return max(dp.accountant("auto").epsilon(each, delta) for each in self._by_type(losses))

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return max(dp.accountant("auto").delta(each, epsilon) for each in self._by_type(losses))


class CheaperByTheDozen(RightSumOfMus):
    """Costs less once there are four losses: valid, since it charges too much below that."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return super().epsilon(losses, delta) + (100.0 if len(losses) < 4 else 0.0)


class FirstCounts(RightSumOfMus):
    """Charges more the larger the first loss is."""

    def epsilon(self, losses: Sequence[dp.PrivacyLoss], delta: float) -> float:
        return super().epsilon(losses, delta) * (1 + float(attrs.asdict(losses[0])["mu"]))


class TwoMinds(RightSumOfMus):
    """A delta that its own epsilon contradicts."""

    def delta(self, losses: Sequence[dp.PrivacyLoss], epsilon: float) -> float:
        return min(2 * super().delta(losses, epsilon), 1.0)


class FoldsModels(RightSumOfMus):
    """Takes a guarantee under a model for one without."""

    def supports(self, loss: dp.PrivacyLoss) -> bool:
        return isinstance(loss, dp.losses.Gaussian | dp.losses.ModelBased)


# -- oracles -----------------------------------------------------------------------------------------------------------


class RightForecast(FirstOrder):
    """The first-order forecast of what is derived, as an upper bound with room for a second order."""

    name = "planted-oracle"
    room: ClassVar[float] = 1.5

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = [bound for bound in super().bounds(plan, step, scenario) if bound.assumptions]
        return [attrs.evolve(bound, kind="upper-mean", value=self.room * (bound.value or 0.0)) for bound in found]


class TooTight(RightForecast):
    """Half of what it should be."""

    room = 0.5


class TooSure(RightForecast):
    """Above the mean, but passed more often than it says."""

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = super().bounds(plan, step, scenario)
        return [
            attrs.evolve(
                bound, value=(bound.value or 0.0) / self.room * 1.05, kind="upper-probability", confidence=0.99
            )
            for bound in found
        ]


class NoAssumptions(RightForecast):
    """Claims to hold everywhere."""

    room = 1.5

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        found = super().bounds(plan, step, scenario)
        separated = scenario.spectrum is not None and scenario.spectrum.array[1] > 2 * scenario.spectrum.array[2]
        return [
            attrs.evolve(bound, assumptions=(), value=(bound.value or 0.0) * (1.0 if separated else 0.01))
            for bound in found
        ]


class NeedsSpectrum(RightForecast):
    """Fails where no spectrum is assumed."""

    def bounds(self, plan: dp.Plan, step: str, scenario: dp.Scenario) -> list[dp.Bound]:
        assert scenario.spectrum is not None
        return super().bounds(plan, step, scenario)


PLANTED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "noise scale 20 % low": (LowNoise(), ("stated-loss",)),
    "sensitivity of the other neighbouring relation": (OtherRelation(), ("stated-loss",)),
    "sensitivity of one row where a person has several": (OneRowOnly(), ("stated-loss",)),
    "norm in place of its square": (NormNotSquared(), ("stated-loss",)),
    "sensitivity without the constant coordinate": (ForgottenConstant(), ("stated-loss",)),
    "a diagonal without noise and a density that hides it": (WrongDensity(), ("stated-loss",)),
    "a sign that tells the data": (TellingSign(), ("stated-loss",)),
    "noise of a size that depends on the data": (VaryingNoise(), ("stated-loss",)),
    "an error where too little noise would show": (
        RareFailure(),
        ("fresh-randomness", "stated-loss"),
    ),
    "noise on a lattice that is too coarse": (RoughLattice(), ("one-lattice",)),
    "forgotten symmetric half": (ForgottenHalf(), ("stated-loss",)),
    "inverted Bingham exponent": (InvertedBingham(), ("stated-loss",)),
    "global numpy randomness": (GlobalRandomness(), ("own-stream-only",)),
    "a generator with few seeds": (FewSeeds(), ("fresh-randomness",)),
    "numpy's generator with few seeds": (FewNumpySeeds(), ("fresh-randomness",)),
    "stream re-use across steps": (ReusedStream(), ("fresh-randomness", "stated-loss")),
    "draw before charge": (DrawBeforeCharge(), ("charge-read-draw",)),
    "noise scale that depends on the data": (LocalSensitivity(), ("replay",)),
    "a statistic kept after the release": (KeepsTheMoment(), ("keeps-no-data",)),
    "a shape that depends on the data": (ShapeTellsData(), ("serves-any-data",)),
    "a shape that is not the one it tells": (UntrueShape(), ("serves-any-data",)),
    "units taken from the data": (TellingUnits(), ("serves-any-data", "stated-loss")),
    "a mechanism that prints": (Talkative(), ("serves-any-data",)),
    "a mechanism that can be changed": (Mutable(), ("frozen-value",)),
    "a parameter lost in the plan file": (LostParameter(factor=2j), ("plan-file-round-trip",)),
    "a parameter that may be anything": (NoValidation(), ("bad-parameters-refused",)),
    "a loss that depends on a released value": (LossOfInput(), ("loss-is-public",)),
    "a loss that stops growing": (CappedLoss(), ("loss-grows-with-level",)),
    "un-normalised rows": (UnnormalisedRows(), ("declared-sensitivity",)),
    "data-dependent clip radius": (DataDependentRadius(), ("adds-up",)),
    "totals rounded after adding": (RoundedTotals(), ("adds-up",)),
    "totals that are not of the parts": (AddsTwice(), ("adds-up",)),
    "NaN slipping past the clip": (SlippedNaN(), ("not-a-number",)),
    "sums that are not integers": (FloatSums(), ("exact-integers",)),
    "rows kept by a statistic": (KeepsRows(), ("keeps-no-rows",)),
    "an extra pass over the data": (ExtraPass(), ("keeps-no-rows",)),
    "a random post-processor": (RandomTrace(of=np.eye(2)), ("pure-function",)),
    "a result of another kind": (TraceOfAnotherKind(of=np.eye(2)), ("kind-honoured",)),
    "a result of another shape than it tells": (TraceOfUntrueShape(of=np.eye(2)), ("kind-honoured",)),
    "a post-processor that asks for data": (AsksForData(of=np.eye(2)), ("nothing-private",)),
    "an accountant below the truth": (Optimist(), ("never-below-the-truth",)),
    "only the dearest type of loss counted": (OnlyTheDearest(), ("never-below-the-truth",)),
    "composition that gets cheaper": (CheaperByTheDozen(), ("monotone",)),
    "composition that depends on the order": (FirstCounts(), ("order-free",)),
    "epsilon and delta that disagree": (TwoMinds(), ("two-ways-agree",)),
    "a model's guarantee taken for worst case": (FoldsModels(), ("models-kept-apart",)),
    "an upper bound below the error": (TooTight(), ("bounds-hold",)),
    "a bound that is passed more often than it says": (TooSure(), ("bounds-hold",)),
    "a bound without its assumptions": (NoAssumptions(), ("assumptions-enforced",)),
    "an oracle that fails without a spectrum": (NeedsSpectrum(), ("bounds-are-well-formed",)),
}
"""What is wrong, an object that is wrong in this way, and the checks that find it."""

RIGHT: list[Any] = [
    Right(),
    DirectionDraw(),
    RightSum(),
    RightTrace(of=np.eye(2)),
    RightSumOfMus(),
    RightForecast(),
]
"""The same without mistakes: no check may find anything."""

PLANE = dp.Rows(norm=1.0, neighbors="replace", dim=2)
GROSS = (
    OneRowOnly,
    ForgottenHalf,
    NormNotSquared,
    WrongDensity,
    TellingSign,
    TellingUnits,
    VaryingNoise,
    RareFailure,
    ReusedStream,
)
OPTIONS: dict[type, dict[str, Any]] = {
    DirectionDraw: {"rows": PLANE, "trials": 1000},
    InvertedBingham: {"rows": PLANE, "epsilon": 2.0, "trials": 6000},
    Right: {"trials": 1000},
    **{cls: {"trials": 1000} for cls in GROSS},
}
"""What the kit is told to check some of them: where to look, and how long where little shows or much."""
