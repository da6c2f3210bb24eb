"""Shapes that are known before a run: steps are checked by them; where no step tells, when the value is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import dpframe.plugin as dp
from tests.support.mechanisms import NoisySignal, registered

BUDGET = dp.Budget(epsilon=1.0, delta=1e-6)
DATA = np.random.default_rng(0).standard_normal((20, 3))
ROWS = dp.Rows(norm=1.0, neighbors="add-remove", dim=3)
MOMENT = dp.release("moment", "gaussian")


@attrs.frozen(kw_only=True)
class Silent(dp.PostProcessor):
    """Every coordinate as a direction, or so many of them; tells nothing of it."""

    name = "test-silent"
    gives = dp.Subspace

    of: Any = dp.input(dp.SymmetricMatrix)
    k: int | None = None

    def apply(self) -> dp.Subspace:
        return dp.Subspace(np.eye(len(self.of.array))[:, : self.k])


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    with registered(NoisySignal, Silent):
        yield


def plan(*steps: dp.Step, rows: dp.Rows = ROWS) -> dp.Plan:
    return dp.Plan(rows=rows, budget=BUDGET, steps=[MOMENT, *steps, dp.release("signal", "noisy-signal", basis="u")])


def test_the_shape_of_a_value_and_of_a_reference() -> None:
    assert (3, 1) == dp.shape_of(dp.Subspace(np.eye(3)[:, :1]))
    assert (None, 2) == dp.shape_of(dp.Ref("u", shape=(None, 2)))
    assert None is dp.shape_of(dp.ref("u"))
    assert None is dp.shape_of(None)
    assert dp.ref("u") == dp.Ref("u", shape=(3, 2))  # what a check is told is no part of a plan
    assert "Ref(name='u')" == repr(dp.Ref("u", shape=(3, 2)))


def test_leading_directions_tell_how_many_they_are() -> None:
    by_reference = dp.postprocess.TopSubspace(of="moment", k=2)
    assert (None, 2) == by_reference.output_shape(ROWS)
    assert (5, 2) == dp.postprocess.TopSubspace(of=np.eye(5), k=2).output_shape(ROWS)
    assert dp.postprocess.TopSubspace(of=np.eye(5), k=2).apply().array.shape == (5, 2)


def test_a_later_step_is_checked_by_what_an_earlier_one_tells() -> None:
    top = dp.derive("u", "top-subspace", of="moment", k=3)
    with pytest.raises(dp.PlanError, match=r"step 'signal': a block moment needs a basis of fewer directions .* got 3"):
        plan(top)
    unbound = plan(top, rows=attrs.evolve(ROWS, dim=None))  # nothing is wrong with it for more coordinates
    with pytest.raises(dp.PlanError, match="fewer directions than the 3 coordinates"):
        unbound.run(DATA)
    assert unbound.bind(4).rows.dim == 4


def test_a_step_that_tells_nothing_is_checked_when_its_value_is_there() -> None:
    """Too late for the charge; but what is wrong follows from released values, so that it is told."""
    with pytest.raises(dp.ReleaseFailed, match=r"'signal' failed after the charge: a block moment .* got 3\. Take"):
        plan(dp.derive("u", "test-silent", of="moment")).run(DATA)
    assert (2, 2) == plan(dp.derive("u", "test-silent", of="moment", k=2)).run(DATA)["signal"].shape


def test_directions_of_a_matrix_that_may_be_complex_are_a_kind_of_their_own() -> None:
    hermitian = dp.HermitianMatrix([[2.0, 1j], [-1j, 3.0]])
    found = dp.postprocess.TopSubspace(of=hermitian, k=1)
    assert dp.ComplexSubspace is found.output({"of": dp.HermitianMatrix}) is type(found.apply())
    assert dp.Subspace is dp.postprocess.TopSubspace(of="moment", k=1).output({"of": dp.Covariance})
    written = dp.postprocess.TopSubspace(of=[[2.0, 1.0], [1.0, 3.0]], k=1)
    assert dp.Subspace is written.output({"of": dp.HermitianMatrix}) is type(written.apply())
    steps = [MOMENT, dp.derive("u", "top-subspace", of=hermitian, k=1)]
    scores = dp.release("scores", "laplace-scores", directions=dp.ref("u"))
    words = "needs a subspace in directions=, but 'u' gives a complex subspace. Take the real part .* \"real-part\""
    with pytest.raises(dp.PlanError, match=words):
        dp.Plan(rows=ROWS, budget=BUDGET, steps=[*steps, scores])
