# Builds the library, its ports, the tool and the test programs for another
# processor, or with the libraries of another suite of Debian, and runs them, in
# an emulator if need be; see test/README.md. Everything goes to
# $(BUILD)/cross/$(ARCH)-$(SUITE).
# SPDX-License-Identifier: 0BSD

# Debian's name of it.
ARCH ?= arm64
# With the processor that is here: a suite, such as trixie.
SUITE ?=

CROSS_BUILD = $(BUILD)/cross/$(ARCH)$(SUITE:%=-%)
SYSROOT = $(abspath $(CROSS_BUILD)/sysroot)
# It would warn of a compiler for the processor here.
debian = $(shell CC=true dpkg-architecture -a$(ARCH) -qDEB_HOST_$(1))
cross_cc = $(call debian,GNU_TYPE)-gcc --sysroot=$(SYSROOT)
cross_run = $(if $(SUITE),$$(echo $(SYSROOT)/lib*/ld-linux*) --library-path \
	$(SYSROOT)/usr/lib/$(call debian,MULTIARCH), \
	qemu-$(patsubst i686,i386,$(call debian,GNU_CPU)) -L $(SYSROOT))
# The system's pkg-config, which is to see the other one's libraries alone.
cross_env = PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(call debian,MULTIARCH)/pkgconfig
# With the sanitizer for addresses it takes twice as long.
cross_sanitize = $(if $(SUITE),$(SANITIZE) -static-libasan,-g -O1 -DMST_TEST \
	-fsanitize=undefined -fno-sanitize-recover=all)
# All that are programs, and scripts that run one against peers of TLS and TCP.
CROSS_TESTS ?= $(filter-out real/run_%,$(TEST_SRC:test/%.c=%)) \
	$(addprefix real/,interop_tls.py interop_openssl.py interop_stream.py \
	posix_conform.py)

.PHONY: test-cross cross-programs

## Library, ports and TLS on another processor, ARCH (arm64), in an emulator
test-cross:
	@test/packages.sh cross cross-$(ARCH)
	$(again) $(CROSS_BUILD)/sysroot/.fetched $(JSMN)/jsmn.h
	+@$(cross_env) $(MAKE) --no-print-directory $(jobs) CC="$(cross_cc)" \
		AR=$(call debian,GNU_TYPE)-ar BUILD=$(CROSS_BUILD) BEARSSL_DIR= ipsec_mb= \
		WERROR="-Werror $(SUITE:%=-Wno-error=deprecated-declarations)" \
		JSMN_DIR=$(abspath $(JSMN)) SANITIZE="$(cross_sanitize)" cross-programs
	@BUILD=$(CROSS_BUILD) RUN="$(cross_run)" test/run.sh $(CROSS_TESTS)

cross-programs: $(LIBRARY) $(POSIX) $(PRIMITIVES) $(OPENSSL) $(TESTS) \
	$(if $(findstring interop,$(CROSS_TESTS)),$(addprefix $(BUILD)/, \
	mini-stream mbedtls/mini-stream))
	@:

$(BUILD)/cross/%/sysroot/.fetched: test/sysroot.sh
	$(call quiet,fetch) test/sysroot.sh $(firstword $(subst -, ,$*)) $(@D) \
		$(word 2,$(subst -, ,$*))
	@touch $@
