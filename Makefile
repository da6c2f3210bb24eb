# Every target sets up its own environment in .venv; nothing else needs to be installed but Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PACKAGES := core $(wildcard plugins/*)
PROJECTS := pyproject.toml $(addsuffix /pyproject.toml,$(PACKAGES))
INSTALL := -m pip install -q --disable-pip-version-check

.PHONY: help demo test test-long test-lowest test-pythons bench bench-long docs figures experiments dist clean

help:
	@echo "make demo         release the covariance of an embedded data set and print the report"
	@echo "make test         every check: style, types, examples, tests"
	@echo "make test-long    long statistical runs"
	@echo "make test-lowest  the tests on the lowest versions of all libraries that are declared to do; QUICK=1 for a part"
	@echo "make test-pythons the tests on Python $(PYTHONS), as far as installed; QUICK=1 for a part"
	@echo "make bench        speed and utility, side by side with peers"
	@echo "make bench-long   large data: streams, a large dimension, growth; gigabytes and many minutes"
	@echo "make docs         the documentation as a site, in build/docs"
	@echo "make figures      the figures of the documentation, drawn again"
	@echo "make experiments  what the results pages show, run again; FIGURE=004-5 for one figure"
	@echo "make dist         wheels and source distributions of all packages, in dist"
	@echo "make clean        remove the environments"

demo: $(READY)
	@$(BIN)/python -m dpframe.demo

# Every core has a worker of pytest; more threads than cores only wait for each other.
test test-long test-lowest test-pythons: export OPENBLAS_NUM_THREADS := 1
PYTEST := pytest -q -n auto --dist worksteal

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/$(PYTEST) -m "not long"

test-long: $(READY)
	$(BIN)/$(PYTEST) -m long

# With QUICK=1 these two leave out what takes long and hardly depends on versions: pages, published figures, audits, the
# search for a budget, tests of the kit, packages from wheel to removal, pages in a browser, and rules about our own files.
LEFT_OUT = $(if $(QUICK),test_docs.py test_site.py test_experiments.py auditing test_target.py test_kit.py \
  test_planted.py test_examples.py test_packages.py test_scaffold.py test_layers.py test_layout.py test_browser.py)

# The lowest versions of libraries go with the lowest Python. Packages are not built there and style is not checked: the
# tools for that are new.
LOWEST_PYTHON := 3.11
test-lowest:
	@if .ci/find-python $(LOWEST_PYTHON) >/dev/null; then $(MAKE) --no-print-directory test-on-lowest; \
	else echo "Not tested: lowest versions. Python $(LOWEST_PYTHON) was not found."; fi
test-on-lowest: LEFT_OUT += test_examples.py test_packages.py test_scaffold.py

# EXCEPT=3.11 leaves one out.
PYTHONS := 3.11 3.12 3.13 3.14
test-pythons:
	@missing=; failed=; \
	for version in $(filter-out $(EXCEPT),$(PYTHONS)); do \
	  if ! .ci/find-python $$version >/dev/null; then missing="$$missing $$version"; \
	  elif ! .ci/timed "Python $$version" $(MAKE) --no-print-directory test-on-$$version; then failed="$$failed $$version"; fi; \
	done; \
	if [ -n "$$missing" ]; then echo "Not tested: Python$$missing. Not found."; fi; \
	if [ -n "$$failed" ]; then echo "Failed: Python$$failed."; exit 1; fi

test-on-%: .venv-%/.ready
	.venv-$*/bin/$(PYTEST) -m "not long" $(foreach each,$(LEFT_OUT),--ignore-glob='*/$(each)')

bench: $(READY)
	$(BIN)/python -m benchmarks

bench-long: $(READY)
	$(BIN)/python -m benchmarks --long

docs: $(READY)
	$(BIN)/python $(INSTALL) -e '.[docs]'
	$(BIN)/python -m docs.building

figures: $(READY)
	$(BIN)/python $(INSTALL) -e '.[docs]'
	$(BIN)/python -m docs.figures.make

experiments: $(READY)
	$(BIN)/python $(INSTALL) -e '.[docs]'
	$(BIN)/python -m docs.experiments $(FIGURE)

# Each wheel is built from its source distribution: what is missing there fails here, and nothing points to this folder.
dist: $(READY)
	rm -rf dist
	for package in . $(PACKAGES); do $(BIN)/python -m build --no-isolation --outdir dist $$package || exit 1; done

clean:
	rm -rf .venv .venv-*

$(READY): $(PROJECTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dpframe needs Python 3.11 or newer; say make PYTHON=python3.12, for example."; exit 1; }
	$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip uninstall -q -y dpframe  # one from before dpframe-core would take the command away with it
	$(BIN)/python $(INSTALL) -e '.[dev]' $(addprefix -e ./,$(PACKAGES))
	@touch $@

.PRECIOUS: .venv-%/.ready
.venv-%/.ready: $(PROJECTS)
	$$(.ci/find-python $*) -m venv --clear .venv-$*
	.venv-$*/bin/python $(INSTALL) --no-compile -e '.[dev]' $(addprefix -e ./,$(PACKAGES))
	@touch $@

# Packages are built in environments of their own, for which pip takes constraints from these variables only: the first
# one up to pip 25.2, the second one later.
.venv-lowest/.ready: $(PROJECTS) $(wildcard examples/*/pyproject.toml) .ci/lowest.py
	$$(.ci/find-python $(LOWEST_PYTHON)) -m venv --clear .venv-lowest
	.venv-lowest/bin/python .ci/lowest.py >.venv-lowest/lowest.txt
	.venv-lowest/bin/python .ci/lowest.py --build >.venv-lowest/build.txt
	PIP_CONSTRAINT=.venv-lowest/build.txt PIP_BUILD_CONSTRAINT=.venv-lowest/build.txt \
	  .venv-lowest/bin/python $(INSTALL) --no-compile -c .venv-lowest/lowest.txt -e '.[test]' $(addprefix -e ./,$(PACKAGES))
	@touch $@
