"""Mechanisms and their like with one mistake each, for the conformance kit to find."""
