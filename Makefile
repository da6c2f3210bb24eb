# Every target sets up its own environment in .venv; nothing else needs to be installed but Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PLUGINS := $(wildcard plugins/*)

.PHONY: help demo test test-long bench bench-long docs experiments clean

help:
	@echo "make demo         release the covariance of an embedded data set and print the report"
	@echo "make test         every check: style, types, examples, tests"
	@echo "make test-long    long statistical runs"
	@echo "make bench        speed and utility, side by side with peers"
	@echo "make bench-long   large data: streams, a large dimension, growth; gigabytes and many minutes"
	@echo "make docs         the documentation as a site, in build/docs"
	@echo "make experiments  what the results pages show, run again"
	@echo "make clean        remove the environments"

demo: $(READY)
	@$(BIN)/python -m dpframe.demo

# Every core has a worker of pytest; more threads than cores only wait for each other.
test test-long: export OPENBLAS_NUM_THREADS := 1

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q -n auto --dist worksteal -m "not long"

test-long: $(READY)
	$(BIN)/pytest -q -n auto --dist worksteal -m long

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-long: $(READY)
	$(BIN)/python -m benchmarks --long

docs: $(READY)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m docs.figures.make
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

experiments: $(READY)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m docs.experiments

clean:
	rm -rf .venv .venv-peers

$(READY): pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dpframe needs Python 3.11 or newer; say make PYTHON=python3.12, for example."; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]' $(addprefix -e ,$(PLUGINS))
	@touch $@
