"""What becomes of a run that fails: whether it was charged decides the exit code, and what was released is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dpframe import registry
from dpframe.cli.output import Output
from dpframe.errors import DPFrameError, ReleaseFailed
from dpframe.hookspecs import hookimpl
from dpframe.ledger.store import UNSURE

if TYPE_CHECKING:
    from dpframe.run.result import Result


class _Gate:
    """Whether a run came as far as its charge: past every plugin that may refuse it."""

    passed = False

    @hookimpl(trylast=True)
    def dpframe_before_charge(self) -> None:
        self.passed = True


@contextmanager
def charging(output: Output, deliver: Callable[[Result], None]) -> Iterator[None]:
    """Deliver what a failing run has released, and turn whatever happens after the charge into a ReleaseFailed.

    Args:
        output: the files of the result.
        deliver: saves and prints a result.
    """
    gate = _Gate()
    try:
        with registry.observing(gate):
            yield
    except BaseException as error:
        released = getattr(error, "result", None)
        if released is not None:
            error.add_note(_delivered(released, output, deliver))
        refused = isinstance(error, DPFrameError) and released is None and UNSURE.rstrip(".") not in str(error)
        if isinstance(error, ReleaseFailed) or not gate.passed or refused:
            raise
        detail = str(error) if isinstance(error, DPFrameError) else f"it ended with {type(error).__name__}."
        raise ReleaseFailed(
            " ".join(
                [
                    f"the run failed at or after its charge, which stands unless a ledger shows otherwise: {detail}",
                    *getattr(error, "__notes__", ()),
                ]
            )
        ) from None


def _delivered(released: Result, output: Output, deliver: Callable[[Result], None]) -> str:
    """Deliver the part of a result that a failing run has released, and say where it is."""
    try:
        with suppress(BrokenPipeError):
            deliver(released)
    except ReleaseFailed as error:
        return str(error)
    return f"What was released is in {output.described}."
