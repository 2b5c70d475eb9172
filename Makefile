# Two commands for a fresh clone, each of which needs nothing but Python 3.11 (or later) and make:
#   make demo   installs the core into .venv and tunes a real model
#   make test   installs what the tests need into the same .venv, then runs ruff, basedpyright and the quick tests
# Beside them: make slow (the statistical tests), make format, make help.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
# What `make test` needs beyond the core.
TEST_EXTRAS := dev,botorch,xgboost,postgres,tables,chem,ray,bench
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt

# The first Python that is recent enough; `make PYTHON=/path/to/python3.11 ...` chooses another.
ifndef PYTHON
PYTHON := $(shell for candidate in python3.11 python3 python3.12 python3.13 python; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$candidate; break; fi; done)
endif

.DEFAULT_GOAL := help
.PHONY: help demo test lint types quick slow format

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.core-installed
	$(BIN)/python examples/demo.py

test: lint types quick

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test-installed
	$(BIN)/basedpyright

# One thread for linear algebra: two test processes with two threads each would wait for each other. Many tests start a
# Python of their own, which must not compile everything again.
quick: $(VENV)/.test-installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

slow: $(VENV)/.test-installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow

format: $(VENV)/.test-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# pip is the last thing that appears in a new environment, so one that was interrupted is made again.
$(VENV)/.created:
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "calibo needs Python 3.11 or later: install it, or name it with 'make PYTHON=/path/to/python3.11'" >&2; \
		exit 1; fi
	@test -x $(BIN)/pip || { echo "creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

# Stamps: an installation is repeated only if what it depends on has changed.
$(VENV)/.core-installed: $(VENV)/.created pyproject.toml constraints.txt
	@echo "installing calibo into $(VENV) (about a minute)"
	$(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.created pyproject.toml constraints.txt Makefile
	@echo "installing calibo and what its tests need into $(VENV) (a few minutes)"
	$(PIP_INSTALL) -e '.[$(TEST_EXTRAS)]'
	@touch $(VENV)/.core-installed $@
