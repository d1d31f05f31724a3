# `make run`, `make quick` and `make test` set up everything they need.
SHELL := /bin/bash
PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
INSTALLED_DEV := .venv/.installed-dev
CATALOGUE := locale/ja/LC_MESSAGES/django.mo

.PHONY: run replicate test check quick quick-check quick-tests
.PHONY: sqlite sqlite-browsers sqlite-workers postgresql postgresql-workers
.PHONY: install format messages reference lock benchmarks clean

run: $(INSTALLED) $(CATALOGUE) ## sets up everything, loads the demo, serves on http://127.0.0.1:8000
	@scripts/find_browser.sh || true
	@exec $(PYTHON) manage.py serve --first "load_demo --if-empty"

STUDY := examples/webarena-mod/study.toml
replicate: $(INSTALLED) $(CATALOGUE) ## sets up everything, carries a study file out (STUDY=examples/…/study.toml), prints its tables
	@scripts/find_browser.sh || true
	@$(PYTHON) manage.py migrate --verbosity=0
	@exec $(PYTHON) manage.py replicate $(STUDY) --run

# Four at a time even on two cores: the phases of workers and browsers wait more than they compute,
# so they begin with the longest of the others. Only that and the browsers have two processes: each
# more collects its tests once more.
LANES ?= 4
PHASES := sqlite sqlite-browsers postgresql-workers postgresql sqlite-workers check
test: $(INSTALLED_DEV) ## checks and all tests, in phases side by side
	@scripts/install_services.sh
	@$(MAKE) --no-print-directory --keep-going --jobs=$(LANES) $(addprefix beside-others/,$(PHASES))

# Each line under the name of its phase.
beside-others/%:
	@set -o pipefail; SECONDS=0; $(MAKE) --no-print-directory $* 2>&1 \
	  | while IFS= read -r line; do printf '%s: %s\n' '$*' "$$line"; done; code=$$?; \
	echo "$*: $$([ $$code = 0 ] && echo passed || echo FAILED) after $$SECONDS s"; exit $$code

install: $(INSTALLED) ## only sets up

$(INSTALLED): requirements.txt scripts/install.sh
	@scripts/install.sh requirements.txt
	@touch $@

$(INSTALLED_DEV): $(INSTALLED) requirements-dev.txt requirements-webarena.txt
	@scripts/install.sh requirements-dev.txt requirements-webarena.txt
	@touch $@

check: $(INSTALLED_DEV) ## lint, types, import directions, migrations, messages, packages
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	scripts/with_scratch.sh .venv/bin/mypy  # it reads the settings, and never cleans up
	.venv/bin/lint-imports
	$(PYTHON) scripts/import_structure.py
	DJANGO_SETTINGS_MODULE=webagent.settings.test $(PYTHON) manage.py makemigrations --check --dry-run
	$(PYTHON) scripts/messages.py check
	$(PYTHON) scripts/audit_dependencies.py

TESTS := $(INSTALLED_DEV) $(CATALOGUE)
PYTEST := scripts/with_scratch.sh .venv/bin/pytest
PYTEST_WITH_SERVICES := scripts/with_scratch.sh $(PYTHON) scripts/with_services.py .venv/bin/pytest

# Whole files, in the order in which they were collected: slow ones first.
BY_FILE := --dist loadfile --no-loadscope-reorder

# The files that name a marker: others need not be collected.
marked = $(shell grep -rlw 'mark\.$(1)' tests --include='test_*.py')

# Each test says which database it meets: see tests/database_use.py.
# SQLite, the file-system broker and files on disk: what `make run` uses.
sqlite: $(TESTS) ## tests on SQLite and without a database
	$(PYTEST) -n 2 $(BY_FILE) --database=sqlite --database=none -m "not browser and not worker"
sqlite-browsers: $(TESTS) ## tests in a real browser, on SQLite or without a database
	$(PYTEST) -n 2 $(BY_FILE) --database=sqlite --database=none -m "browser and not worker" \
	  $(call marked,browser)
sqlite-workers: $(TESTS) ## tests on SQLite with worker processes
	$(PYTEST) --database=sqlite -m worker $(call marked,worker)

# A PostgreSQL and a Redis, started for the occasion.
postgresql: $(TESTS) ## tests on PostgreSQL and Redis
	$(PYTEST_WITH_SERVICES) --database=postgresql -m "not worker"
postgresql-workers: $(TESTS) ## tests on PostgreSQL and Redis with worker processes
	$(PYTEST_WITH_SERVICES) --database=postgresql -m worker $(call marked,worker)

# Lint, types of what changed since the last time, and all tests but those that are long or need a
# browser, a worker or PostgreSQL.
quick: $(TESTS) ## lint, types of what changed, and the tests to run between two edits
	@$(MAKE) --no-print-directory --keep-going --jobs=2 $(addprefix beside-others/,quick-tests quick-check)

quick-check: $(INSTALLED_DEV)
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	scripts/with_scratch.sh .venv/bin/mypy

quick-tests: $(TESTS)
	$(PYTEST) -n 2 $(BY_FILE) --hypothesis-profile=quick \
	  -m "not browser and not worker and not postgresql_only and not slow"

format: $(INSTALLED_DEV) ## formats the source
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

$(CATALOGUE): $(CATALOGUE:.mo=.po) scripts/messages.py | $(INSTALLED)
	@$(PYTHON) scripts/messages.py compile

messages: $(INSTALLED_DEV) ## collects new interface texts into locale/ja
	$(PYTHON) scripts/messages.py update

reference: $(INSTALLED_DEV) ## writes the reference pages of docs/
	$(PYTHON) scripts/reference.py

lock: ## pins all packages anew, with hashes (needs uv)
	uv pip compile requirements.in --override overrides.txt -o requirements.txt --generate-hashes --no-header --no-annotate --python-version 3.11
	uv pip compile requirements-dev.in -o requirements-dev.txt --generate-hashes --no-header --no-annotate --python-version 3.11

benchmarks: $(INSTALLED_DEV) ## measures what scale.md lists
	$(PYTHON) -m tests.benchmarks

clean: ## removes packages and all data
	rm -rf .venv var staticfiles
