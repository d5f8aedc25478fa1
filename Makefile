# One target per task; `make` alone lists them. All of them work from a fresh clone.

PYTHON ?= python3
VENV   ?= .venv

BIN  := $(VENV)/bin
BENCH := .venv-bench
DEMO := $(BIN)/draisine run bicycle_free_run --out out

# Versions and hashes are those of requirements.lock, the same on every machine; where they cannot be met set-up says so and goes on with
# the ranges of pyproject.toml. pip compiles byte code on one core; `compileall` below does the same on all of them in half the time. It is done here,
# and not left to the first import, because some environments forbid Python to write byte code later.
LOCKED  := $(BIN)/python tools/lock.py install
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/(tests?|testing)/' $(VENV)/lib src

.DEFAULT_GOAL := help
.PHONY: fuzz help setup update demo test test-long test-all schedule lint check bench docs notebooks clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(VENV)/.runtime  ## the package in .venv, editable; quick when nothing changed

update: | $(VENV)/bin/python  ## the lock file anew, from the newest versions that pyproject.toml allows
	$(BIN)/python tools/lock.py renew

demo: $(VENV)/.runtime  ## the free bicycle: summary on the terminal, figures and data in out/
	$(DEMO)

# Workers write byte code even where the environment forbids it: else each of them, and every process that a test starts, compiles all sources.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n auto --dist worksteal

test: $(VENV)/.test  ## every capability, the first cases of each test (ARGS="-k bicycle"; LONG=1: long tests, too)
	$(PYTEST) -m 'not further$(if $(LONG),, and not long)' $(ARGS)

test-long: $(VENV)/.test  ## pages of the documentation, browsers, packages
	$(PYTEST) -m long $(ARGS)

test-all: $(VENV)/.test  ## everything that must hold, in one run: all cases of all tests
	$(PYTEST) $(ARGS)

schedule: $(VENV)/.test  ## measure all cases anew, and choose those of make test: tests/schedule.toml
	rm -f build/costs.jsonl; mkdir -p build
	$(PYTEST) -p schedule --costs build/costs.jsonl
	$(BIN)/python tests/schedule.py build/costs.jsonl

fuzz: $(VENV)/.test  ## 100,000 mutated model files: each is read and run, or refused with the reason (ARGS="--seed 7")
	$(BIN)/python -m tools.fuzz $(ARGS)

lint: $(VENV)/.dev  ## format, lint, types, layers: the gates that run nothing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test-all  ## every gate

bench:  ## our figures beside those of peers, kept in benchmarks/results; needs a C compiler (RESUME=1, ONLY=part)
	@$(MAKE) --no-print-directory --jobs=2 $(BENCH)/.peers $(if $(ONLY),,$(VENV)/.test)
	$(BENCH)/bin/python benchmarks/run.py --keep benchmarks/results $(if $(RESUME),--resume) $(if $(ONLY),--only $(ONLY))

docs: $(VENV)/.docs  ## the documentation as pages in site/; runs every snippet, fails on broken links (QUICK=1: runs none)
	rm -rf site
	$(BIN)/sphinx-build -W -E -j auto $(if $(QUICK),-t quick) -d build/doctrees docs site

notebooks: $(VENV)/.docs  ## the tutorial and the how-to pages as notebooks in out/notebooks
	PYTHONPATH=docs $(BIN)/python -m extensions.notebooks out/notebooks

clean:  ## remove the environment and everything that was generated
	rm -rf $(VENV) $(BENCH) out site build dist docs/api docs/gallery .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find src tests docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "draisine needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)."; \
	  echo "Name a newer one: make setup PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Stamps: an environment is renewed when pyproject.toml or the lock is newer than it.
$(VENV)/.runtime: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(LOCKED) runtime
	$(COMPILE)
	$(BIN)/draisine warm
	@touch $@

$(VENV)/.test: $(VENV)/.runtime
	$(LOCKED) test
	@touch $@

$(VENV)/.docs: $(VENV)/.runtime
	$(LOCKED) docs
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(LOCKED) dev
	@touch $@

$(VENV)/.pinocchio: $(VENV)/.test
	$(LOCKED) pinocchio
	@touch $@

$(VENV)/.robots: $(VENV)/.pinocchio
	$(LOCKED) robots
	@touch $@

# Bicycles and riders that were measured. They are published as sources, which take a while, and are left out of the lock; what they need is
# there already.
MEASURED := bicycleparameters==1.5.2 dynamicisttoolkit==0.7.0 uncertainties==3.2.3 yeadon==2.0.1
$(VENV)/.measured: $(VENV)/.test
	$(BIN)/python -m pip --disable-pip-version-check install -q --no-deps $(MEASURED)
	@touch $@

# The environment of all tests and gates in one call of pip.
$(VENV)/.everything: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(LOCKED) dev robots
	$(COMPILE)
	$(BIN)/draisine warm
	@touch $(addprefix $(VENV)/.,runtime test docs dev pinocchio robots everything)

# Peers live in an environment of their own. Some need packages of the system, which are named and, by apt-get, installed.
$(BENCH)/.peers: pyproject.toml benchmarks/install_peers.sh
	benchmarks/install_peers.sh $(PYTHON) $(BENCH)
	@touch $@
