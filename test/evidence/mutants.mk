# Mutants of mini_stream.c: each is compiled for the test programs, so this must
# be quick, but with sanitizers and with the code of a build for speed. Long
# tests run without sanitizers.
# SPDX-License-Identifier: 0BSD

MUTANT_BUILD = $(BUILD)/evidence/mutants
mutant_quick = -O0 -D__OPTIMIZE__ -DMST_TEST -fno-sanitize-recover=all \
	-fsanitize=address,undefined
mutant_long = -O1 -DMST_TEST

# Builds the tests and their helpers; $(1) is quick or long.
mutant_tests = $(MAKE) --no-print-directory $(jobs) CC=clang-19 CFLAGS= \
	BUILD=$(MUTANT_BUILD)/$(1) SANITIZE="$(mutant_$(1))" WERROR= \
	$(MUTANT_BUILD)/$(1)/san/libhelpers.a $(patsubst %.c, \
	$(MUTANT_BUILD)/$(1)/san/%.o,$(wildcard $(addprefix test/, \
	unit/*.c session/*.c fuzz/*.c)))

## 1,000 seeded mutants of the library, and what becomes of each
evidence-mutants:
	@test/packages.sh build tool test mutants
	+@$(call mutant_tests,quick) >/dev/null
	+@$(call mutant_tests,long) >/dev/null
	$(row) env BUILD=$(BUILD) \
		MUTANT_QUICK="clang-19 $(mutant_quick) -w" \
		MUTANT_LONG="clang-19 $(mutant_long) -w" \
		MUTANT_FLAGS="$(call flags,test/unit)" \
		MUTANT_LIBS="$(TEST_LIBS)" \
		$(PYTHON) test/evidence/mutants.py
