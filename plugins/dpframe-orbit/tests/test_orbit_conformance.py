"""The conformance kit on everything this plugin provides. tests/auditing has longer audits."""

import numpy as np

import dpframe as dp
from dpframe.testing import conformance
from dpframe_orbit import Bingham, LaplaceScores, Orbit, UnitaryOrbits

PLAN = dp.Plan(
    rows=dp.Rows(norm=1.0, neighbors="add-remove", dim=6),
    budget=dp.Budget(epsilon=1.0),
    steps=[
        dp.release("estimate", "orbit", spectrum=[1.0, 1.0]),
        dp.derive("components", "top-subspace", of="estimate", k=2),
    ],
)

PLAIN = dp.Rows(norm=1.0, neighbors="replace", dim=2)

test_orbit = conformance(Orbit(spectrum=[1.0, 0.5], real=False), rows=PLAIN, trials=1000)
# Under every other promise audits would take minutes.
test_orbit_elsewhere = conformance(Orbit(spectrum=[1.0, 0.5], real=False), without=["stated-loss"])
test_bingham = conformance(Bingham(k=2), trials=1000)
test_scores = conformance(LaplaceScores(directions=np.eye(3)[:, :2]), trials=1000)
test_oracle = conformance(UnitaryOrbits(), plan=PLAN, draws=60)
