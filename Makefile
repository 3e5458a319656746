# `make run` does the main job, `make test` runs the tests; both set everything up by themselves.
PYTHON ?= python3
VENV   ?= .venv
DATA   ?= $(RANKLOOP_DATA)
BIN    := $(VENV)/bin
CPP    := $(shell find cpp -name "*.[hc]pp")
SOURCES := pyproject.toml CMakeLists.txt $(CPP)

.PHONY: help install run test test-all check docs clang wheel wheels release smoke stubs format bench table quality papers fuzz clean

help:           ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

install: $(VENV)/.installed  ## make the virtual environment and install the package with its development tools

$(VENV)/.installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

run: install    ## the live loop: a simulated week of searches and clicks, with a picture (KEEP=--keep)
	$(BIN)/python examples/week.py $(KEEP)

test: install   ## run what a change breaks most likely: tests and examples, in a random order (its seed is printed)
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-all: test  ## and then all others: crashes, attacks, emulated processors, browsers, whole matrices, long pages
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow

check: install  ## lint, format, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: install   ## build the documentation site of this version into build/site, without the network
	$(BIN)/python -m website build/site

clang:          ## build a wheel with clang, install it into an empty environment, and compare what it learns
	rm -rf build/clang
	$(PYTHON) -m venv build/clang/venv
	CXX=clang++ build/clang/venv/bin/python -m pip wheel --quiet --no-deps --config-settings=build-dir=build/clang/objects --wheel-dir build/clang .
	build/clang/venv/bin/python -m pip install --quiet build/clang/*.whl
	build/clang/venv/bin/python tests/rankers/golden.py | diff - tests/rankers/golden.json

wheel: install  ## build a source archive, and from it a wheel; install that into an empty environment, and try it
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build --outdir build/wheel .
	$(MAKE) smoke ARCHIVE="$$(ls build/wheel/*.whl)" INTO=build/wheel/from-wheel

wheels: wheel   ## the same for other Pythons (PYTHONS="python3.12 python3.13"), from the same source archive
	set -e; for python in $(PYTHONS); do \
	  rm -rf build/wheels/$$(basename $$python); \
	  $$python -m pip wheel --quiet --no-deps --wheel-dir build/wheels/$$(basename $$python) build/wheel/*.tar.gz; \
	  $(MAKE) smoke PYTHON=$$python ARCHIVE="$$(ls build/wheels/$$(basename $$python)/*.whl)" INTO=build/wheels/$$(basename $$python)/venv; \
	done

release: check test-all clang wheel docs  ## what must hold before a release; then it says how to publish
	$(BIN)/python -m pip install --quiet twine
	$(BIN)/python -m twine check --strict build/wheel/*.tar.gz build/wheel/*.whl
	$(BIN)/python tests/release.py

smoke:          # install ARCHIVE into an empty environment INTO, and use it as a user would
	$(PYTHON) -m venv $(INTO)
	$(INTO)/bin/python -m pip install --quiet '$(ARCHIVE)[arrow]'
	cd $(INTO) && bin/python $(CURDIR)/tests/smoke.py

stubs: install  ## write src/rankloop/_core.pyi again, after a change of cpp/bind
	$(BIN)/python cpp/stubs.py
	$(BIN)/ruff check --quiet --select I --fix src/rankloop/_core.pyi
	$(BIN)/ruff format src/rankloop/_core.pyi

format: install ## rewrite the code in our format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.bench  ## measure speed and memory beside the tools people use
	$(BIN)/python -m benchmarks

table: install  ## make the table of rankers in docs/results.md again (DATA=folder with the data sets)
	$(BIN)/python -m benchmarks.quality_rankers $(DATA)

quality: $(VENV)/.bench  ## make the tables of quality beside other libraries again (DATA=folder with the data sets)
	$(BIN)/python -m benchmarks.quality $(DATA)

papers: install ## run all experiments of the papers, and write their pages (DATA=folder with the data sets; QUICK=--quick)
	RANKLOOP_DATA=$(DATA) $(BIN)/rankloop reproduce all --output docs/papers $(QUICK)

fuzz:           ## fuzz the LETOR parser under AddressSanitizer (FUZZ_SECONDS=300)
	$(MAKE) -C cpp/fuzz

clean:          ## remove what the targets above made
	rm -rf $(VENV) build out
