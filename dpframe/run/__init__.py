"""Explaining and running a plan: the charge, the passes over the data, the draws, and the reports."""
