# The two commands of the README, `make demo` and `make test`, need python3 (3.11 to 3.13) and make, nothing else.
# Packages are installed once, into .venv; after that both work without a network.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-all lint types check format bench docs docs-test figures dist clean
.DEFAULT_GOAL := help

help:
	@echo "make demo      sample two hard models beside NUTS and the truth, and draw a picture of it"
	@echo "make test      lint, types and tests"
	@echo "make test-all  the slow tests too, and those of other libraries' models"
	@echo "make format    put the code into its format"
	@echo "make bench     run the benchmarks that the docs quote"
	@echo "make dist      build the sdist and the wheel, and use the wheel in an empty environment"
	@echo "make docs      build the site of the documentation into build/site"
	@echo "make docs-test build it and look at every page in a browser"
	@echo "make figures   draw the figures of the documentation again"
	@echo "make clean     remove .venv and all that was made"

# The tools of `make test` hold all that the demo needs: where they are installed, nothing more is fetched.
demo: $(firstword $(wildcard $(VENV)/.installed-dev) $(VENV)/.installed-demo)
	@$(BIN)/mongepatch demo

test: check
	$(BIN)/pytest -n auto --dist loadfile

test-all: $(VENV)/.installed-external $(VENV)/.installed-docs check
	$(BIN)/pytest -n auto --dist worksteal -m "slow or not slow"
	$(BIN)/pytest -n auto --dist worksteal -m "slow or not slow" external_tests
	$(MAKE) dist

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks step
	$(BIN)/python -m benchmarks patch-step
	$(BIN)/python -m benchmarks scaling
	$(BIN)/python -m benchmarks funnel
	$(BIN)/python -m benchmarks schemes
	$(BIN)/python -m benchmarks kernels
	$(BIN)/python -m benchmarks implicit
	$(BIN)/python -m benchmarks uturn
	$(BIN)/python -m benchmarks alpha
	$(BIN)/python -m benchmarks lengths
	$(BIN)/python -m benchmarks warmup
	$(BIN)/python -m benchmarks patches
	$(BIN)/python -m benchmarks bare
	$(BIN)/python -m benchmarks gradients
	$(BIN)/python -m benchmarks examples
	$(BIN)/python -m benchmarks cold --rounds 3
	$(BIN)/python -m benchmarks imports
	$(BIN)/python -m benchmarks progress
	$(BIN)/python -m benchmarks store
	$(BIN)/python -m benchmarks until
	$(BIN)/python -m benchmarks devices
	$(BIN)/python -m benchmarks hosts
	@echo "The benchmarks peers, pymc, stan and posteriordb need other libraries or data: see docs/benchmarks.md"

# What a release is made of: see CONTRIBUTING.md.
dist: $(VENV)/.installed-release
	$(BIN)/python scripts/check_dist.py

# Without a network, and every warning is an error; from a fresh clone it installs its tools first.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/site
	@echo "The site is in build/site: open build/site/index.html."

docs-test: $(VENV)/.installed-docs $(VENV)/.installed-dev
	$(BIN)/pytest -m "slow or not slow" tests/documentation

figures: $(VENV)/.installed-docs
	$(BIN)/python -m docs.figures

clean:
	rm -rf $(VENV) build dist demo.png reproduction .mypy_cache .pytest_cache .ruff_cache
	find src tests external_tests benchmarks -name __pycache__ -type d -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "make: $(PYTHON) must be Python 3.11, 3.12 or 3.13; set another with 'make PYTHON=python3.12 …'." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: '$(PYTHON) -m venv' failed; on Debian and Ubuntu it is in the package python3-venv." >&2; exit 1; }

# One stamp for each set of extras: .installed-demo, .installed-dev, .installed-docs, .installed-external, .installed-release.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	@echo "installing mongepatch[$*] into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]" || { \
	  echo "make: installing mongepatch[$*] failed; pip says why above. It needs a network the first time." >&2; exit 1; }
	@touch $@
