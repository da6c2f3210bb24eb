"""What is planted: each is a right one with a few lines changed; `PLANTED` names the checks that find it."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpframe.plugin as dp
from tests.support.planted.accountants import (
    CheaperByTheDozen,
    FirstCounts,
    FoldsModels,
    ForgetsCrowds,
    HalfOfPure,
    HalfTheLoss,
    OnlyTheDearest,
    Optimizt,
    RightInTheMiddle,
    RightSumOfMus,
    TwoMinds,
)
from tests.support.planted.noise import (
    DirectionDraw,
    ForgottenConstant,
    ForgottenHalf,
    InvertedBingham,
    LowNoise,
    NormNotSquared,
    OneRowOnly,
    OtherRelation,
    RareFailure,
    RedrawnTooClose,
    RoughLattice,
    TellingSign,
    TooSureOfItself,
    VaryingNoise,
    WrongDensity,
)
from tests.support.planted.oracles import NeedsSpectrum, NoAssumptions, RightForecast, TooSure, TooTight
from tests.support.planted.postprocessors import (
    AsksForData,
    ExitsOnNoise,
    RandomTrace,
    RightTrace,
    RootOfTrace,
    TraceOfAnotherKind,
    TraceOfUntrueShape,
    VectorOnNoise,
)
from tests.support.planted.randomness import (
    DrawBeforeCharge,
    FewNumpySeeds,
    FewSeeds,
    GlobalRandomness,
    KeepsTheMoment,
    LocalSensitivity,
    MistakenExemption,
    ReusedStream,
    ShapeTellsData,
    Talkative,
    TellingUnits,
    UntrueShape,
)
from tests.support.planted.right import Right
from tests.support.planted.statistics import (
    AddsTwice,
    DataDependentRadius,
    ExtraPass,
    FloatSums,
    KeepsRows,
    RightSum,
    RoundedTotals,
    SlippedNaN,
    UnnormalizedRows,
)
from tests.support.planted.values import CappedLoss, ExactOnPaper, LossOfInput, LostParameter, Mutable, NoValidation

PLANTED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "noise scale 20 % low": (LowNoise(), ("stated-loss",)),
    "sensitivity of the other neighboring relation": (OtherRelation(), ("stated-loss",)),
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
    "noise stated too small": (TooSureOfItself(), ("error-bars-cover",)),
    "redrawn with half the noise": (RedrawnTooClose(), ("error-bars-cover",)),
    "forgotten symmetric half": (ForgottenHalf(), ("stated-loss",)),
    "inverted Bingham exponent": (InvertedBingham(), ("stated-loss",)),
    "global numpy randomness": (GlobalRandomness(), ("own-stream-only",)),
    "noise said to be drawn by a library": (MistakenExemption(), ("own-stream-only",)),
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
    "floats in what is graded exact": (ExactOnPaper(), ("law-error-is-a-distance",)),
    "un-normalized rows": (UnnormalizedRows(), ("declared-sensitivity",)),
    "data-dependent clip radius": (DataDependentRadius(), ("adds-up",)),
    "totals rounded after adding": (RoundedTotals(), ("adds-up",)),
    "totals that are not of the parts": (AddsTwice(), ("adds-up",)),
    "NaN slipping past the clip": (SlippedNaN(), ("not-a-number",)),
    "sums that are not integers": (FloatSums(), ("exact-integers",)),
    "rows kept by a statistic": (KeepsRows(), ("keeps-no-rows",)),
    "an extra pass over the data": (ExtraPass(), ("keeps-no-rows",)),
    "a random post-processor": (RandomTrace(of=np.eye(2)), ("pure-function",)),
    "a result of another kind": (TraceOfAnotherKind(of=np.eye(2)), ("kind-honored",)),
    "a result of another shape than it tells": (TraceOfUntrueShape(of=np.eye(2)), ("kind-honored",)),
    "a derivation that fails on noise": (RootOfTrace(of=np.eye(2)), ("survives-noise",)),
    "a derivation that ends the process on noise": (ExitsOnNoise(of=np.eye(2)), ("survives-noise",)),
    "a derivation that gives another kind on noise": (VectorOnNoise(of=np.eye(2)), ("survives-noise",)),
    "a post-processor that asks for data": (AsksForData(of=np.eye(2)), ("nothing-private",)),
    "an accountant below the truth": (Optimizt(), ("never-below-the-truth",)),
    "an accountant that loses a factor of two": (HalfTheLoss(), ("never-below-the-truth",)),
    "half of the epsilon at delta = 0": (HalfOfPure(), ("never-below-the-truth",)),
    "half of the delta at the ends of the curve": (RightInTheMiddle(), ("never-below-the-truth",)),
    "losses forgotten where there are many": (ForgetsCrowds(), ("never-below-the-truth",)),
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
