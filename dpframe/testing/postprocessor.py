"""Checks of a post-processor: a pure function of released values, with a result of the declared kind."""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import numpy as np

from dpframe.errors import PlanError, described
from dpframe.interfaces import PostProcessor
from dpframe.kinds import Kind
from dpframe.reading.private_data import PrivateData
from dpframe.run.made_up import NOISE, NOTHING, made_up
from dpframe.spec.refs import check_kinds, inputs
from dpframe.spec.rows import Rows
from dpframe.testing.checks import BROKEN, Failed, NotRun, check, refusals_are_not_run
from dpframe.testing.instruments import twice
from dpframe.testing.subjects import check_shape


@attrs.frozen(eq=False)
class PostProcessorStage:
    """A post-processor under test, whose inputs are values."""

    subject: PostProcessor

    def __attrs_post_init__(self) -> None:
        for name, _, value in inputs(self.subject):
            if value is not None and not isinstance(value, Kind):
                raise PlanError(f"to check {self.subject.name!r}, give a value in {name}=, not a reference.")


@check("postprocessor")
def nothing_private(stage: PostProcessorStage) -> None:
    """It uses released values only: apply() takes no arguments, and no field holds private data."""
    parameters = list(inspect.signature(stage.subject.apply).parameters)
    if parameters:
        raise Failed(f"apply() takes {', '.join(parameters)}; it may use its declared inputs only")
    for field in attrs.fields(type(stage.subject)):  # type: ignore[arg-type]
        if isinstance(getattr(stage.subject, field.name), PrivateData):
            raise Failed(f"its field {field.name!r} holds private data")


@check("postprocessor")
def kind_honored(stage: PostProcessorStage) -> None:
    """The result has the declared kind and shape."""
    with refusals_are_not_run("apply() cannot be called, as nothing-private reports"):
        inspect.signature(stage.subject.apply).bind()
    _honored(stage.subject, stage.subject.apply())


def _honored(subject: PostProcessor, value: Any) -> None:
    """Raise Failed unless a result has the declared kind and shape."""
    expected = subject.output(check_kinds(subject, "it", {}))
    if not isinstance(value, expected):
        raise Failed(f"it returns a {type(value).__name__} instead of {expected.title}")
    check_shape(value, subject.output_shape(Rows(norm=1.0, neighbors="replace")))


@check("postprocessor")
def survives_noise(stage: PostProcessorStage) -> str:
    """It neither fails nor changes kind where its inputs are noise alone, or zero: negative eigenvalues, no rows."""
    try:
        kind_honored(stage)
    except BROKEN as error:
        raise NotRun("it fails on the values given, as kind-honored reports") from error
    replaced: set[str] = set()
    for imagined in (NOISE, NOTHING):
        made = {
            name: made_up(type(value), value.array.shape, imagined, axes=value.axes)
            for name, _, value in inputs(stage.subject)
            if value is not None
        }
        noisy: dict[str, Any] = {name: value for name, value in made.items() if value is not None}
        replaced |= set(noisy)
        try:
            subject: PostProcessor = attrs.evolve(stage.subject, **noisy)  # type: ignore[misc]
            with np.errstate(all="ignore"):
                _honored(subject, subject.apply())
        except BROKEN as error:
            words = str(error) if isinstance(error, Failed) else described(error)
            raise Failed(f"it fails where {', '.join(noisy)} holds nothing but noise, or zeros: {words}") from error
    if not replaced:
        raise NotRun("none of its inputs is of a kind that can be made up")
    return f"noise and zeros in: {', '.join(sorted(replaced))}"


@check("postprocessor")
def pure_function(stage: PostProcessorStage) -> None:
    """The same inputs give the same bits, and the global generators are not used."""
    given = [value for _, _, value in inputs(stage.subject) if value is not None]
    before = [value.array.tobytes() for value in given]
    with refusals_are_not_run("apply() fails, as kind-honored reports"):
        one, other, touched = twice(stage.subject.apply)
    if before != [value.array.tobytes() for value in given]:
        raise Failed("it changes its inputs, which other steps use too")
    if touched or (type(one), one.array.tobytes()) != (type(other), other.array.tobytes()):
        raise Failed("it draws from a global generator or keeps state; a post-processor must be a pure function")
