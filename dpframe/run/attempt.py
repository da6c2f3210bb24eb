"""What becomes of the steps of a run after the charge, which stands whatever fails.

What was paid for is not lost with it. The words of a derivation are a function of released values, so they are shown,
and the other steps go on. Of a mechanism that fails, the error has the type of what it raised and nothing else, and
nothing more is read or drawn: *that* it fails may depend on the data, and so may every further attempt. The values
released before it are returned all the same. They are some of the outputs whose losses were charged, so together with
the fact of the failure they reveal nothing more than the complete run and that fact would. The result, which may be
published, says no more than that fact, and that the guarantee does not cover it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from dpframe.errors import DataError, DerivationFailed, ReleaseFailed, SamplingError, described
from dpframe.interfaces import Mechanism
from dpframe.kinds import Kind
from dpframe.noise import Random
from dpframe.plan import Plan
from dpframe.plan.schedule import inputs_of
from dpframe.plan.steps import Step
from dpframe.run.derivations import WrongKind
from dpframe.sources.opened import is_panic

T = TypeVar("T")

NOT_COVERED = "failed. That it did may depend on the data, which the guarantee does not cover."


@attrs.frozen(kw_only=True)
class Failure:
    """Why a step has no value.

    Args:
        words: what the error says about it.
        derivation: whether a derivation failed, rather than the reading or the draw of a release.
        cause: the original exception, in a run that is seeded for a test.
        raised: the error of a sampler that reached its limit, which has words of its own.
    """

    words: str
    derivation: bool
    cause: BaseException | None = None
    raised: SamplingError | None = None


@attrs.define
class Attempt:
    """The values of a run as far as there are any, and why other steps have none.

    Args:
        values: the values, by step.
        failures: the steps that failed themselves.
        lacking: the steps that were not attempted, each with a step whose failure is the reason.
    """

    values: dict[str, Kind] = attrs.field(factory=dict)
    failures: dict[str, Failure] = attrs.field(factory=dict)
    lacking: dict[str, str] = attrs.field(factory=dict)

    @property
    def ended_by(self) -> str | None:
        """The release that failed, after which nothing more is read or drawn."""
        return next((name for name, failure in self.failures.items() if not failure.derivation), None)

    def is_possible(self, plan: Plan, step: Step) -> bool:
        """Whether a step can be attempted, as far as is known by now.

        Args:
            plan: the plan.
            step: the step.
        """
        absent = {*self.failures, *self.lacking}
        lacks = next((name for name in inputs_of(step, plan.rows) if name in absent), None)
        if lacks is None and isinstance(step.action, Mechanism):
            lacks = self.ended_by
        if lacks is not None and step.name not in absent:
            self.lacking[step.name] = lacks
        return lacks is None

    def guarded(
        self, step: str, random: Random, work: Callable[[], T], *, derivation: bool, reading: bool = False
    ) -> T | None:
        """The result of work for a step; None where it fails, with as much of the reason as may be told.

        Neither the original exception nor its frames, which may hold data, are kept, unless the run is seeded for a
        test. Of reading, the messages of DataError and WrongKind are repeated; of mechanisms, those of WrongKind and
        SamplingError.

        Args:
            step: the name of the step.
            random: the randomness of the run.
            work: what is to be done.
            derivation: whether it sees released values only.
            reading: whether the data is read. Then a SystemExit ends the process, as it may from a source of the user;
                that of a plugin is a failure of its step.
        """
        raised: SamplingError | None = None
        try:
            return work()
        except BaseException as error:
            ours = isinstance(error, Exception) or is_panic(error) or (isinstance(error, SystemExit) and not reading)
            if not ours:
                raise
            if isinstance(error, WrongKind) or (reading and isinstance(error, DataError)):
                words = f": {_sentence(str(error))}"
            else:
                words = f": {_sentence(described(error))}" if derivation else f" ({type(error).__name__})."
            cause = None if random.private else error
            if isinstance(error, SamplingError) and not derivation:
                raised = error
        if raised is not None and random.private:
            raised.__cause__ = raised.__context__ = raised.__traceback__ = None
        self.failures[step] = Failure(words=words, derivation=derivation, cause=cause, raised=raised)
        return None

    def explained(self) -> dict[str, str]:
        """Why steps have no value, in words that may be published, by step."""
        failed = {
            name: f"failed{failure.words}" if failure.derivation else NOT_COVERED
            for name, failure in self.failures.items()
        }
        return failed | {name: f"not computed, since {lacks!r} failed." for name, lacks in self.lacking.items()}

    def error(self, plan: Plan) -> ReleaseFailed | None:
        """The error that tells of all failures; None where there is none.

        Args:
            plan: the plan.
        """
        if not self.failures:
            return None
        step = self.ended_by or next(iter(self.failures))
        failure = self.failures[step]
        kept = ", ".join(map(repr, self.values))
        returned = f"What was released is in error.result: {kept}." if kept else "Nothing of this run is returned."
        error: ReleaseFailed | None = failure.raised
        if error is None:
            withheld = (
                "Other details are withheld, since they may depend on the data; running made-up data with "
                "insecure_seed=1 shows them. "
            )
            charged = plan.spent.within(plan.budget)
            error = (DerivationFailed if failure.derivation else ReleaseFailed)(
                f"step {step!r} failed after the charge{failure.words} The charge of {charged} stands. "
                f"{'' if failure.derivation else withheld}{returned}"
            )
            error.__cause__ = failure.cause
        elif kept:
            error.add_note(returned)
        error.step, error.spent = step, plan.spent
        for name, words in self.explained().items():
            if name != step:
                error.add_note(f"Step {name!r}: {words}")
        return error

    def checked(self, plan: Plan) -> dict[str, Kind]:
        """The values of all steps; raises the error where one has none.

        Args:
            plan: the plan.
        """
        if (error := self.error(plan)) is not None:
            raise error
        return self.values


def _sentence(words: str) -> str:
    return f"{words.rstrip().removesuffix('.')}."
