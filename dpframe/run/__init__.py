"""Explaining and running a plan: the charge, the reading, the draws, and what is reported of them."""
