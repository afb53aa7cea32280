# What the tests cover of the library and the POSIX port, counted by clang.
# SPDX-License-Identifier: 0BSD

COVERAGE = $(BUILD)/evidence/coverage
# No decision has too many conditions to be counted.
coverage_flags = -g -O1 -DMST_COVERAGE -fprofile-instr-generate \
	-fcoverage-mapping -fcoverage-mcdc -Xclang -fmcdc-max-conditions=64 \
	-Xclang -fmcdc-max-test-vectors=1000000

.PHONY: evidence-coverage

## Lines, branches, MC/DC of the library and the POSIX port that tests cover
evidence-coverage:
	@test/packages.sh build tool test coverage
	+@$(MAKE) --no-print-directory $(jobs) BUILD=$(COVERAGE) CC=clang-19 \
		SANITIZE="$(coverage_flags)" WERROR= tests
	$(row) $(PYTHON) test/evidence/coverage.py
