# Fuzzing: a target is test/fuzz/NAME.c with NAME.seeds, its first inputs, and
# NAME.dict. libFuzzer comes with clang; everything is built with its
# instrumentation and the sanitizers.
# SPDX-License-Identifier: 0BSD

FUZZ_TARGETS ?= $(sort $(patsubst test/fuzz/%.c,%,$(wildcard test/fuzz/*.c)))
FUZZ = $(addprefix $(BUILD)/fuzz/,$(FUZZ_TARGETS))
# libFuzzer has main(). A test makes the first recordings.
FUZZ_HELPER_SRC = $(filter-out test/lib/fuzz_main.c,$(sort $(HELPER_SRC)))
FUZZ_SEEDS = $(if $(filter recording,$(FUZZ_TARGETS)), \
	$(BUILD)/test/session/recording)

.PHONY: fuzz fuzz-programs evidence-fuzz

## Fuzz targets (FUZZ_TARGETS: all), each as often as CI has time for
fuzz:
	@test/packages.sh build test fuzz
	$(again) fuzz-programs
	@SHORT=1 $(PYTHON) test/evidence/fuzz.py $(FUZZ_TARGETS)

## Fuzz targets, each as often as before a release: continues where it stopped
evidence-fuzz:
	@test/packages.sh build test fuzz
	$(again) fuzz-programs
	$(row) $(PYTHON) test/evidence/fuzz.py $(FUZZ_TARGETS)

fuzz-programs: $(FUZZ) $(FUZZ_SEEDS)
	@:

$(PLAYER_SRC:%.c=$(BUILD)/fuzz/obj/%.o): CPPFLAGS += -UMST_SUBSCRIPTIONS_MAX
$(BUILD)/fuzz/obj/%.o: %.c Makefile test/evidence/fuzz.mk
	@mkdir -p $(@D)
	$(call quiet,compile) clang $(options) $(SANITIZE) -O2 \
		-fsanitize=fuzzer-no-link -c -o $@ $<

$(BUILD)/fuzz/libmini_stream.a: $(BUILD)/fuzz/obj/mini_stream.o
$(BUILD)/fuzz/libhelpers.a: $(FUZZ_HELPER_SRC:%.c=$(BUILD)/fuzz/obj/%.o)

# A program has, and measures, only what its target reaches.
$(FUZZ): $(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/test/fuzz/%.o \
		$(BUILD)/fuzz/libhelpers.a $(BUILD)/fuzz/libmini_stream.a
	$(call quiet,link) clang $(BASE_LDFLAGS) $(LDFLAGS) $(SANITIZE) \
		-fsanitize=fuzzer -o $@ $^ $(TEST_LIBS) $(LDLIBS)
