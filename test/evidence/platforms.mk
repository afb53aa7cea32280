# SPDX-License-Identifier: 0BSD

PLATFORMS = $(BUILD)/evidence/platforms
PLATFORM_SOURCES = $(PLATFORMS)/sources/.fetched
# PLATFORM_CELLS: cells such as i386-clang-Os (default: all; SHORT=1: one)
PLATFORM_CELLS ?= $(if $(SHORT),s390x-gcc-O2)
processors = $(filter-out amd64, \
	$(or $(sort $(foreach cell,$(PLATFORM_CELLS), \
		$(firstword $(subst -, ,$(cell))))),i386 s390x powerpc))

.PHONY: evidence-platforms platform-helpers

## Unit and session suites by processor, compiler and level
evidence-platforms:
	@test/packages.sh build test cross $(processors:%=cross-%) \
		$(if $(PLATFORM_CELLS),,platforms)
	$(again) $(JSMN)/jsmn.h $(patsubst %,$(BUILD)/cross/%/sysroot/.fetched, \
		$(filter-out powerpc,$(processors))) \
		$(if $(PLATFORM_CELLS),,$(PLATFORM_SOURCES))
	$(row) env MAKE="$(MAKE) --no-print-directory" \
		test/evidence/platforms.sh $(PLATFORM_CELLS)

$(PLATFORM_SOURCES): examples/firmware/sources.sh
	$(call quiet,fetch) examples/firmware/sources.sh $(@D) bearssl cmocka \
		jansson libzstd
	@touch $@

# The helpers of these suites, except those that need OpenSSL or c-ares.
platform-helpers:
	@echo $(filter-out %/real.c %/openssl_peer.c %/session_primitives.c \
		%/tool_mbedtls.c port/mbedtls/% port/openssl/% port/primitives/% port/cares/%,$(HELPER_SRC))
