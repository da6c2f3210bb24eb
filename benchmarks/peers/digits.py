"""Writes scikit-learn's 8×8 digits to the .npy file that is named; runs in the peer environment."""

import sys

import numpy as np
from sklearn.datasets import load_digits

if __name__ == "__main__":
    np.save(sys.argv[1], load_digits().data)
