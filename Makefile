# Everything a newcomer needs: `make demo`, `make test`. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types imports unit bench docs format wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make the virtual environment .venv with hiermo and its development tools

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "hiermo needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): some minutes the first time"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]' 2> $(VENV)/pip.log || \
		{ cat $(VENV)/pip.log; exit 1; }
	@touch $(READY)

demo: $(READY)  ## train HierMo, HierFAVG and FedAvg on real digits and draw the curves
	@$(BIN)/hiermo run quick/digits

test: lint types imports unit  ## everything that must pass: ruff, mypy, import-linter, pytest

lint: $(READY)  ## ruff: style and likely mistakes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)  ## mypy, strict
	@$(BIN)/mypy

imports: $(READY)  ## import-linter: imports point downwards
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }
	@tail -n 2 $(VENV)/imports.log

unit: $(READY)  ## pytest
	@$(BIN)/pytest -n auto --dist worksteal

bench: $(READY)  ## measure speed beside a bare PyTorch loop: 20 minutes on two idle cores
	@$(BIN)/python benchmarks/speed.py

docs: $(READY)  ## build the documentation into site/, offline: open site/index.html
	@$(BIN)/python docs/make_reference_pages.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2> $(VENV)/docs.log || { cat $(VENV)/docs.log; exit 1; }
	@echo "site/index.html"

format: $(READY)  ## let ruff format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

wheel: $(READY)  ## build the wheel into dist/
	@$(BIN)/python -m build --wheel

clean:  ## remove the virtual environment and what was built
	@rm -rf $(VENV) dist build site
