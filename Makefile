# Two commands matter: `make run` and `make test`. Each sets up what it needs first.
#
# Variables, after any target:
#   ARGS=...              options for kmonitor demo, pytest, or the benchmarks
#   PYTHON=...            the Python to make .venv with (3.11 to 3.13)
#   NO_APT=1              never install system packages; print the line that does
#   ALLOW_NO_WINDOW=1     let `make test` pass although the window's tests could not run
#   ALLOW_NO_SSH=1        the same for the tests with an ssh server
#   ALLOW_NO_POSTGRESQL=1 the same for the tests with a PostgreSQL server
#   ALLOW_NO_LIBRARIES=1  the same for scikit-learn, KerasTuner, Optuna, Ray, prometheus-client, OpenTelemetry
#   ALLOW_NO_FRAMEWORK=1, ALLOW_NO_PARQUET=1, ALLOW_NO_PROMETHEUS=1 likewise
#   UPGRADE=1             `make lock` takes the newest versions instead of keeping the locked ones

SHELL := /bin/sh
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

SET_UP := KMONITOR_TARGET=$@ packaging/set_up.sh
BIN := .venv/bin
CODE := kmonitor kmonitor_agent tests packaging

.PHONY: help setup run test test-full check bench bench-leaks bench-peers languages house lock audit dist clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r target text; do \
	    printf '  make %-11s %s\n' "$$target" "$$text"; done

setup:  ## .venv with everything that `make run` needs
	@$(SET_UP)

run:  ## the app and a demo training beside it (ARGS="--help" lists the options)
	@$(SET_UP)
	@$(BIN)/kmonitor demo $(ARGS)

check:  ## the quick part of the tests: format, lint, types, imports
	@$(SET_UP) --testing
	@$(BIN)/python packaging/check.py $(CODE)

test:  ## check, then all tests but the slowest (ARGS="-k words" picks some)
	@$(SET_UP) --testing
	@$(BIN)/python packaging/check.py $(CODE)
	@$(BIN)/python packaging/run_tests.py $(ARGS)

test-full:  ## also the slowest tests, the wheel, other versions, and Debian 13
	@$(SET_UP) --testing
	@$(BIN)/python packaging/check.py $(CODE)
	@$(BIN)/python packaging/run_tests.py --full $(ARGS)
	@$(BIN)/python packaging/run_trials.py

bench:  ## every benchmark but the longest, one after the other (ARGS="hub" picks by name)
	@$(SET_UP) --testing
	@$(BIN)/python packaging/run_benchmarks.py $(ARGS)

bench-leaks:  ## verdicts on every script of tests/leaks, an hour and more (ARGS="--help" lists the options)
	@$(SET_UP) --testing
	@PYTHONPATH=. $(BIN)/python tests/benchmarks/bench_leaks.py $(ARGS)

bench-peers:  ## side by side with what people use today (ARGS="cost" picks a part)
	@$(SET_UP) --testing
	@$(BIN)/python -m tests.benchmarks.peers $(ARGS)

languages:  ## bring the translations up to date with the code, and compile them
	@$(SET_UP) --testing
	@$(BIN)/python packaging/make_languages.py

house:  ## how large the code is and how it is cut: a report
	@python3 packaging/house.py

lock:  ## choose the versions in packaging/lock.txt again
	@$(SET_UP) --testing
	@$(BIN)/python packaging/make_lock.py $(if $(UPGRADE),--upgrade)

audit:  ## ask the package index for known holes in what is locked
	@$(SET_UP)
	@$(BIN)/python packaging/audit.py

dist:  ## wheel, source, the app as a folder and as .deb, into dist/ (ARGS="python" makes a part)
	@$(SET_UP)
	@$(BIN)/python packaging/build.py $(ARGS)

clean:  ## remove .venv and everything else that was made here; .git and your data stay
	rm -rf .venv .setup build dist artefacts htmlcov .pytest_cache .ruff_cache .hypothesis \
	    .import_linter_cache .coverage .coverage.* kmonitor-demo.png *.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
