# Mutants of mini_stream.c: each test program is linked anew with each of them,
# so that it has to be compiled quickly, with the sanitizers all the same, and
# with the code of a build for speed.
# SPDX-License-Identifier: 0BSD

MUTANT_BUILD = $(BUILD)/evidence/mutants/tests
mutant_flags = -O0 -D__OPTIMIZE__ -DMST_TEST -fno-sanitize-recover=all \
	-fsanitize=address,undefined

## Row 4: 1,000 seeded mutants of the library, and what becomes of each
evidence-mutants:
	@test/packages.sh build tool test mutants
	+@$(MAKE) --no-print-directory $(jobs) BUILD=$(MUTANT_BUILD) CC=clang-19 \
		CFLAGS= SANITIZE="$(mutant_flags)" WERROR= \
		$(MUTANT_BUILD)/san/libhelpers.a $(patsubst %.c, \
		$(MUTANT_BUILD)/san/%.o,$(wildcard $(addprefix test/, \
		unit/*.c session/*.c fuzz/*.c))) >/dev/null
	$(row) env BUILD=$(BUILD) \
		MUTANT_COMPILE="clang-19 $(mutant_flags) -w" \
		MUTANT_FLAGS="$(call flags,test/unit)" \
		MUTANT_LIBS="$(BASE_LIBS) $(primitives_libs) \
			$(call libs,$(TEST_MODULES))" \
		$(PYTHON) test/evidence/mutants.py
