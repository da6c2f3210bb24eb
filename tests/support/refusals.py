"""What must be refused, and a watch over what must not happen before the charge."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.noise import Keystream
from dpframe.sources import Source

SECRET = 1234.5678
WORD = "hush-hush"
ROWS = 7919
SECRETS = ("1234", "5678", "hush", "7919", "7,919")

INFINITY, NAN = float("inf"), float("nan")
PLAIN = dp.Rows(norm=1.0, neighbors="add-remove")
COLUMNS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Column("hours", 1, 99)], neighbors="replace")
WORDS = dp.Rows(columns=[dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"])], neighbors="replace")
BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
AGES = np.full(ROWS, SECRET)
TABLE = np.full((ROWS, 2), SECRET)


def plan(*steps: dp.Step, rows: dp.Rows = PLAIN, budget: dp.Budget = BUDGET, **settings: Any) -> dp.Plan:
    return dp.Plan(rows=rows, budget=budget, steps=[dp.release("moment", "gaussian"), *steps], **settings)


def rows(**promise: Any) -> dp.Rows:
    return dp.Rows(**{"norm": 1.0, "neighbors": "add-remove", **promise})


class Watch:
    """Counts what must not happen before the charge, and the charge itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.charges = self.reads = self.draws = 0
        take, blocks = Keystream.take, Source.blocks

        def counted_take(stream: Keystream, count: int) -> Any:
            self.draws += 1
            return take(stream, count)

        def counted_blocks(source: Source) -> Iterator[Any]:
            self.reads += 1
            return blocks(source)

        monkeypatch.setattr(Keystream, "take", counted_take)
        monkeypatch.setattr(Source, "blocks", counted_blocks)

    @dp.hookimpl
    def dpframe_before_charge(self, plan: dp.Plan) -> None:
        self.charges += 1

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.charges, self.reads, self.draws


class Counted:
    """An iterable of chunks that counts how often it is asked for one, and can be read again."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks = chunks
        self.asked = 0

    def __iter__(self) -> Iterator[Any]:
        for chunk in self.chunks:
            self.asked += 1
            yield chunk


class OneShot(Counted):
    """The same as an iterator, which cannot."""

    def __init__(self, *chunks: Any) -> None:
        super().__init__(*chunks)
        self.left = super().__iter__()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.left)


def check_refused(
    watch: Watch, attempt: Callable[[], object], error: type[dp.DPFrameError], says: tuple[str, ...]
) -> dp.DPFrameError:
    with pytest.raises(dp.DPFrameError) as caught:
        attempt()
    message = str(caught.value)
    assert error is type(caught.value)
    assert [] == [part for part in says if part not in message], message
    assert [] == [secret for secret in SECRETS if secret in message], message
    assert (0, 0, 0) == watch.counts
    return caught.value
