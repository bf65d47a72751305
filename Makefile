# SPDX-License-Identifier: GPL-2.0-or-later
#
# make demo    see netgroupd work, in a VM
# make test    every test, in and out of the VM
# make schema  the JSON Schema and the reference manual, from the model's descriptions
# make lab     a shell in a VM with the project's kernel
#
# The first of these builds kernels (about 25 CPU minutes, 46 for all that the tests
# boot) and installs Python packages, all under ~/.cache/netgroupd; after that they
# take seconds to start.

setup = python=$$(.ci/setup)
lab = $(setup) && "$$python" -m netgroupd.lab

.PHONY: help test check schema demo lab kernel kernel-deb bench bench-quick deb clean

help:
	@sed -n 's/^# \(make\)/\1/p' Makefile

# The guests read what pytest has compiled of the tests: it is to write that down, whatever the environment says.
test:
	@echo "test: everything, in and out of the VM: about 20 minutes, and 25 more where the kernels are not built yet"
	@$(lab) kernel && exec env PYTHONDONTWRITEBYTECODE= "$$python" -m pytest $(TESTS)

check:
	@$(setup) && "$$python" -m ruff check . && "$$python" -m ruff format --check . && "$$python" -m mypy

schema:
	@$(setup) && "$$python" -m netgroupd.config.schema > schemas/netgroup.schema.json && \
	"$$python" -m netgroupd.config.reference > docs/reference.md

demo:
	@$(lab) demo

lab:
	@$(lab) shell

kernel:
	@$(lab) kernel

kernel-deb:
	@kernel-patches/debian-package $(CONFIG)

bench:
	@$(lab) kernel && exec "$$python" -m bench

bench-quick:
	@$(lab) kernel && exec "$$python" -m bench --quick

deb:
	@.ci/deb

clean:
	rm -rf build dist .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
