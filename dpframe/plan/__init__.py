"""Plans: steps, their price, the order of reading, and plan files."""

from dpframe.plan.plan import Plan

__all__ = ["Plan"]
