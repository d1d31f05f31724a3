# Two commands matter: `make run` and `make test`. Both set up everything they need.
SHELL := /bin/bash
PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
INSTALLED_DEV := .venv/.installed-dev

.PHONY: run test check pure embedded pages embedded-workers integration integration-workers
.PHONY: catalogue install format messages lock benchmarks clean

run: install
	@scripts/find_browser.sh || true
	@$(PYTHON) scripts/messages.py compile
	@$(PYTHON) manage.py migrate --verbosity 0
	@$(PYTHON) manage.py load_demo --if-empty
	@exec $(PYTHON) manage.py serve

# Four at a time even on two cores: the phases of workers and browsers wait more than they compute,
# so they begin with the longest of the others.
LANES ?= 4
PHASES := pages embedded integration-workers embedded-workers integration pure check
test: $(INSTALLED_DEV)
	@scripts/install_services.sh
	@$(MAKE) --no-print-directory --keep-going --jobs=$(LANES) $(addprefix beside-others/,$(PHASES))

# Each line under the name of its phase.
beside-others/%:
	@set -o pipefail; SECONDS=0; $(MAKE) --no-print-directory $* 2>&1 \
	  | while IFS= read -r line; do printf '%s: %s\n' '$*' "$$line"; done; code=$$?; \
	echo "$*: $$([ $$code = 0 ] && echo passed || echo FAILED) after $$SECONDS s"; exit $$code

install: $(INSTALLED)

$(INSTALLED): requirements.txt scripts/install.sh
	@scripts/install.sh requirements.txt
	@touch $@

$(INSTALLED_DEV): $(INSTALLED) requirements-dev.txt
	@scripts/install.sh requirements-dev.txt
	@touch $@

check: $(INSTALLED_DEV)
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	scripts/with_scratch.sh .venv/bin/mypy  # it reads the settings, and never cleans up
	.venv/bin/lint-imports
	$(PYTHON) scripts/import_structure.py
	DJANGO_SETTINGS_MODULE=webagent.settings.test $(PYTHON) manage.py makemigrations --check --dry-run
	$(PYTHON) scripts/messages.py check
	$(PYTHON) scripts/audit_dependencies.py

TESTS := $(INSTALLED_DEV) catalogue
PYTEST := .venv/bin/pytest

# What uses no database, the engine above all.
pure: $(TESTS)
	scripts/with_scratch.sh $(PYTEST) --database=without

# The walk over all addresses takes long: the viewers are shared out between the databases.
WALK := tests/judging/test_blinding_urls.py::test_
TWINS := $(WALK)no_answer_holds_a_hidden_word_and_twin_sites_answer_alike

# SQLite, the file-system broker and files on disk: what `make run` uses. What asks either database
# for the same and takes long is left to PostgreSQL, which is the stricter one.
BOTH_ALIKE := $(addprefix tests/runs/test_,integrity.py exporting.py hint_experiments.py \
  knowledge.py retention.py) $(addprefix tests/judging/,test_integrity.py progress_rates \
  api/test_schema.py test_what_if.py experiments/test_figures.py test_study_bundles.py \
  commands/test_probe_judge.py test_data_tables.py audits/test_paper.py gate \
  test_milestone_proposals.py)
ON_SQLITE := scripts/with_scratch.sh $(PYTEST) --database=with --deselect=$(TWINS)[annotator] \
  $(addprefix --ignore=,$(BOTH_ALIKE))
PAGES := tests/browser tests/judging/test_blinding_urls.py
WORKERS := $(shell grep -rl "mark[.]worker" tests --include="test_*.py")
# What `make run` starts, and the whole job in a browser, are tried as people first meet them.
ON_SQLITE_ALONE := tests/runs/test_serve.py tests/browser/test_main_job.py
embedded: $(TESTS)
	$(ON_SQLITE) -m "not worker" $(addprefix --ignore=,$(PAGES))
pages: $(TESTS)
	$(ON_SQLITE) -m "not worker" $(PAGES)
embedded-workers: $(TESTS)
	$(ON_SQLITE) -m worker $(WORKERS)

# PostgreSQL and Redis, started for the occasion. Left out is what cannot tell them apart: browsers,
# what pages say (the walk reads every page here too), hostile strings on them, files, agents and
# providers.
LOOKS := $(addprefix tests/runs/test_,storages.py infrastructure_in_browser.py run_agent.py \
  generic_agent.py run_compare.py) $(addprefix tests/faults/test_,files.py providers.py)
PAGE_FILES := $(addsuffix .py,$(addprefix */test_,*page *pages *views *_view *report *reports \
  *pane triangle comparison cells demo patched_tasks))
LEFT_OUT := $(addprefix $(TWINS),[engineer] [adjudicator] [stranger]) $(WALK)administrators \
  $(WALK)the_words_are_there tests/judging/api/test_blinding.py \
  tests/security/test_every_address.py::test_hostile_strings
ON_POSTGRESQL := scripts/with_scratch.sh $(PYTHON) scripts/with_services.py $(PYTEST) \
  --database=with
integration: $(TESTS)
	$(ON_POSTGRESQL) -m "not worker" $(addprefix --ignore=,tests/browser $(LOOKS)) \
	  $(addprefix --ignore-glob=,$(PAGE_FILES)) $(addprefix --deselect=,$(LEFT_OUT))
integration-workers: $(TESTS)
	$(ON_POSTGRESQL) -m worker $(filter-out $(ON_SQLITE_ALONE),$(WORKERS))

format: $(INSTALLED_DEV)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

catalogue: $(INSTALLED_DEV)
	@$(PYTHON) scripts/messages.py compile

messages: $(INSTALLED_DEV)
	$(PYTHON) scripts/messages.py update

lock:
	uv pip compile requirements.in --override overrides.txt -o requirements.txt --generate-hashes --no-header --no-annotate --python-version 3.11
	uv pip compile requirements-dev.in -o requirements-dev.txt --generate-hashes --no-header --no-annotate --python-version 3.11

benchmarks: $(INSTALLED_DEV)
	$(PYTHON) -m tests.benchmarks

clean:
	rm -rf .venv var staticfiles
