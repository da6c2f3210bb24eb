"""Private estimators that follow the conventions of scikit-learn, each a plan of dpframe.

They are compositions of `sklearn.base` and of plans, not subclasses of scikit-learn's own estimators: nothing but what
the plan releases is ever computed from the rows.
"""

from __future__ import annotations

from dpframe_sklearn.covariance import PrivateCovariance
from dpframe_sklearn.cross_validated import PrivatePCACV, PrivateRidgeCV
from dpframe_sklearn.pca import PrivatePCA
from dpframe_sklearn.ridge import PrivateRidge
from dpframe_sklearn.scaler import PrivateStandardScaler
from dpframe_sklearn.search import released_r_squared, search_price
from dpframe_sklearn.splits import RowHashFold

__version__ = "0.1.0"

__all__ = [
    "PrivateCovariance",
    "PrivatePCA",
    "PrivatePCACV",
    "PrivateRidge",
    "PrivateRidgeCV",
    "PrivateStandardScaler",
    "RowHashFold",
    "released_r_squared",
    "search_price",
]
