"""Randomness: the source that mechanisms receive, and exact noise drawn from it."""

from dpframe.noise.choice import exponential_choice
from dpframe.noise.gaussian import rounded_gaussian
from dpframe.noise.keystream import Keystream
from dpframe.noise.laplace import rounded_laplace
from dpframe.noise.normals import Normals
from dpframe.noise.random import Random

__all__ = ["Keystream", "Normals", "Random", "exponential_choice", "rounded_gaussian", "rounded_laplace"]
