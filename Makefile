# Every word here is one of the README's. Each does its own set-up and reuses what is there.

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test check bench golden crds manifests dist lock clean

help:  ## say what there is
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/ready  ## start a local cluster and show Lynq in it
	@$(BIN)/lynq demo

test: $(VENV)/ready  ## run all tests against real servers
	@scripts/databases
	@$(BIN)/lynq cluster build
	$(BIN)/pytest -n 2 --dist loadfile $(ARGS)

check: $(VENV)/ready  ## lint, types, import contracts, generated files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m lynq.api.crds --check
	$(BIN)/python tools/manifests.py --check

bench: $(VENV)/ready  ## measure; prints tables, asserts nothing about seconds
	$(BIN)/pytest tests/bench -o python_files='bench_*.py' -s $(ARGS)

golden: $(VENV)/ready  ## remake the template engine's expected results with Go
	cd tests && ../$(BIN)/python -m template.regenerate

crds: $(VENV)/ready  ## write deploy/crds anew from lynq.api
	$(BIN)/python -m lynq.api.crds

manifests: $(VENV)/ready  ## write install.yaml and the other copies in deploy anew
	$(BIN)/python tools/manifests.py

dist: $(VENV)/ready  ## the wheel, built twice to the same bytes, its SBOM, and the manifests
	scripts/dist $(BIN)

lock: $(VENV)/ready  ## choose dependencies anew
	scripts/lock

clean:  ## remove the virtual environment and caches of this folder
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist

$(VENV)/ready: pyproject.toml constraints.txt scripts/environment
	@scripts/environment $(VENV)
	@touch $@
