# Every target sets up what it needs and reuses what is there.

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo unit affected test check hooks mutants bench bench-parts faults races golden docs docs-sync ui ui-types screenshots recording recordings bare-test reference crds manifests dist wheelhouse image image-test chart lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 11

demo: $(VENV)/ready  ## start a local cluster and show Lynq on it
	@$(BIN)/lynq demo

test: $(VENV)/ready $(VENV)-docs/ready  ## run all tests against real servers
	@scripts/databases
	@scripts/browser
	@$(BIN)/lynq cluster build
	$(BIN)/pytest -n 4 --dist worksteal $(ARGS)

unit: $(VENV)/ready  ## run the pure tests, which need nothing but Python; under 90 s
	$(BIN)/pytest tests/unit tests/template $(wildcard tests/contract) -m "not server" -n 2 --dist worksteal $(ARGS)

affected: $(VENV)/ready  ## run the tests, on servers too, that reach what differs from main; ARGS=--list names them
	@$(BIN)/python tools/affected.py $(ARGS)

check: $(VENV)/ready  ## lint, types, import contracts, conventions, generated files; needs Node
	@scripts/check

hooks: $(VENV)/ready  ## install the git hooks: the gates of `make check`
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type commit-msg

mutants: $(VENV)/ready  ## check that the unit tests notice wrong decisions about deletion
	$(BIN)/python tools/mutants.py $(ARGS)

bench: $(VENV)-bench/ready  ## measure the operator and its floor in one run; ARGS=small takes two minutes
	@scripts/databases
	@$(VENV)-bench/bin/lynq cluster build
	@cd tests && ../$(VENV)-bench/bin/python -m bench $(ARGS)

bench-parts: $(VENV)/ready  ## run the benchmarks of reads, plans, templates, push channels and the dashboard
	@scripts/browser
	$(BIN)/pytest tests/bench -o python_files='bench_*.py' -s $(ARGS)

faults: $(VENV)/ready  ## run all fault tests and their long tier, about 50 minutes; prints a summary
	@scripts/databases
	@$(BIN)/lynq cluster build
	$(BIN)/pytest tests/faults -n 2 --dist worksteal -o python_files='test_*.py long_*.py' $(ARGS)

races: $(VENV)/ready  ## run tests repeatedly beside busy processes and with delays; ARGS="--rounds 5 tests/faults"
	@scripts/databases
	@scripts/browser
	@$(BIN)/lynq cluster build
	$(BIN)/python tests/races.py $(ARGS)

golden: $(VENV)/ready  ## regenerate the template engine's expected results with Go
	cd tests && ../$(BIN)/python -m template.regenerate

docs: $(VENV)-docs/ready  ## build the documentation site into site/
	$(VENV)-docs/bin/python tools/docs_site.py

recording: $(VENV)/ready  ## record make demo again: docs/images/demo.cast and demo.svg
	$(BIN)/python tools/recording.py

recordings: $(VENV)/ready  ## record the requests of tests again, for the replays of tests/contract
	@$(BIN)/lynq cluster build
	cd tests && ../$(BIN)/python -m contract.record

bare-test:  ## follow the first pages on a bare Debian root, with PostgreSQL and MariaDB
	scripts/bare $(ARGS)

docs-sync: $(VENV)/ready  ## write the files of examples into the pages that show them
	cd tests && ../$(BIN)/python -m docs.sync

ui:  ## build the dashboard's pages from ui/ into src/lynq/dashboard/static
	scripts/ui

ui-types: $(VENV)/ready  ## regenerate ui/src/api-types.ts from lynq.dashboard.types
	$(BIN)/python tools/dashboard_types.py

screenshots: $(VENV)/ready  ## take the pictures of the dashboard again: docs/images/dashboard
	@scripts/browser
	@$(BIN)/lynq cluster build
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py

reference: $(VENV)/ready  ## regenerate the reference pages in docs/reference from the code
	cd tools && ../$(BIN)/python -m reference

crds: $(VENV)/ready  ## regenerate deploy/crds from lynq.api
	$(BIN)/python -m lynq.api.crds

manifests: $(VENV)/ready  ## regenerate install.yaml and the other generated files in deploy
	$(BIN)/python tools/manifests.py

dist: $(VENV)/ready  ## build the wheel (reproducibly), its SBOM and the manifests
	scripts/dist $(BIN)

wheelhouse: dist  ## download the locked packages of the image, for the Dockerfile
	scripts/wheelhouse $(BIN) dist/wheelhouse
	cp dist/*.whl dist/wheelhouse

image: dist  ## build the image as an OCI archive; needs root, no daemon and no registry
	scripts/image $(BIN)
	@scripts/checksums dist >/dev/null

image-test: $(VENV)/ready  ## run the operator from inside the image against a local cluster
	$(BIN)/pytest tests/image -o python_files='check_*.py' -o pythonpath='src tests tools' $(ARGS)

chart: $(VENV)/ready  ## package the chart: .tgz, OCI archive and index.yaml
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python tools/chart.py dist
	@scripts/checksums dist >/dev/null

lock: $(VENV)/ready  ## lock the dependencies again
	scripts/lock

clean:  ## remove the virtual environment and caches of this folder
	rm -rf $(VENV) $(VENV)-docs $(VENV)-bench site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist ui/node_modules

$(VENV)/ready: pyproject.toml constraints.txt scripts/environment
	@scripts/environment $(VENV)
	@touch $@

$(VENV)-docs/ready: constraints-docs.txt scripts/environment
	@scripts/environment $(VENV)-docs constraints-docs.txt
	@touch $@

# With the Python of the image, Debian's: it is compiled with profiles, and takes less CPU than others.
$(VENV)-bench/ready: pyproject.toml constraints.txt scripts/environment
	@PYTHON=$${PYTHON:-$$(command -v /usr/bin/python3 || echo python3)} scripts/environment $(VENV)-bench
	@touch $@
