# Two commands matter: `make run` and `make test`. Both set up everything they need.
SHELL := /bin/bash
PYTHON := .venv/bin/python
INSTALLED := .venv/.installed
INSTALLED_DEV := .venv/.installed-dev

.PHONY: run test check engine embedded integration catalogue install format messages lock benchmarks clean

run: install
	@scripts/find_browser.sh || true
	@$(PYTHON) scripts/messages.py compile
	@$(PYTHON) manage.py migrate --verbosity 0
	@$(PYTHON) manage.py load_demo --if-empty
	@exec $(PYTHON) manage.py serve

test: $(INSTALLED_DEV)
	@scripts/install_services.sh
	@$(MAKE) --no-print-directory check
	@# Two at a time, each on a core; what runs behind speaks when the first is done.
	@{ $(MAKE) --no-print-directory integration; a=$$?; $(MAKE) --no-print-directory engine; \
	  exit $$((a || $$?)); } >.venv/behind.log 2>&1 & behind=$$!; \
	$(MAKE) --no-print-directory embedded; front=$$?; \
	wait $$behind; behind=$$?; cat .venv/behind.log; exit $$((front || behind))

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
	.venv/bin/mypy
	.venv/bin/lint-imports
	DJANGO_SETTINGS_MODULE=webagent.settings.test $(PYTHON) manage.py makemigrations --check --dry-run
	$(PYTHON) scripts/messages.py check

# The engine and the matchers, which by contract import no database.
PURE := tests/webagent tests/judging/matching
engine: $(INSTALLED_DEV) catalogue
	scripts/with_scratch.sh .venv/bin/pytest $(PURE)

# SQLite, the file-system broker and files on disk: what `make run` uses.
embedded: $(INSTALLED_DEV) catalogue
	scripts/with_scratch.sh .venv/bin/pytest $(addprefix --ignore=,$(PURE))

# The same on PostgreSQL and Redis, started for the occasion. Left out is what cannot tell them
# apart: pages that are only looked at, and of the blinding walk all viewers but the one it is about.
LOOKS := $(addprefix tests/browser/test_,accessibility.py audit.py causes.py recovery_stories.py \
  run_compare.py run_list.py run_page.py)
WALK := tests/judging/test_blinding_urls.py::test_
WALKED := $(addprefix $(WALK)no_answer_holds_a_hidden_word_and_twin_sites_answer_alike,\
  [engineer] [adjudicator] [stranger]) $(WALK)administrators $(WALK)the_words_are_there
integration: $(INSTALLED_DEV) catalogue
	scripts/with_scratch.sh $(PYTHON) scripts/with_services.py .venv/bin/pytest \
	  $(addprefix --ignore=,$(PURE) $(LOOKS)) $(addprefix --deselect=,$(WALKED))

format: $(INSTALLED_DEV)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

catalogue: $(INSTALLED_DEV)
	@$(PYTHON) scripts/messages.py compile

messages: $(INSTALLED_DEV)
	$(PYTHON) scripts/messages.py update

lock:
	uv pip compile requirements.in --override overrides.txt -o requirements.txt --no-header --no-annotate --python-version 3.11
	uv pip compile requirements-dev.in -o requirements-dev.txt --no-header --no-annotate --python-version 3.11

benchmarks: $(INSTALLED_DEV)
	$(PYTHON) -m tests.benchmarks

clean:
	rm -rf .venv var staticfiles
