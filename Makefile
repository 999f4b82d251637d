# Everything runs in .venv, made on first use from Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check bench vectors judge docs clean

help: ## list these targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/run ## judge, place and refit pods on a recorded cluster, over TLS
	$(BIN)/numafit demo

test: $(VENV)/dev ## all tests: tables, properties, vectors, a real server over TLS
	$(BIN)/python -m pytest -q

test-long: $(VENV)/dev ## the same properties for longer, and 100,000 steps of the stateful machine
	NUMAFIT_TEST_PROFILE=long $(BIN)/python -m pytest -q tests/policy tests/properties

check: $(VENV)/dev ## formatting, lint, types, import contract, branch coverage of policy
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/policy tests/test_vectors.py --cov --cov-report=term

bench: $(VENV)/dev ## measure, print ratios and gates, keep the numbers as JSON
	$(BIN)/python -m tests.bench

vectors: $(VENV)/dev ## ask the vectors and name the deviations
	$(BIN)/python -m tests.vectors -v tests/data/vectors/*.json

judge: $(VENV)/dev ## ask kubelet's own code (needs Go 1.26; built once, minutes) what the model says
	$(BIN)/python -m tests.kubelet_judge --cases 1000

docs: $(VENV)/dev ## write the generated pages of docs/ anew
	$(BIN)/numafit codes -o markdown > docs/codes.md
	$(BIN)/numafit levels schema > docs/levels.schema.json

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "numafit needs Python 3.11 or newer; '$(PYTHON)' is not. Install it, or run: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; install it (Debian: python3-venv)" >&2; exit 1; }

$(VENV)/run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing numafit into $(VENV) ..."
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing numafit and its test tools into $(VENV) ..."
	@$(PIP) install -c constraints.txt -e '.[dev]'
	@touch $@
