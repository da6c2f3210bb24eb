"""Writes tables that come with scikit-learn to the .npz file that is named; runs in the peer environment."""

import sys

import numpy as np
from sklearn import datasets

if __name__ == "__main__":
    diabetes, cancer = datasets.load_diabetes(scaled=False), datasets.load_breast_cancer()
    np.savez(
        sys.argv[1],
        diabetes=np.column_stack([diabetes.data, diabetes.target]),
        wine=datasets.load_wine().data,
        breast_cancer=np.column_stack([cancer.data, cancer.target]),
        digits=datasets.load_digits().data,
        iris=datasets.load_iris().data,
    )
