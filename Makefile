# `make` lists the targets. All of them need only Python 3.11+, pip and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help install dev run quick test test-all test-adapters test-browser test-engines test-native tests-compiled \
  tests-python test-training train coverage campaign campaign-full mutants golden golden-check corpus lint docs docs-site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The stamps make repeated calls cheap: pip runs again only when pyproject.toml or the compiled reader has changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml hatch_build.py $(wildcard native/Cargo.* native/src/*.rs native/src/*/*.rs)
	$(PIP) install --editable .
	@touch $@

# pip fetches on one core while cargo compiles on the other; what pip's own build then finds is ready.
$(VENV)/.installed-dev: $(BIN)/python pyproject.toml hatch_build.py $(wildcard native/Cargo.* native/src/*.rs native/src/*/*.rs)
	@cargo build --release --offline --locked --quiet --manifest-path native/Cargo.toml >/dev/null 2>&1 & \
	  $(PIP) install --editable '.[dev]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-browser: $(VENV)/.installed-dev
	$(PIP) install --editable '.[browser-tests]'
	@touch $@

# Bytecode of the source tree, for where Python does not keep it by itself (PYTHONDONTWRITEBYTECODE): without it a start
# takes half as long again. A file that cannot be compiled is for the linters and tests to name.
$(VENV)/.compiled: $(BIN)/python $(shell find src -name '*.py')
	@$(BIN)/python -m compileall -qq src || true
	@touch $@

install: $(VENV)/.installed $(VENV)/.compiled ## create .venv and install Synthesis into it

dev: $(VENV)/.installed-dev $(VENV)/.compiled ## the same, with everything that the tests need

run: install ## evaluate the bundled cases, show the summary, write out/report.json
	$(BIN)/synthesis

lint: dev ## ruff, the layers of imports, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

# What most mistakes show in, in less than a minute: for the time between two edits. `make test` decides.
QUICK := tests/checks tests/report tests/test_architecture.py tests/test_ci_files.py tests/test_containers.py \
  tests/test_extras.py tests/test_public_api.py tests/test_readme.py tests/test_site.py

quick: dev ## ruff and the quickest tests, in less than a minute
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not browser" $(QUICK)

# Side by side: many tests wait for a process, a server or a clock, and the linters use that time.
test: dev ## everything that must hold before a change lands
	$(MAKE) --no-print-directory --jobs=2 tests-compiled tests-python

tests-compiled: dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not browser"

# Once more without the compiled reader, for a part that reads texts in every way: a machine without cargo has none.
tests-python: lint
	SYNTHESIS_NATIVE=0 $(BIN)/python -m pytest -q -m "not slow" tests/rules/test_reading.py tests/run/test_evaluator.py

# The browser apart: its driver keeps an event loop running, beside which other tests could not start theirs.
test-all: lint test-native test-adapters test-engines test-training test-browser ## the same, slow groups, browser, adapters, engines
	SYNTHESIS_NEW_INPUTS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not browser"

test-native: ## the compiled reader's own tests
	cargo test --offline --manifest-path native/Cargo.toml

test-browser: $(VENV)/.installed-browser $(VENV)-docs/.installed ## the HTML report, the pages and the site in a real browser
	@which chromium chromium-browser google-chrome chrome 2>/dev/null | grep -q . || test -n "$$SYNTHESIS_BROWSER" || \
	  echo "No browser found. Debian, Ubuntu: apt-get install chromium. Or name one in SYNTHESIS_BROWSER."
	$(BIN)/python -m pytest -m browser tests/browser

# In an environment of its own: these frameworks pin what the extra `judge` needs newer.
test-adapters: ## the adapters against the real frameworks
	$(PYTHON) -m venv $(VENV)-adapters
	$(VENV)-adapters/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[adapters]'
	$(VENV)-adapters/bin/python -m pytest tests/adapters

# In an environment of its own: Ray and Spark weigh more than all the rest. Spark needs Java 17 or later.
test-engines: ## local, Ray and Spark give the same answer
	$(PYTHON) -m venv $(VENV)-engines
	$(VENV)-engines/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[engines]'
	$(VENV)-engines/bin/python -m pytest tests/engines

# In an environment of its own: torch weighs more than all the rest.
$(VENV)-training/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-training
	$(VENV)-training/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[training]'
	@touch $@

# TEXTS: the published sets, MEASURE: sets that others measure with. Takes about an hour on two cores.
train: $(VENV)-training/.installed ## train the learned reader: weights, decisions, card
	$(VENV)-training/bin/python -m training $(if $(TEXTS),--texts $(TEXTS)) $(if $(MEASURE),--measure $(MEASURE))

test-training: $(VENV)-training/.installed ## the whole training on a few rows, in some minutes
	$(VENV)-training/bin/python -m pytest tests/training

coverage: dev ## which lines the tests reach: the summary, and out/coverage.xml
	$(PIP) install --editable '.[coverage]'
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow and not browser" --cov=synthesis --cov-report=term:skip-covered \
	  --cov-report=xml:out/coverage.xml

# Apart from the tests: it takes minutes, and a failure names the seed and the number of the try.
campaign: dev ## kills, damage, fuzzed input, slow text, hostile requests: at most 20 minutes
	$(BIN)/python -m campaign

campaign-full: dev ## all of it, which takes hours
	$(BIN)/python -m campaign --full

# Each fault in a copy of the tree, and the tests that must notice it; those in native/ are built there, which needs cargo.
mutants: dev ## plant known faults in copies of the tree and show who catches each: some minutes
	$(BIN)/python -m campaign.mutants

golden: dev ## record what the product says, as hashes, in golden/hashes.json: some minutes
	$(BIN)/python -m golden

golden-check: dev ## name what the product says otherwise than recorded
	$(BIN)/python -m golden --check

# TEXTS: the public texts, MEASURE: sets that others measure with; without them the rows are not compared with those.
corpus: dev ## validate the labelled corpus: schema, labels, parts, duplicates, balance
	$(BIN)/python -m corpus.validate $(if $(TEXTS),--texts $(TEXTS)) $(if $(MEASURE),--measure $(MEASURE))

docs: dev ## write the generated documents again
	$(BIN)/python docs/generate.py

# In an environment of its own: nothing else needs these packages. The stamp makes repeated calls cheap.
$(VENV)-docs/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-docs
	$(VENV)-docs/bin/python docs/site_pages.py --requirements > $(VENV)-docs/requirements.txt
	$(VENV)-docs/bin/python -m pip --disable-pip-version-check --quiet install -r $(VENV)-docs/requirements.txt
	@touch $@

docs-site: $(VENV)-docs/.installed ## build the documentation site into site/, strictly
	NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/python -m mkdocs build --strict --quiet --site-dir site
	@echo "site/index.html; to look at it while you write: $(VENV)-docs/bin/python -m mkdocs serve"

clean: ## remove what the other targets made
	rm -rf native/target src/synthesis/rules/native/synthesis_native.* src/synthesis/rules/prepared
	find src -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) $(VENV)-adapters $(VENV)-engines $(VENV)-training $(VENV)-docs site out dist build .pytest_cache .hypothesis .mypy_cache .ruff_cache
