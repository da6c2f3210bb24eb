"""Measurements of dpframe beside what else could be used: `python -m benchmarks`, from the root of the repository.

Each section is a module with a function ``measure(turns) -> Table``. Whatever is compared is measured in turns
within one run, and medians are reported. Nothing here is a test: a missed goal is printed in words and fails nothing.
"""
