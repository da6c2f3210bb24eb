"""Built-in neighbors are neighbors; supplied ones are checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpframe.plugin as dp
from dpframe.auditing.neighbor_pairs import built_in, checked
from dpframe.reading.totals import accumulate
from dpframe.sources import open_source

COLUMNS = [dp.Column("age", 17, 90), dp.Category("sex", ["F", "M"]), dp.Column("hours", 1, 99, missing=40)]
BOTH = pytest.mark.parametrize("relation", ["add-remove", "replace"])


@BOTH
@pytest.mark.parametrize("settings", [{"norm": 2.0, "dim": 4}, {"norm": 1.0, "dim": 1}, {"columns": COLUMNS}], ids=str)
@pytest.mark.parametrize("contributions", [1, 3])
def test_built_in_pairs_are_neighbors_that_a_plan_can_read(
    relation: str, settings: dict[str, Any], contributions: int
) -> None:
    rows = dp.Rows(neighbors=relation, contributions=contributions, **settings)
    plan = dp.Plan(rows=rows, budget=dp.Budget(epsilon=1.0, delta=1e-6), steps=[dp.release("moment", "gaussian")])
    pairs = built_in(rows)
    assert len(pairs) == len({pair.name for pair in pairs})
    for pair in pairs:
        plan.run([pair.one], insecure_seed=1)  # in lists: some have as many rows as columns
        plan.run([pair.other], insecure_seed=1)
        if repr(pair.one) != repr(pair.other):  # with one direction or one cell, some pairs are the same twice
            assert pair is checked(pair, rows, 1)
    assert sum(repr(pair.one) != repr(pair.other) for pair in pairs) >= 4


@BOTH
def test_the_moment_moves_as_far_as_it_can(relation: str) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=3, contributions=2)

    def moment(data: Any) -> Any:
        return accumulate(open_source(data, rows).blocks(), [dp.Moment()], rows)[dp.Moment()]["moment"].astype(float)

    farthest = max(np.linalg.norm(moment(pair.one) - moment(pair.other)) for pair in built_in(rows))
    assert 0.999 < farthest / math.sqrt(dp.Moment().sensitivity(rows)["moment"].l2_squared) <= 1.0


@pytest.mark.parametrize(
    ("relation", "one", "other"),
    [
        ("add-remove", [[1.0, 0.0]], [[0.0, 1.0]]),
        ("add-remove", [[1.0, 0.0]], [[1.0, 0.0]]),
        ("add-remove", [[1.0, 0.0]] * 3, [[1.0, 0.0]]),
        ("replace", [[1.0, 0.0]] * 2, [[1.0, 0.0]]),
        ("replace", [[1.0, 0.0]] * 2, [[0.0, 1.0]] * 2),
        ("replace", [[1.0, 0.0]], [[1.0, 0.0]]),
    ],
)
def test_data_sets_that_are_not_neighbors_are_refused(relation: str, one: Any, other: Any) -> None:
    rows = dp.Rows(norm=1.0, neighbors=relation, dim=2)
    with pytest.raises(dp.PlanError, match="pair 1 as supplied: these are not neighbors under"):
        dp.audit("gaussian", rows=rows, pairs=[(np.array(one), np.array(other))])


def test_neighbors_are_compared_as_a_run_reads_them() -> None:
    rows = dp.Rows(columns=[dp.Column("a", 0, 1), dp.Column("b", 0, 1)], neighbors="replace")
    one = {"a": np.array([0.1, 0.2]), "b": np.array([0.3, 0.4])}
    reordered = {"b": np.array([0.1, 0.4]), "a": np.array([0.3, 0.2])}
    checked((one, reordered), rows, 1)  # row 1 differs, as columns are found by name
    with pytest.raises(dp.PlanError, match="not neighbors"):
        checked((one, {"b": one["b"], "a": one["a"]}), rows, 1)
    plain = dp.Rows(norm=1.0, neighbors="replace", dim=2)
    with pytest.raises(dp.PlanError, match="one has 3 rows that the other lacks"):
        checked(([np.zeros((3, 2))], [np.ones((3, 2))]), plain, 1)
    with pytest.raises(dp.PlanError, match="not one-shot iterables"):
        checked((iter([np.zeros((3, 2))]), [np.ones((3, 2))]), plain, 1)


def test_something_else_than_pairs_is_refused() -> None:
    with pytest.raises(dp.PlanError, match="pairs= takes pairs"):
        dp.audit("gaussian", pairs=[np.eye(2)])
