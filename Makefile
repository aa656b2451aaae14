# Everything runs in .venv, which is made on first use; nothing else on the machine is touched.
PYTHON ?= python3
MINUTES ?= 30  # of make fuzz
SEED ?= 0
BIN := .venv/bin

.PHONY: demo test coverage fuzz lint types format reference docs docs-links benchmark benchmark-solvers dist try-dist clean

demo: .venv/.demo  ## three forecasts beside the actual times
	$(BIN)/python examples/nas_bt/demo.py

# Compiled modules are kept while the tests run: hundreds of processes load them.
test coverage: export PYTHONDONTWRITEBYTECODE =
test: lint types  ## everything CI checks
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

coverage: .venv/.test  ## the tests again, and which lines they run: at least 95 %
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses 2 --dist worksteal --hypothesis-profile thorough \
		--override-ini faulthandler_timeout=0
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: .venv/.test  ## all readers, for MINUTES; what fails is kept in tests/fuzzing/corpus
	nice $(BIN)/python -m tests.fuzzing.hostile --cases 5000 --seed $(SEED)
	nice $(BIN)/python -m tests.fuzzing.run --minutes $(MINUTES) --seed $(SEED)

lint: .venv/.test
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: .venv/.test
	MYPY_NUM_WORKERS=2 $(BIN)/mypy

format: .venv/.test  ## rewrite the code as lint wants it
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

reference: .venv/.test  ## write the pages of options and of JSON keys from the code
	$(BIN)/python docs/reference/make.py

SITE = $(BIN)/sphinx-build --conf-dir docs --doctree-dir build/doctrees --fail-on-warning --quiet --jobs 2
docs: .venv/.docs  ## the documentation as a site, and every picture of its gallery drawn anew
	$(BIN)/python docs/gallery/draw.py
	rm -rf docs/reference/api
	$(SITE) --builder html . build/docs
	@echo "Open build/docs/index.html"

docs-links: .venv/.docs  ## whether links to other sites still lead somewhere; needs a network
	$(SITE) --builder linkcheck . build/links

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "parcast needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	touch $@

.venv/.test: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plot,mpi,features,arrays,web]' --group test
	touch .venv/.demo $@

.venv/.docs: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plot]' --group docs
	touch .venv/.demo $@

dist: .venv/bin/python  ## the wheel and the sdist that it is built from
	$(BIN)/python -m pip install --quiet --group dist
	rm -rf dist
	$(BIN)/python -m build

try-dist: dist  ## install the wheel in a clean environment of each Python, and try it
	$(BIN)/python benchmarks/release.py

benchmark: .venv/.demo  ## beside Extra-P, SciPy and SimPy, in an environment of their own
	test -x .venv-benchmark/bin/python || $(PYTHON) -m venv .venv-benchmark
	.venv-benchmark/bin/python -m pip install --quiet --editable . extrap scipy 'simpy>=4.1'
	$(BIN)/python benchmarks/startup.py --extrap .venv-benchmark/bin/extrap
	.venv-benchmark/bin/python benchmarks/speed.py --extrap .venv-benchmark/bin/extrap
	.venv-benchmark/bin/python benchmarks/simulation.py

benchmark-solvers:  ## the queueing solvers beside LINE and Ciw, in an environment of their own
	test -x .venv-benchmark-solvers/bin/python || $(PYTHON) -m venv .venv-benchmark-solvers
	.venv-benchmark-solvers/bin/python -m pip install --quiet . line-solver ciw mpmath
	.venv-benchmark-solvers/bin/python benchmarks/solvers.py

clean:
	rm -rf .venv .venv-benchmark .venv-benchmark-solvers build docs/reference/api .coverage* .mypy_cache .pytest_cache .ruff_cache
