# Two commands: `make demo` and `make test`. Both make .venv on first use and reuse it until pyproject.toml changes.

PYTHON ?= python3
VENV   ?= .venv
# Installed first and pinned, so that pip doesn't choose another build on its way through the dependencies.
# Any pip arguments do, for example: make demo TORCH='torch --index-url https://download.pytorch.org/whl/cpu'
TORCH  ?= torch==2.13.0
EXTRAS ?= api,documents,dev

BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-$(EXTRAS)-$(firstword $(shell cksum pyproject.toml))
PYTEST := $(BIN)/pytest
LINTED := build/lint

.DEFAULT_GOAL := help
.PHONY: help install demo test test-fast lint format clean

help:
	@echo "make demo       extract examples/invoice.pdf and print the typed result with its evidence"
	@echo "make test       lint, type check, import contract and every test, SGLang's server included"
	@echo "make test-fast  the tests that take no longer than a few seconds each"
	@echo "make lint       ruff, mypy and the import contract"
	@echo "make format     ruff format and its safe fixes"
	@echo "make clean      remove build output and caches (not $(VENV))"

install: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dg-sglang needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(TORCH)
	$(BIN)/python -m pip install --editable '.[$(EXTRAS)]'
	@rm -f $(VENV)/.installed-*
	@touch $@

# The doctor checks the installation, and its trial answer compiles the kernels once for all later runs.
demo: install
	$(BIN)/dg-sglang doctor
	$(BIN)/dg-sglang extract examples/invoice.pdf --schema invoice --seed 0

# SGLang pins other versions than ours, so the tests of the server run in an environment of their own.
test: lint
	$(PYTEST) --ignore=tests/sglang
	python=$$($(PYTHON) tests/sglang/environment.py --torch '$(TORCH)') && $$python -m pytest tests/sglang

test-fast: install
	$(PYTEST) --ignore=tests/sglang -m "not slow"

# mypy and import-linter read packages from folders, so they get a copy laid out as it is installed.
lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@rm -rf $(LINTED) && mkdir -p $(LINTED)
	@cp -R dg_sglang pyproject.toml $(LINTED)/ && cp -R grammar kernels pipelines vision $(LINTED)/dg_sglang/
	cd $(LINTED) && $(abspath $(BIN))/mypy --cache-dir $(CURDIR)/.mypy_cache -p dg_sglang
	cd $(LINTED) && $(abspath $(BIN))/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf build dist *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find dg_sglang grammar kernels pipelines vision tests examples -name __pycache__ -prune -exec rm -rf {} +
