# SPDX-License-Identifier: 0BSD

PLATFORMS = $(BUILD)/evidence/platforms
PLATFORM_SOURCES = $(PLATFORMS)/sources/.fetched
PLATFORM_PACKAGES = $(if $(SHORT),s390x,i386 s390x powerpc)

.PHONY: evidence-platforms platform-helpers

## Row 10: unit and session suites by processor, compiler and level
evidence-platforms:
	@test/packages.sh build test cross $(if $(SHORT),,platforms) \
		$(PLATFORM_PACKAGES:%=cross-%)
	$(again) $(JSMN)/jsmn.h $(patsubst %,$(BUILD)/cross/%/sysroot/.fetched, \
		$(filter-out powerpc,$(PLATFORM_PACKAGES))) \
		$(if $(SHORT),,$(PLATFORM_SOURCES))
	$(row) env MAKE="$(MAKE) --no-print-directory" \
		test/evidence/platforms.sh

$(PLATFORM_SOURCES): examples/firmware/sources.sh
	$(call quiet,fetch) examples/firmware/sources.sh $(@D) bearssl cmocka \
		jansson libzstd
	@touch $@

# What these suites share, but for what needs OpenSSL or c-ares.
platform-helpers:
	@echo $(filter-out %/real.c %/openssl_peer.c %/session_primitives.c \
		port/openssl/% port/primitives/% port/cares/%,$(HELPER_SRC))
