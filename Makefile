# Every target sets up what it needs in .venv; a second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Peers that need other versions of packages than the tests have an environment of their own.
PEERS := build/peers
CPP := $(shell find src/native -name '*.cpp' -o -name '*.hpp')

.PHONY: demo test test-rest test-all lint format bench figures reproduce docs sanitize fuzz stress faults campaigns clean help \
  test-minimum test-arm test-avx512 sdist wheel wheels
.DEFAULT_GOAL := help

help:
	@echo "make demo    cluster 40 kinds of drawn characters, beside scikit-learn"
	@echo "make test    run the tests that show defects soonest"
	@echo "make test-rest  run the others: clusters of Dask, browsers, campaigns, benchmarks"
	@echo "make test-all   run all tests"
	@echo "make lint    check style and types of Python and C++"
	@echo "make format  rewrite Python and C++ in the house style"
	@echo "make bench   time maps, k-means and whole fits beside their peers and renew docs/benchmarks.md"
	@echo "make figures  measure all published figures anew, in 2 hours; FIGURES='--since 2026-11-18T19:00'"
	@echo "make reproduce  run the paper's experiments and renew docs/reproduction.md"
	@echo "make docs    write the manual page and docs/reference.md, and build docs/ as a site in build/site"
	@echo "make sanitize  run the tests of the kernels under sanitizers of memory, arithmetic and threads"
	@echo "make fuzz    damage files of every format and have them read; SECONDS=60 sets the length"
	@echo "make stress  make fits in many threads on a busy machine and compare their bits; SECONDS=60"
	@echo "make faults  end commands, workers, writes and allocations at bad moments; KILLS=200"
	@echo "make campaigns  fuzz, stress and faults, and renew docs/reliability.md"
	@echo "make test-minimum  run tests with the oldest versions of all dependencies"
	@echo "make test-arm  cross-compile the kernels for aarch64 and test them under an emulator"
	@echo "make test-avx512  test the AVX-512 kernels in an emulated PC"
	@echo "make wheel   build, repair, check and try an sdist and a wheel in dist; WHEEL_PYTHONS='3.11 3.12'"
	@echo "make wheels  the wheels of a release for this machine, by cibuildwheel"
	@echo "make clean   remove .venv, builds and caches"

# Where all kernels are compiled already, the demo uses them.
demo: $(if $(wildcard $(VENV)/.built),$(VENV)/.built,$(VENV)/.tried)
	$(BIN)/projected-kmeans demo

# One worker a core, each with one thread of its own, so that workers do not wait for each other's threads.
# Tests that are about threads ask for more.
PYTEST = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
  $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

test: $(VENV)/.built
	$(PYTEST) -m "not thorough"

test-rest: $(VENV)/.built
	$(PYTEST) -m thorough

test-all: $(VENV)/.built
	$(PYTEST)

lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.linted
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.peers
	$(BIN)/python benchmarks/bench_projection.py
	$(BIN)/python benchmarks/bench_kmeans.py
	$(BIN)/python benchmarks/bench_files.py
	$(BIN)/python benchmarks/bench_fit.py
	$(BIN)/python benchmarks/render.py

# All benchmarks and the reproduction, one after another on a quiet machine, then all pages.
FIGURES ?=
figures: $(VENV)/.peers $(VENV)/.vectors $(PEERS)/.built
	$(BIN)/python tools/figures.py $(FIGURES)

reproduce: $(VENV)/.built
	$(BIN)/projected-kmeans reproduce all --out build/reproduction --page docs/reproduction.md
	$(BIN)/python tools/reductions_page.py

# The notice on MkDocs 2 does not concern a build that asks for MkDocs 1, as pyproject.toml does.
docs: $(VENV)/.built
	$(BIN)/python man/manual_page.py
	$(BIN)/python tools/cli_page.py
	$(BIN)/python tools/reference_page.py
	$(BIN)/python tools/reductions_page.py
	$(BIN)/python campaigns/reliability_page.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

# Campaigns try to break what docs/reliability.md promises, and store what they found in campaigns/results.
SECONDS ?= 60
KILLS ?= 200
SEED ?= 0
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Installs clang and the runtime libraries of its sanitizers where they are missing (Debian).
sanitize: $(VENV)/.built
	$(BIN)/python campaigns/sanitize.py

fuzz: $(VENV)/.built
	$(ONE_THREAD) $(BIN)/python campaigns/fuzz_files.py --seconds $(SECONDS) --seed $(SEED) --processes $$(nproc)
ifneq ($(wildcard campaigns/fuzz_certificates.py),)
	$(ONE_THREAD) $(BIN)/python campaigns/fuzz_certificates.py --seconds $(SECONDS)
endif

stress: $(VENV)/.built
	$(BIN)/python campaigns/stress_fits.py --minutes $$(awk 'BEGIN {print $(SECONDS) / 60}')

faults: $(VENV)/.built
	$(BIN)/python campaigns/kill_runs.py --kills $(KILLS)
	$(BIN)/python campaigns/inject_faults.py
	$(BIN)/python campaigns/kill_workers.py --kills $(KILLS)
	$(BIN)/python campaigns/fail_allocations.py

campaigns: fuzz stress faults
	$(BIN)/python campaigns/reliability_page.py

# The oldest versions that pyproject.toml declares, in an environment of their own.
test-minimum: $(VENV)/.built $(VENV)/.release
	$(ONE_THREAD) $(BIN)/python tools/minimum.py

# Installs Debian's cross compiler and emulator where they are missing; says so and ends where it cannot.
test-arm: $(VENV)/.built $(VENV)/.release
	$(ONE_THREAD) $(BIN)/python campaigns/arm.py

# Installs Debian's Bochs where it is missing; says so and ends where it cannot.
test-avx512: $(VENV)/.built
	$(BIN)/python campaigns/avx512.py

# One wheel for each of these Pythons; that of 3.12 serves all later ones.
WHEEL_PYTHONS ?= $(PYTHON)
TRY_WITH ?=
wheel: $(VENV)/.release
	$(BIN)/python tools/wheels.py --python $(WHEEL_PYTHONS) --try-with $(TRY_WITH)

sdist: $(VENV)/.release
	$(BIN)/python tools/wheels.py --sdist-only

# On Linux in the containers of manylinux (Docker); on macOS with Homebrew's OpenMP.
wheels: $(VENV)/.release
	$(BIN)/cibuildwheel --output-dir dist
	$(BIN)/python tools/wheels.py --check

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "projected_kmeans needs Python 3.11 or later; set PYTHON=python3.11 or newer" >&2; exit 2; }
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "no virtual environment could be made; install venv (Debian: apt-get install python3-venv)" >&2; exit 2; }
	@touch $@

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# $(call extra,NAMES): the requirements of some extras of pyproject.toml.
extra = $$($(BIN)/python tools/requirements.py $(1))

# $(call build,EXTRAS,KERNELS): build tools live in .venv, so that a rebuild compiles only what changed.
define build
	@echo "installing packages into $(VENV)"
	@$(PIP) $(call extra,build dependencies $(1))
	@echo "compiling the kernels, once: up to 3 minutes on 2 cores"
	@$(PIP) --no-build-isolation --no-deps --config-settings=cmake.define.PK_KERNELS=$(2) --editable .
	@touch $@
endef

$(VENV)/.built: $(VENV)/.created pyproject.toml CMakeLists.txt $(CPP)
	$(call build,test lint,all)

# What the demo needs: no packages of tests, and only kernels that this machine runs.
$(VENV)/.tried: $(VENV)/.created pyproject.toml CMakeLists.txt $(CPP)
	$(call build,report,machine)

# Style and types need the packages that are imported, and no compiler.
$(VENV)/.linted: $(VENV)/.created pyproject.toml
	@$(PIP) $(call extra,dependencies lint test)
	@touch $@

# What builds and checks a release.
$(VENV)/.release: $(VENV)/.created pyproject.toml
	@$(PIP) $(call extra,release)
	@touch $@

# $(call install_each,EXTRA,INTERPRETER,OPTIONS): each package on its own: where one cannot be had,
# the others are still measured, and the page says so.
define install_each
	for package in $(call extra,$(1)); do \
	  $(2) -m pip install --quiet --disable-pip-version-check $(3) "$$package" || \
	    echo "$$package cannot be installed; the benchmarks leave it out" >&2; \
	done
	@touch $@
endef

$(VENV)/.peers: $(VENV)/.built
	$(call install_each,bench,$(BIN)/python)

# Only vectors that lie in these packages are read, so that what the packages need is left out.
$(VENV)/.vectors: $(VENV)/.built
	$(call install_each,bench-data,$(BIN)/python,--no-deps)

$(PEERS)/.built: $(VENV)/.built
	$(PYTHON) -m venv --clear $(PEERS)
	$(call install_each,bench-peers,$(PEERS)/bin/python)
