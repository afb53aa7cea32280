# Builds the images of examples/firmware, and runs their test; see its README.
# Everything goes to $(BUILD)/firmware.
# SPDX-License-Identifier: 0BSD

# Trust anchors, PEM; by default those of the test.
FIRMWARE_CA ?=
FIRMWARE_SECONDS ?= 120

# Boards by their names in QEMU, their processors and clocks.
FIRMWARE_BOARDS = lm3s6965evb mps2-an386
lm3s6965evb = -mcpu=cortex-m3 -DBOARD_MHZ=50 -DDEVICE_WATCHDOG=0x40000000
mps2-an386 = -mcpu=cortex-m4 -DBOARD_MHZ=25 -DDEVICE_WATCHDOG=0x40008000
firmware_board = $(or $(FIRMWARE_BOARD),$(firstword $(FIRMWARE_BOARDS)))
$(if $(filter-out $(FIRMWARE_BOARDS),$(firmware_board)),$(error \
	FIRMWARE_BOARD=$(FIRMWARE_BOARD) is not one of: $(FIRMWARE_BOARDS)))
# FIRMWARE_CPU: another processor to compile for; the board's must run its code.

FIRMWARE = $(BUILD)/firmware
IMAGES = $(FIRMWARE)/$(firmware_board)$(FIRMWARE_CPU:%=/%)
FIRMWARE_IMAGES = $(IMAGES)/any.elf $(IMAGES)/small.elf

# The library's limits that the small image lowers. It prints them at boot.
small_limits = MST_SUBSCRIPTIONS_MAX=2 MST_MARKET_MAX=15 MST_TOKEN_MAX=1024 \
	MST_HOST_MAX=63 MST_PATH_MAX=31 MST_LINE_MAX=128 MST_BODY_MAX=4096 \
	MST_JSON_DEPTH=8 MST_PART_LEVELS=8 MST_TEXT_MAX=47

small_options = -DIMAGE_SMALL
ours = $(addprefix examples/firmware/,$(1))
any_sources = $(call ours,main.c stream.c show.c address.c)
small_sources = $(call ours,main.c stream.c show.c small.c)
small_link = -Wl,--wrap=br_ssl_engine_set_suites
any_anchors = anchors
small_anchors = root-ec

# The port conformance test. It has more links, so lwIP's pools (one file) are
# compiled again for it: a window of full segments needs 12 of PBUF_POOL.
conform_limits = MEMP_NUM_TCP_PCB=5 PBUF_POOL_SIZE=64
conform_sources = port/conform/mst_conform.c port/flash/mst_flash_check.c \
	test/firmware/conform.c
conform_objects = $(IMAGES)/conform/memp.o
conform_options = -Iport/conform
# In periods of 250 ms: its clock wraps (2^32 ms) 20 seconds after the start.
conform_link = -Wl,--defsym=clock_begin=17179789

firmware_ports = lwip/mst_lwip.c flash/mst_flash.c flash/mst_settings.c \
	semihosting/mst_semihosting.c
firmware_sources = mini_stream.c $(firmware_ports:%=port/%) $(call ours,print.c \
	network.c platform.c $(addprefix board/, \
	board.c start.c $(firmware_board).c))
FIRMWARE_SRC = $(wildcard port/lwip/*.c port/semihosting/*.c \
	examples/firmware/*.c examples/firmware/board/*.c test/firmware/*.c \
	test/lwip/*.c)
FIRMWARE_HEADERS = $(wildcard examples/firmware/board/*.h \
	examples/firmware/arch/*.h)

firmware_cpu = $($(firmware_board)) $(FIRMWARE_CPU:%=-mcpu=%)
firmware_cc = $(CROSS)gcc $(firmware_cpu) -mthumb
# Without BearSSL's own clock and random source, which newlib would pull in.
firmware_options = -std=c99 -Os -g -ffunction-sections -fdata-sections \
	-fno-common -DBR_USE_UNIX_TIME=0 -DBR_USE_URANDOM=0 -DBR_USE_GETENTROPY=0
firmware_includes = -I. -Iport/lwip -Iport/flash -Iport/semihosting \
	-Iexamples/firmware \
	-isystem $(FIRMWARE)/sources/lwip/src/include \
	-isystem $(FIRMWARE)/sources/bearssl/inc -isystem $(JSMN)
# For clang-tidy, which does not find newlib by itself.
firmware_clang = --target=arm-none-eabi $(firmware_cpu) -std=c99 \
	-DIMAGE_LIMITS='""' $(firmware_includes) -Iport/conform \
	-isystem $(dir $(shell $(CROSS)gcc -print-file-name=libc.a))../include

.PHONY: firmware firmware-test firmware-hour firmware-cost firmware-images \
	firmware-sources force

## Firmware with TCP/IP and TLS for an emulated board with 64 KB of RAM
firmware:
	@test/packages.sh build sandbox firmware lwip
	$(again) firmware-sources
	$(again) firmware-images

# Done before make lists the files to compile.
firmware-sources: $(FIRMWARE)/sources/.fetched
	@:

firmware-images: $(FIRMWARE_IMAGES) $(foreach image,$(FIRMWARE_IMAGES:.elf=), \
		$(image).bin $(image).hex)
	@$(CROSS)size $(FIRMWARE_IMAGES)

# For tools that write flash. A .hex contains its address; a .bin starts at 0.
%.bin: %.elf
	$(call quiet,copy) $(CROSS)objcopy -O binary $< $@
%.hex: %.elf
	$(call quiet,copy) $(CROSS)objcopy -O ihex $< $@

## Run it on emulated boards against the sandbox for FIRMWARE_SECONDS (120)
firmware-test:
	@test/packages.sh build tool sandbox firmware lwip
	$(again) all firmware-sources
	+@set -e; export FIRMWARE_SECONDS=$(FIRMWARE_SECONDS) CROSS=$(CROSS); \
	for board in $(or $(FIRMWARE_BOARD),$(FIRMWARE_BOARDS)); do \
		export FIRMWARE_BOARD=$$board; \
		$(MAKE) --no-print-directory $(jobs) firmware-images \
			$(FIRMWARE)/$$board$(FIRMWARE_CPU:%=/%)/conform.elf; \
		$(PYTHON) test/e2e/e2e.py test/firmware/firmware.py $$parts; \
		parts='$(if $(SHORT),stream burst)'; \
	done

## The same on one board for an hour
firmware-hour:
	@$(MAKE) firmware-test FIRMWARE_SECONDS=3600 FIRMWARE_BOARD=$(firmware_board)

## Instructions of a message on the emulated board, by part
firmware-cost:
	@test/packages.sh build tool sandbox firmware lwip
	$(again) all
	$(again) firmware
	$(again) $(FIRMWARE)/lines
	@CROSS=$(CROSS) $(PYTHON) test/firmware/cost.py

$(FIRMWARE)/lines: $(addprefix test/bench/,lines.c corpus.c corpus.h bench.h)
	@mkdir -p $(@D)
	$(call quiet,link) $(CC) -std=gnu11 $(WARNINGS) $(CFLAGS) -o $@ \
		$(filter %.c,$^)

# Also fetches jsmn.h.
$(FIRMWARE)/sources/.fetched: examples/firmware/sources.sh | $(JSMN)/jsmn.h
	$(call quiet,fetch) examples/firmware/sources.sh $(@D) lwip bearssl
	@touch $@

# Certificates of the test's servers and their roots. They are kept, because the
# images trust them.
$(FIRMWARE)/ca/anchors.pem: test/firmware/certificates.py \
		test/e2e/tls_certificates.py
	$(call quiet,make) $(PYTHON) $< $(@D)

# Changes whenever the variable does.
$(FIRMWARE)/trusted: force
	@mkdir -p $(@D)
	@echo '$(FIRMWARE_CA)' | cmp -s - $@ || echo '$(FIRMWARE_CA)' >$@
force:

$(IMAGES)/%/anchors.c: $(or $(FIRMWARE_CA),$(FIRMWARE)/ca/anchors.pem) \
		$(FIRMWARE)/trusted $(BUILD)/pem2c
	@mkdir -p $(@D)
	$(call quiet,anchors) $(BUILD)/pem2c $(or $(FIRMWARE_CA), \
		$(FIRMWARE)/ca/$($*_anchors).pem) firmware_anchors >$@

# Third-party code, unchanged.
lwip_sources = $(wildcard $(addprefix $(FIRMWARE)/sources/lwip/src/, \
	core/*.c core/ipv4/*.c netif/ethernet.c apps/sntp/sntp.c))
bearssl_sources = $(wildcard $(FIRMWARE)/sources/bearssl/src/*.c \
	$(FIRMWARE)/sources/bearssl/src/*/*.c)

$(IMAGES)/theirs/%.o: $(FIRMWARE)/sources/%.c examples/firmware/lwipopts.h
	@mkdir -p $(@D)
	$(call quiet,compile) $(firmware_cc) $(firmware_options) -w \
		$(firmware_includes) -I$(FIRMWARE)/sources/bearssl/src -c -o $@ $<

$(IMAGES)/conform/memp.o: $(FIRMWARE)/sources/lwip/src/core/memp.c \
		examples/firmware/lwipopts.h examples/firmware/firmware.mk
	@mkdir -p $(@D)
	$(call quiet,compile) $(firmware_cc) $(firmware_options) -w \
		$(firmware_includes) $(addprefix -D,$(conform_limits)) -c -o $@ $<

theirs = $(1:$(FIRMWARE)/sources/%.c=$(IMAGES)/theirs/%.o)
$(IMAGES)/libbearssl.a: $(call theirs,$(bearssl_sources))
$(IMAGES)/liblwip.a: $(call theirs,$(lwip_sources))
$(IMAGES)/lib%.a:
	$(call quiet,archive) rm -f $@ && $(CROSS)ar rcs $@ $^

# port/lwip on this machine, with lwIP's driver for a TAP device: in one loop, on
# threads, and on threads without their lock, which must fail. And port/sockets
# over lwIP's sockets.
TAPS = $(addprefix $(FIRMWARE)/tap-,loop threads sockets)
tap_loop = -DNO_SYS=1 -fsanitize=address,undefined
tap_threads = -DNO_SYS=0 -fsanitize=thread
tap_unlocked = -DNO_SYS=0 -DLWIP_TCPIP_CORE_LOCKING=0
tap_sockets = -DNO_SYS=0 -fsanitize=thread -Iport/sockets \
	-isystem port/sockets/stubs/freertos \
	-DMST_SOCKETS_PLATFORM='"mst_sockets_freertos.h"'
tap_includes = -I. -Iport/lwip -Iport/conform -Itest/lwip \
	-DTAP_SOCKETS=$(if $(filter sockets,$*),1,0) $(addprefix -isystem \
	$(FIRMWARE)/sources/lwip/,src/include port/include)
tap_theirs = $(lwip_sources) $(addprefix $(FIRMWARE)/sources/lwip/, \
	src/api/*.c port/sys_arch.c port/netif/tapif.c)
tap_ours = test/lwip/tap.c port/conform/mst_conform.c $(if \
	$(filter sockets,$*),$(addprefix port/sockets/,mst_sockets.c \
	stubs/freertos/freertos.c) mini_stream.c,port/lwip/mst_lwip.c)
$(FIRMWARE)/tap-%: $(wildcard $(addprefix port/,lwip/* sockets/* \
		sockets/stubs/*/* conform/*.[ch]) test/lwip/*.[ch]) \
		mini_stream.h | $(FIRMWARE)/sources/.fetched
	$(call quiet,link) $(CC) -std=gnu11 -g -O1 $(tap_$*) $(tap_includes) \
		$(BASE_CPPFLAGS) $(WARNINGS) -r -o $@.o $(tap_ours)
	@$(CC) -g -O1 $(tap_$*) $(tap_includes) -w -o $@ $@.o $(tap_theirs) \
		$(BASE_LDFLAGS) $(BASE_LIBS)

# firmware_image NAME
define firmware_image
$(1)_objects += $$(patsubst %.c,$$(IMAGES)/$(1)/%.o,$$(firmware_sources) \
	$$($(1)_sources)) $$($(1)_anchors:%=$$(IMAGES)/$(1)/anchors.o)

$$(IMAGES)/$(1)/%.o: %.c examples/firmware/firmware.mk \
		| $$(FIRMWARE)/sources/.fetched
	@mkdir -p $$(@D)
	$$(call quiet,compile) $$(firmware_cc) $$(firmware_options) $$(WARNINGS) \
		$$(firmware_includes) $$($(1)_options) $$(addprefix -D,$$($(1)_limits)) \
		-DIMAGE_LIMITS='"$$(or $$(strip $$($(1)_limits)),none)"' -MMD -MP -c -o $$@ $$<

$$(IMAGES)/$(1)/anchors.o: $$(IMAGES)/$(1)/anchors.c
	$$(call quiet,compile) $$(firmware_cc) $$(firmware_options) \
		$$(firmware_includes) -c -o $$@ $$<

$$(IMAGES)/$(1).elf: $$($(1)_objects) $$(IMAGES)/liblwip.a \
		$$(IMAGES)/libbearssl.a \
		examples/firmware/board/board.ld
	$$(call quiet,link) $$(firmware_cc) -nostartfiles --specs=nano.specs \
		-Wl,--gc-sections,--fatal-warnings,-Map=$$(@:.elf=.map) -o $$@ \
		$$($(1)_link) -T $$(filter %.ld,$$^) $$(filter-out %.ld,$$^)
endef
$(eval $(call firmware_image,any))
$(eval $(call firmware_image,small))
$(eval $(call firmware_image,conform))
