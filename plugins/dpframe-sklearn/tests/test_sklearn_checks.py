"""scikit-learn's own checks of estimators."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from dpframe_sklearn import (
    PrivateCovariance,
    PrivatePCA,
    PrivatePCACV,
    PrivateRidge,
    PrivateRidgeCV,
    PrivateStandardScaler,
)

PROMISE: dict[str, Any] = {"epsilon": 50.0, "delta": 1e-6, "bounds": (-10, 10)}
TARGET: dict[str, Any] = {"target_bounds": (-10, 10)}
ESTIMATORS = [
    make(**PROMISE, **extra, neighbors=neighbors, insecure_seed=seed)
    for make, extra in (
        (PrivatePCA, {}),
        (PrivateCovariance, {}),
        (PrivateStandardScaler, {}),
        (PrivateRidge, TARGET),
        (PrivatePCACV, {}),
        (PrivateRidgeCV, TARGET),
    )
    for neighbors, seed in (("replace", 1), ("add-remove", 2))
]


def demanding_a_leak(estimator: Any) -> dict[str, str]:
    """Checks that ask for an error which would depend on private data."""
    found = {}
    if hasattr(estimator, "target_bounds"):
        found["check_supervised_y_no_nan"] = "an error about a missing target would reveal it"
    if estimator.neighbors == "add-remove":
        found["check_estimators_empty_data_messages"] = "an error about no rows would reveal their number"
    return found


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=demanding_a_leak)  # type: ignore[untyped-decorator]
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
