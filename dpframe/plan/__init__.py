"""Plans: their steps, their price, the schedule of passes over the data, and plan files."""

from dpframe.plan.plan import Plan

__all__ = ["Plan"]
