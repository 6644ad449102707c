# make demo | make test | make check | make bench: each sets up from nothing and needs Python 3.11 or later, git and make.

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY := .venv/bin/python
NEWER := 3.13 3.14 3.12

.NOTPARALLEL:
.PHONY: help demo test check bench format lint types imports templates migrations docs tidy

help:
	@echo "make demo    the demo shop with its server, workers and reaper, until Ctrl-C (PORT=8000)"
	@echo "make test    the whole suite, on every Django that this machine has a Python for"
	@echo "make check   format, lint, types, imports, templates, migrations, docs"
	@echo "make bench   speed beside the peers, on one server (ROUNDS=3 ONLY='drain pickup' PEERS='echomq huey')"
	@echo "make tidy    puts the code into the format that make check asks for"

demo: .venv/ready
	@exec $(PY) manage.py demo

test: .venv/ready
	@if $(PY) -c 'import sys; sys.exit(sys.version_info >= (3, 12))' && sh checks/find-python $(NEWER) >/dev/null; \
	then $(MAKE) .venv-django6/ready && exec sh checks/suite .venv .venv-django6; \
	else exec sh checks/suite .venv; fi

check: format lint types imports templates migrations docs
	@echo "All checks passed."

bench: .venv-bench/ready
	@.venv-bench/bin/python -m benchmarks --rounds $(or $(ROUNDS),3) --only $(ONLY) --peers $(PEERS)

format: .venv/ready
	@echo "format: ruff format"
	@$(PY) -m ruff format --check --quiet . || { echo "Run: make tidy"; exit 1; }

lint: .venv/ready
	@echo "lint: ruff"
	@$(PY) -m ruff check --quiet .

types: .venv/ready
	@echo "types: mypy --strict"
	@$(PY) -m mypy --no-error-summary

imports: .venv/ready
	@echo "imports: import-linter"
	@.venv/bin/lint-imports --no-logo

templates: .venv/ready
	@echo "templates: djlint"
	@$(PY) -m djlint --quiet --lint echomq_app templates

migrations: .venv/ready
	@echo "migrations: makemigrations --check"
	@$(PY) manage.py makemigrations --check --dry-run --verbosity 0

docs: .venv/ready
	@echo "docs: links, pages, commands, words"
	@$(PY) -m checks.docs

tidy: .venv/ready
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .

.venv/ready: requirements.txt checks/environment
	@sh checks/environment .venv 3.11 3.12 3.13 3.14

.venv-django6/ready: requirements.txt checks/environment
	@sh checks/environment .venv-django6 $(NEWER)

.venv-bench/ready: requirements.txt benchmarks/requirements.txt checks/environment
	@REQUIREMENTS=benchmarks/requirements.txt sh checks/environment .venv-bench $(NEWER)
