# What the tests cover of the library and the POSIX port, counted by clang.
# SPDX-License-Identifier: 0BSD

COVERAGE = $(BUILD)/evidence/coverage
# No decision has too many conditions to be counted.
coverage_flags = -g -O1 -DMST_COVERAGE -fprofile-instr-generate \
	-fcoverage-mapping -fcoverage-mcdc -Xclang -fmcdc-max-conditions=64 \
	-Xclang -fmcdc-max-test-vectors=1000000

# SHORT=1 leaves out tests that take long and cover nothing that others do not.
coverage_src = $(filter-out $(if $(SHORT),test/real/run_% $(patsubst \
	%,test/%.c,real/primitives real/primitives_libcrypto session/mbedtls \
	session/openssl session/replay session/replay_plans session/torture \
	session/year unit/book_search unit/decoder_json unit/decoder_parts \
	unit/fast_lane_bytes unit/lane_taken unit/linear unit/object \
	unit/object_deep)), $(wildcard $(patsubst %,test/%/*.c,unit session real)))

.PHONY: evidence-coverage

## Lines, branches, MC/DC of the library and the POSIX port that tests cover
evidence-coverage:
	@test/packages.sh build tool test coverage
	+@$(MAKE) --no-print-directory $(jobs) BUILD=$(COVERAGE) CC=clang-19 \
		SANITIZE="$(coverage_flags)" WERROR= TEST_SRC="$(coverage_src)" tests
	$(row) env COVERAGE_SRC="$(coverage_src)" $(PYTHON) test/evidence/coverage.py
