# Builds and checks mini_stream; `make help` lists what it can do. Needs GNU
# make. Everything built goes to $(BUILD).
# SPDX-License-Identifier: 0BSD

# A cross build or another copy of a library:
#   BEARSSL_DIR  BearSSL's source tree after its make, or where it is installed
#   JSMN_DIR     the folder of jsmn.h
CFLAGS ?= -O2 -g
WERROR ?= -Werror
BUILD ?= build
BEARSSL_DIR ?=
JSMN_DIR ?=
DEMO_SECONDS ?= 10
PREFIX ?= /usr/local
DESTDIR ?=
CROSS ?= arm-none-eabi-
CROSS_RISCV ?= riscv64-unknown-elf-
CROSS_WINDOWS ?= x86_64-w64-mingw32-
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

export BEARSSL_DIR JSMN_DIR CC BUILD DEMO_SECONDS PYTHON

# Evaluated when a recipe needs it: packages may be installed by then. Other
# people's headers are system headers: our warnings are for our code.
system = $(patsubst -I%,-isystem%,$(shell pkg-config --cflags $(1)))
libs = $(shell pkg-config --libs $(1))

WARNINGS = -Wall -Wextra -Wpedantic -Wconversion -Wshadow $(WERROR)
BASE_CPPFLAGS = -I. -Iport/posix -Iport/primitives -Iport/cares \
	$(addprefix -isystem ,$(JSMN_DIR) $(BEARSSL_DIR:%=%/inc) \
	$(BEARSSL_DIR:%=%/include) $(BEARSSL_DIR))
BASE_LDFLAGS = -Wl,--as-needed -Wl,-z,now \
	$(addprefix -L,$(BEARSSL_DIR:%=%/build) $(BEARSSL_DIR:%=%/lib))
BASE_LIBS = -lbearssl -pthread

TOOL_MODULES = inih jansson yajl ncursesw libcares libmicrohttpd openssl \
	libzstd
SANDBOX_MODULES = libsoup-3.0 jansson gnutls sqlite3 libzstd
GATEWAY_MODULES = $(TOOL_MODULES) libnats glib-2.0 libmosquitto libsystemd
TEST_MODULES = cmocka jansson libcares openssl libzstd
MBEDTLS_LIBS = -lmbedtls -lmbedx509 -lmbedcrypto
PRIMITIVES_MODULES = libcrypto
BENCH_MODULES = simdjson RapidJSON libcjson libwebsockets openssl \
	libnats

# Standard and include directories by folder, for compiler and linter.
flags = $(BASE_CPPFLAGS) $(strip \
	$(or $(flags-$(subst $(space),/,$(wordlist 1,2,$(subst /, ,$(1))))), \
	$(flags-$(firstword $(subst /, ,$(1)))),-std=c99))
space = $() $()
comma = ,
flags-examples = -std=gnu11 -Iport/mock
flags-examples/sandbox = -std=gnu11 $(TOOL_LIMITS) \
	$(call system,$(SANDBOX_MODULES))
flags-examples/mini-stream = -std=gnu11 $(TOOL_LIMITS) -Iport/proxy \
	-Iport/openssl $(call system,$(TOOL_MODULES))
flags-examples/gateway = -std=gnu11 $(TOOL_LIMITS) -Iexamples/mini-stream \
	-Iport/proxy -Iport/openssl $(call system,$(GATEWAY_MODULES))
flags-examples/firmware = $(firmware_clang)
flags-examples/windows = $(windows_clang)
flags-port/openssl = -std=c99 $(call system,openssl)
flags-port/lwip = $(firmware_clang)
flags-port/semihosting = $(firmware_clang)
flags-port/windows = $(windows_clang)
TEST_FOLDERS = test/lib test/model test/plans test/torture
flags-test = -std=gnu11 -Iport/mock -Iport/conform -Iport/proxy \
	-Iport/openssl -Iport/mbedtls -Iport/sockets -Iport/flash \
	$(TEST_FOLDERS:%=-I%) -Iexamples/mini-stream \
	$(call system,$(TEST_MODULES))
flags-test/bench = $(if $(filter %.cc,$(1)),-std=c++17,-std=gnu11) \
	$(TEST_FOLDERS:%=-I%) -Iport/openssl $(call system,$(BENCH_MODULES))
flags-test/firmware = $(firmware_clang)
flags-test/lwip = -std=gnu11 -DNO_SYS=0 $(tap_includes)
flags-test/size = -std=c99
flags-test/windows = $(windows_clang)
options = $(call flags,$<) $(CPPFLAGS) $(WARNINGS) $(CFLAGS) -MMD -MP
compile = $(CC) $(options)

SANITIZE = -g -O1 -DMST_TEST -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all

# The tool has many markets on one connection: all of it is built with more
# subscriptions, the library and the ports as well.
TOOL_LIMITS = -DMST_SUBSCRIPTIONS_MAX=1024
START_SRC = examples/start.c
TOOL_SRC = $(START_SRC) $(wildcard examples/mini-stream/*.c)
SANDBOX_SRC = $(wildcard examples/sandbox/*.c)
CONSUMER_SRC = $(addprefix examples/gateway/,consumer.c subject.c)
MQTT_SRC = $(addprefix examples/gateway/,mqtt_top.c subject.c)
GATEWAY_SRC = $(filter-out %/consumer.c %/mqtt_top.c, \
	$(wildcard examples/gateway/*.c))
POSIX_SRC = $(wildcard port/posix/*.c)
# A program each; what they share is in lib/, see test/README.md.
TEST_SRC = $(wildcard $(addprefix test/,$(addsuffix /*.c,unit session real fuzz field)))
PROXY_SRC = port/proxy/mst_proxy.c
OPENSSL_SRC = port/openssl/mst_openssl.c
MBEDTLS_SRC = port/mbedtls/mst_mbedtls.c
PRIMITIVES_SRC = port/primitives/mst_primitives.c
CARES_SRC = port/cares/mst_cares.c
SOCKETS_SRC = port/sockets/mst_sockets.c
# What of the tool is tested with the library's own limits.
PLAYER_SRC = $(addprefix examples/mini-stream/,recorder.c recording.c \
	recording_file.c replay_call.c replay_reply.c replay_port.c player.c)
$(PLAYER_SRC:%.c=$(BUILD)/san/%.o): CPPFLAGS += -UMST_SUBSCRIPTIONS_MAX
HELPER_SRC = $(wildcard $(addsuffix /*.c,$(TEST_FOLDERS) port/mock port/conform port/flash)) \
	$(PLAYER_SRC) \
	$(POSIX_SRC) $(PROXY_SRC) $(OPENSSL_SRC) $(MBEDTLS_SRC) \
	$(PRIMITIVES_SRC) $(CARES_SRC) $(SOCKETS_SRC)
ALL_SRC = mini_stream.c $(sort $(wildcard examples/*.c) $(TOOL_SRC)) $(SANDBOX_SRC) \
	$(sort $(GATEWAY_SRC) $(CONSUMER_SRC) $(MQTT_SRC)) \
	$(sort $(HELPER_SRC)) $(TEST_SRC) \
	$(wildcard test/bench/*.c test/size/*.c)
ALL_HEADERS = $(wildcard *.h port/*/*.h port/*/*/*.h examples/*.h \
	examples/*/*.h test/*/*.h test/size/*/*.h)
BENCH_CXX = $(wildcard test/bench/*.cc)

PROGRAMS = $(addprefix $(BUILD)/,mini-stream sandbox ws-echo first put-address \
	plain pem2c epoll)
TESTS = $(TEST_SRC:%.c=$(BUILD)/%)
LIBRARY = $(BUILD)/libmini_stream.a
POSIX = $(BUILD)/libmst_posix.a
OPENSSL = $(BUILD)/libmst_openssl.a
PRIMITIVES = $(BUILD)/libmst_primitives.a
JSMN = $(BUILD)/jsmn

# IPsec-MB is for x86-64 only; elsewhere all primitives are libcrypto's.
ipsec_mb = $(filter x86_64-%,$(shell $(CC) -dumpmachine))
primitives_libs = $(call libs,$(PRIMITIVES_MODULES)) \
	$(if $(ipsec_mb),-lIPSec_MB)
TEST_LIBS = $(BASE_LIBS) $(primitives_libs) $(call libs,$(TEST_MODULES)) \
	$(MBEDTLS_LIBS)
$(BUILD)/%/mst_primitives.o $(BUILD)/%/mst_primitives.ok: CPPFLAGS += \
	$(call system,$(PRIMITIVES_MODULES)) \
	$(if $(ipsec_mb),-DMST_PRIMITIVES_IPSEC_MB)

# As many jobs as there are processors, unless -j is given.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
again = +@$(MAKE) --no-print-directory $(jobs)

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.PHONY: all packages demo test test-ports test-tools test-gateway test-page test-package tests year objects lint tidy size bench \
	bench-broker bench-gateway bench-sandbox \
	count oracle plans windows windows-programs format help clean

## The library and the programs: mini-stream, sandbox, the examples (default)
all: $(PROGRAMS) $(LIBRARY)
	@: # and says nothing where nothing is to be done

## Install what `all` and `install` need and is missing (Debian packages)
packages:
	@test/packages.sh build tool sandbox install

## Stream for DEMO_SECONDS (10) from a local exchange; installs what is missing
demo:
	@test/packages.sh build tool sandbox
	@$(if $(V),:,$(MAKE) --no-print-directory -q $(PROGRAMS) $(LIBRARY) || \
		echo "building, about a minute")
	$(again) all BRIEF=1
	@examples/demo.sh

## Run every test; installs what is missing
test:
	@test/packages.sh build tool sandbox test
	$(again) all tests
	@test/run.sh

## The suites of RFC 6455 and of sessions, once for each port that runs here
test-ports:
	@test/packages.sh build tool sandbox test lwip
	$(again) all firmware-sources
	$(again) $(TAPS) $(BUILD)/sockets/mini-stream \
		$(BUILD)/mbedtls/mini-stream
	@unshare -n$$([ "$$(id -u)" = 0 ] || echo r) \
		$(PYTHON) test/e2e/e2e.py test/lwip/tap.py
	@$(PYTHON) test/ports.py $(PORTS)

## 864,000 lines of the sandbox's markets, recorded and replayed twice
replay-day:
	@test/packages.sh build tool sandbox test
	$(again) all
	@REPLAY_MESSAGES=864000 $(PYTHON) test/e2e/e2e.py \
		test/real/e2e_replay.py "at length"

TOOLS_TESTS ?= tools $(addprefix real/e2e_,formats.py replay.py doctor.py \
	doctor_way.py token.py put.py)

## The tools as a person has them: keys, signals, full disks; installs what is missing
test-tools:
	@test/packages.sh build tool sandbox test tools
	$(again) all
	@test/run.sh $(TOOLS_TESTS)

## Gateways, a broker and consumers, and what goes wrong between them; installs what is missing
test-gateway:
	@test/packages.sh build tool sandbox gateway broker
	$(again) $(addprefix $(BUILD)/,sandbox mini-stream-gateway \
		gateway-consumer mqtt-top node/consumer.mjs)
	@test/run.sh $(or $(GATEWAY_TESTS),gateway)

## The sandbox's page in headless Chromium; installs what is missing
test-page:
	@test/packages.sh build tool sandbox page
	$(again) $(BUILD)/sandbox $(BUILD)/mini-stream
	@test/run.sh page

## The library in others' builds, make install and dist, code in documents; installs what is missing
test-package:
	@test/packages.sh build tool sandbox test package install
	$(again) all
	@test/run.sh package

## A session through a year of outages in virtual time
year:
	@test/packages.sh build test
	$(again) $(BUILD)/test/session/year
	@YEAR_DAYS=365 $(BUILD)/test/session/year

## Build the test programs only
tests: $(TESTS)
	@:

## Check format, layering, symbols, scripts and analyse all code
lint:
	@test/packages.sh build tool sandbox gateway test lint bench firmware lwip size windows
	+@MAKE="$(MAKE) --no-print-directory $(jobs)" \
		test/lint.sh $(ALL_SRC) $(ALL_HEADERS) $(FIRMWARE_SRC) \
		$(FIRMWARE_HEADERS) $(WINDOWS_SRC) $(BENCH_CXX)

# mbedTLS, llhttp (of nghttp2) and wslay (of aria2).
$(BUILD)/firmware/sources/.compared: examples/firmware/sources.sh
	$(call quiet,fetch) examples/firmware/sources.sh $(@D) mbedtls nghttp2 aria2
	@touch $@

cross_includes = $(addprefix -isystem ,$(JSMN_DIR) \
	$(BEARSSL_DIR:%=%/inc) $(BEARSSL_DIR:%=%/include) $(BEARSSL_DIR))

## Code, memory, stack and lines of the library; what firmware consists of
size:
	@test/packages.sh build size
	$(again) firmware
	$(again) $(FIRMWARE)/sources/.compared
	@SOURCES=$(FIRMWARE)/sources CROSS=$(CROSS) CROSS_RISCV=$(CROSS_RISCV) IMAGES="$(FIRMWARE_IMAGES)" \
		$(PYTHON) test/size/size.py $(cross_includes)

## Windows port and two programs, by mingw-w64; nothing here runs them
windows:
	@test/packages.sh build windows
	$(again) windows-programs

## Speed, memory and latency compared with other libraries; installs them
bench:
	@test/packages.sh build bench
	$(again) $(BENCH) $(BUILD)/mini-stream
	@$(BUILD)/bench/decode
	@echo
	@$(PYTHON) test/bench/run.py

## What the sandbox costs with 1,000 connections, and with 1,000 markets
bench-sandbox:
	@test/packages.sh build tool sandbox test
	$(again) $(BUILD)/sandbox
	@$(PYTHON) test/bench/sandbox.py

## The gateway with 10, 100 and 1,000 markets: processor time, memory, latency
bench-gateway:
	@test/packages.sh build tool sandbox gateway broker
	$(again) all $(BUILD)/mini-stream-gateway $(BUILD)/bench/gateway_reader
	@$(PYTHON) test/bench/gateway.py

## A broker alone: what a message to a consumer costs, and one that is stored
bench-broker:
	@test/packages.sh broker
	@$(PYTHON) test/bench/broker.py

## Instructions of units of work on emulated boards: Cortex-M0+, M3, M4, RV32
count:
	@test/packages.sh build size count
	@CROSS=$(CROSS) CROSS_RISCV=$(CROSS_RISCV) \
		$(PYTHON) test/bench/count.py $(cross_includes)

## PLANS (100,000) plans of a service that does whatever it likes, by PLANS_SEED
plans:
	@test/packages.sh build test
	$(again) $(BUILD)/bench/plans
	@test/plans/plans.sh $(BUILD)/bench/plans

## The order book against its oracle for ORACLE_EVENTS (10 million) events
oracle:
	@test/packages.sh build test
	$(again) $(BUILD)/bench/oracle
	@ORACLE_EVENTS=$${ORACLE_EVENTS:-10000000} \
		ORACLE_SEED=$${ORACLE_SEED:-$$(date +%s)} $(BUILD)/bench/oracle

braces = readability-braces-around-statements
## Apply .clang-format and put braces where they are missing
format:
	@$(foreach file,$(ALL_SRC),clang-tidy --quiet --fix \
		--checks=-*,$(braces) $(file) -- $(call flags,$(file));)
	clang-format -i $(ALL_SRC) $(ALL_HEADERS) $(FIRMWARE_SRC) \
		$(FIRMWARE_HEADERS) $(WINDOWS_SRC) $(BENCH_CXX)

## Remove everything built
clean:
	rm -rf $(BUILD)

## This list
help:
	@awk '/^## / { text = substr($$0, 4); next } \
		text && /^[a-z-]+:/ { sub(/:.*/, ""); \
		group = /^evidence/ ? 4 : \
			/^(bench|size|count|firmware-cost)/ ? 3 : \
			/test|lint|format|fuzz|plans|oracle|year|day|hour|windows/ \
			? 2 : 1; \
		lines[group] = lines[group] \
			sprintf("  make %-19s %s\n", $$0, text) } { text = "" } \
		END { printf "To use:\n%s\nTo test:\n%s\nTo measure:\n%s\n", \
			lines[1], lines[2], lines[3]; \
		printf "The evidence:\n%s\n", lines[4] }' \
		Makefile port/install/package.mk examples/firmware/firmware.mk \
		test/cross.mk test/evidence.mk $(wildcard test/evidence/*.mk)
	@echo "Variables: CC CFLAGS BUILD BEARSSL_DIR JSMN_DIR PREFIX DESTDIR DEMO_SECONDS ARCH V=1"

# V=1 shows the commands, BRIEF=1 not even their names.
quiet = $(if $(V),,@$(if $(BRIEF),,echo "$(1) $@" &&))

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) -c -o $@ $<

# For a program that leaves TLS to another.
$(BUILD)/no-tls/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) -DMST_NO_TLS -c -o $@ $<

$(BUILD)/tool/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) $(TOOL_LIMITS) -c -o $@ $<

$(BUILD)/san/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) $(SANITIZE) -c -o $@ $<

# Most of these include the library: optimising costs more time than it saves.
# They test what a build for speed has.
$(patsubst %.c,$(BUILD)/san/%.o,$(filter test/unit/% test/fuzz/%, \
	$(TEST_SRC))): override SANITIZE += -O0 -D__OPTIMIZE__

# It counts the basic blocks that it goes through (test/lib/work.h).
$(addprefix $(BUILD)/san/test/unit/,linear.o linear_bytes.o): override CFLAGS += -fsanitize-coverage=trace-pc

# Measured at -O2 whatever CFLAGS says.
$(BUILD)/bench/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) -O2 -c -o $@ $<

$(BUILD)/bench/obj/%.o: %.cc Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(CXX) $(options) -O2 -c -o $@ $<

$(BUILD)/%.a:
	$(call quiet,archive) rm -f $@ && $(AR) rcs $@ $^

# A folder with jsmn.h alone, for compilers for other machines: they must not
# see the other headers here.
$(JSMN)/jsmn.h:
	@mkdir -p $(@D)
	@ln -sf "$$(realpath "$$(echo '#include <jsmn.h>' | \
		$(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) -E -x c - | \
		sed -n 's/^# 1 "\(.*jsmn\.h\)".*/\1/p')")" $@

$(LIBRARY): $(BUILD)/obj/mini_stream.o
$(POSIX): $(patsubst %.c,$(BUILD)/obj/%.o,$(POSIX_SRC) $(PROXY_SRC) \
	$(CARES_SRC))
$(OPENSSL): $(OPENSSL_SRC:%.c=$(BUILD)/obj/%.o)
$(PRIMITIVES): $(PRIMITIVES_SRC:%.c=$(BUILD)/obj/%.o)
$(BUILD)/san/libmini_stream.a: $(BUILD)/san/mini_stream.o
$(BUILD)/san/libhelpers.a: $(sort $(HELPER_SRC:%.c=$(BUILD)/san/%.o))

link = $(call quiet,link) mkdir -p $(@D) && \
	$(CC) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/mini-stream: $(patsubst %.c,$(BUILD)/tool/%.o,$(TOOL_SRC) \
		mini_stream.c $(POSIX_SRC) $(PROXY_SRC) $(CARES_SRC) \
		$(OPENSSL_SRC) $(PRIMITIVES_SRC))
	$(link) $(BASE_LIBS) $(primitives_libs) $(call libs,$(TOOL_MODULES)) \
		$(LDLIBS)

# For tests: TLS of mbedTLS where the tool is asked for that of OpenSSL.
$(BUILD)/mbedtls/mini-stream: $(patsubst %.c,$(BUILD)/tool/%.o, \
		test/lib/tool_mbedtls.c $(MBEDTLS_SRC)) \
		$(BUILD)/tool/libtool.a
	@mkdir -p $(@D) && ln -sf ../sandbox $(@D)/sandbox
	$(link) $(addprefix -Wl$(comma)--wrap=mst_openssl_,init free) \
		$(BASE_LIBS) $(primitives_libs) $(call libs,$(TOOL_MODULES)) \
		$(MBEDTLS_LIBS) $(LDLIBS)

# For tests: on the port for RTOS sockets.
$(BUILD)/sockets/mini-stream: $(patsubst %.c,$(BUILD)/tool/%.o, \
		test/lib/tool_sockets.c $(SOCKETS_SRC)) \
		$(BUILD)/tool/libtool.a
	@mkdir -p $(@D) && ln -sf ../sandbox $(@D)/sandbox
	$(link) $(addprefix -Wl$(comma)--wrap=mst_posix_,init wait free \
		token_file) $(BASE_LIBS) $(primitives_libs) \
		$(call libs,$(TOOL_MODULES)) $(LDLIBS)

# What the gateway takes of the tool's.
$(BUILD)/tool/libtool.a: $(patsubst %.c,$(BUILD)/tool/%.o,$(TOOL_SRC) \
	mini_stream.c $(POSIX_SRC) $(PROXY_SRC) $(CARES_SRC) $(OPENSSL_SRC) \
	$(PRIMITIVES_SRC))

$(BUILD)/mini-stream-gateway: $(GATEWAY_SRC:%.c=$(BUILD)/tool/%.o) \
		$(BUILD)/tool/libtool.a
	$(link) $(BASE_LIBS) $(primitives_libs) \
		$(call libs,$(GATEWAY_MODULES)) $(LDLIBS)

$(BUILD)/gateway-consumer: $(patsubst %.c,$(BUILD)/tool/%.o,$(CONSUMER_SRC) \
		$(START_SRC))
	$(link) $(call libs,jansson libnats) $(LDLIBS)

# Node looks for packages in the script's folder.
$(BUILD)/node/consumer.mjs: examples/gateway/consumer.mjs
	@mkdir -p $(@D)
	$(call quiet,copy) cp $< $@

$(BUILD)/mqtt-top: $(MQTT_SRC:%.c=$(BUILD)/tool/%.o) $(BUILD)/tool/libtool.a
	$(link) $(BASE_LIBS) $(primitives_libs) \
		$(call libs,$(GATEWAY_MODULES)) $(LDLIBS)

# It reads the tool's recordings.
$(BUILD)/sandbox: $(patsubst %.c,$(BUILD)/obj/%.o,$(SANDBOX_SRC) $(START_SRC)) \
		$(addprefix $(BUILD)/tool/examples/mini-stream/, \
			recording.o recording_file.o) \
		$(BUILD)/obj/examples/sandbox/page/files.o
	$(link) $(call libs,$(SANDBOX_MODULES)) $(LDLIBS)

# The page's files as they are, in the sandbox itself.
PAGE_FILES = $(wildcard $(addprefix examples/sandbox/page/*.,html css svg js))
$(BUILD)/obj/examples/sandbox/page/files.o: $(PAGE_FILES) Makefile
	@mkdir -p $(@D)
	$(call quiet,embed) (cd examples/sandbox/page && $(LD) -r -b binary \
		-z noexecstack -o $(abspath $@) $(notdir $(PAGE_FILES)))

$(BUILD)/ws-echo: $(addprefix $(BUILD)/obj/examples/,ws_echo.o start.o) \
		$(POSIX) $(LIBRARY)
	$(link) $(BASE_LIBS) $(LDLIBS)

$(BUILD)/first: $(BUILD)/obj/examples/first.o $(POSIX) $(LIBRARY)
	$(link) $(BASE_LIBS) $(LDLIBS)

$(BUILD)/epoll: $(BUILD)/obj/examples/epoll.o $(POSIX) $(LIBRARY)
	$(link) $(BASE_LIBS) $(LDLIBS)

$(BUILD)/pem2c: $(addprefix $(BUILD)/obj/examples/,pem2c.o start.o) \
		$(POSIX) $(LIBRARY)
	$(link) $(BASE_LIBS) $(call libs,gnutls) $(LDLIBS)

$(BUILD)/put-address: $(BUILD)/obj/examples/put_address.o $(POSIX) $(LIBRARY)
	$(link) $(BASE_LIBS) $(LDLIBS)

NO_TLS = $(patsubst %.c,$(BUILD)/no-tls/%.o,examples/plain.c $(POSIX_SRC) \
	mini_stream.c)
$(BUILD)/plain: $(NO_TLS)
	$(link) $(BASE_LIBS) $(LDLIBS)

# Looked at once in a folder, before anything is compiled for `all`.
$(BUILD)/.libraries:
	@test/packages.sh -n build tool sandbox && mkdir -p $(@D) && touch $@

ifneq ($(filter all,$(or $(MAKECMDGOALS),all)),)
$(foreach kind,obj tool,$(ALL_SRC:%.c=$(BUILD)/$(kind)/%.o)) $(NO_TLS) \
	$(BUILD)/obj/examples/sandbox/page/files.o: | $(BUILD)/.libraries
endif

bench_objects = $(patsubst %,$(BUILD)/bench/obj/test/bench/%.o,$(1))
$(BUILD)/bench/gateway_reader: $(BUILD)/bench/obj/test/bench/gateway_reader.o \
		$(LIBRARY)
	$(link) $(BASE_LIBS) $(call libs,libnats) $(LDLIBS)

BENCH_OURS = $(addprefix $(BUILD)/bench/,decode live peers records \
	scale client_mini_stream client_alone client_openssl many)
BENCH = $(BENCH_OURS) $(addprefix $(BUILD)/bench/,server client_beast \
	client_lws client_wslay)

$(BENCH): $(BUILD)/bench/%: $(BUILD)/bench/obj/test/bench/%.o
	$(link) $(BASE_LIBS) $(bench_libs) $(LDLIBS)

$(BENCH_OURS): $(BUILD)/bench/obj/mini_stream.o
$(BUILD)/bench/peers: $(call bench_objects,corpus decode_mini_stream \
	decode_simdjson decode_rapidjson decode_jsmn decode_cjson)
$(BUILD)/bench/peers: $(BUILD)/bench/no_fast_lane.o
$(BUILD)/bench/peers: bench_libs = -lsimdjson -lcjson -lstdc++
$(BUILD)/bench/decode $(BUILD)/bench/scale: $(call bench_objects,corpus)
$(BUILD)/bench/live: $(call bench_objects,corpus follow book_std)
$(BUILD)/bench/live: bench_libs = -lstdc++
$(BUILD)/bench/scale: bench_libs = -lm
$(BUILD)/bench/records: $(PRIMITIVES_SRC:%.c=$(BUILD)/bench/obj/%.o)
$(BUILD)/bench/records: bench_libs = $(primitives_libs)
$(BUILD)/bench/server: $(call bench_objects,corpus)
$(BUILD)/bench/server: bench_libs = -lssl -lcrypto
$(filter $(BUILD)/bench/client_%,$(BENCH)) $(BUILD)/bench/many: \
	$(call bench_objects,client corpus)
BENCH_POSIX = $(addprefix $(BUILD)/bench/,client_mini_stream client_alone \
	client_openssl many)
$(BENCH_POSIX): $(call bench_objects,posix_client) \
	$(POSIX_SRC:%.c=$(BUILD)/bench/obj/%.o)
$(BUILD)/bench/client_alone $(BUILD)/bench/client_openssl: \
	$(call bench_objects,client_mini_stream)
$(BUILD)/bench/client_mini_stream $(BUILD)/bench/many: \
	$(call bench_objects,posix_fast) \
	$(patsubst %.c,$(BUILD)/bench/obj/%.o,$(PRIMITIVES_SRC) $(CARES_SRC))
$(BUILD)/bench/client_mini_stream $(BUILD)/bench/many: \
	bench_libs = $(primitives_libs) -lcares
$(BUILD)/bench/client_openssl: $(OPENSSL_SRC:%.c=$(BUILD)/bench/obj/%.o)
$(BUILD)/bench/client_openssl: bench_libs = -lssl -lcrypto
$(BUILD)/bench/client_beast: $(call bench_objects,decode_simdjson)
$(BUILD)/bench/client_beast: bench_libs = -lsimdjson -lssl -lcrypto -lstdc++
$(BUILD)/bench/client_lws: $(call bench_objects,decode_cjson)
$(BUILD)/bench/client_lws: bench_libs = -lwebsockets -lcjson -lssl -lcrypto
$(BUILD)/bench/client_wslay: $(call bench_objects,decode_jsmn)
$(BUILD)/bench/client_wslay: bench_libs = -lwslay -lssl -lcrypto

# The decoder without its fast lane. It is linked with the other one, so it
# exports only its own name.
$(BUILD)/bench/obj/no_fast_lane.o: mini_stream.c Makefile
	@mkdir -p $(@D)
	$(call quiet,compile) $(compile) -O2 -DMST_NO_FAST_LANE -c -o $@ $<

no_lane = decode_mini_stream_no_fast_lane
$(BUILD)/bench/no_fast_lane.o: $(BUILD)/bench/obj/no_fast_lane.o \
		$(call bench_objects,decode_mini_stream)
	$(call quiet,link) $(LD) -r -o $@ $^ && objcopy --redefine-sym \
		decode_mini_stream=$(no_lane) --keep-global-symbol=$(no_lane) $@

ORACLE_SRC = mini_stream.c test/unit/oracle.c $(wildcard test/model/oracle*.c) \
	$(addprefix test/lib/,cases.c support.c support_events.c)
$(BUILD)/bench/oracle: $(ORACLE_SRC:%.c=$(BUILD)/bench/obj/%.o)
	$(link) $(BASE_LIBS) $(call libs,$(TEST_MODULES)) $(LDLIBS)

PLANS_SRC = mini_stream.c $(wildcard port/mock/*.c) test/session/plans.c \
	test/model/states.c $(wildcard test/plans/*.c) \
	$(addprefix test/lib/,cases.c service.c service_address.c service_http.c \
	service_stream.c support.c support_events.c)
$(BUILD)/bench/plans: $(PLANS_SRC:%.c=$(BUILD)/bench/obj/%.o)
	$(link) $(BASE_LIBS) $(call libs,$(TEST_MODULES)) $(LDLIBS)

include port/install/package.mk
include examples/firmware/firmware.mk
include test/cross.mk
include test/evidence.mk

# For Windows: programs without TLS, and the library with it. Of BearSSL's
# sources, which firmware has as well, the first need SHA-1 and SHA-256.
WINDOWS = $(BUILD)/windows
WINDOWS_SRC = $(wildcard port/windows/*.c examples/windows/*.c test/windows/*.c)
windows_includes = -I. -Iport/windows -Iport/conform \
	-isystem $(JSMN) -isystem $(FIRMWARE)/sources/bearssl/inc
windows_cc = $(CROSS_WINDOWS)gcc -std=c99 -O2 $(windows_includes)
# For clang-tidy, which finds the headers by the target's name.
windows_clang = --target=x86_64-w64-mingw32 -std=c99 $(windows_includes)
windows_objects = $(addprefix $(WINDOWS)/,$(addsuffix .o,mini_stream \
	port/windows/mst_windows $(addprefix bearssl/,hash/sha1 hash/sha2small \
	codec/dec32be codec/enc32be)))

windows-programs: $(addprefix $(WINDOWS)/,first.exe conform.exe tls/mini_stream.o)
	@:

$(WINDOWS)/first.exe: $(WINDOWS)/examples/windows/first.o
$(WINDOWS)/conform.exe: $(addprefix $(WINDOWS)/,test/windows/conform.o \
	port/conform/mst_conform.o)
$(WINDOWS)/%.exe: $(windows_objects)
	$(call quiet,link) $(CROSS_WINDOWS)gcc -o $@ $^ -lws2_32 -lbcrypt

$(WINDOWS)/bearssl/%.o: | $(FIRMWARE)/sources/.fetched
	@mkdir -p $(@D)
	$(call quiet,compile) $(windows_cc) -w \
		-I$(FIRMWARE)/sources/bearssl/src -c -o $@ \
		$(FIRMWARE)/sources/bearssl/src/$*.c

$(WINDOWS)/tls/%.o: %.c Makefile | $(FIRMWARE)/sources/.fetched
	@mkdir -p $(@D)
	$(call quiet,compile) $(windows_cc) $(WARNINGS) -MMD -MP -c -o $@ $<

$(WINDOWS)/%.o: %.c Makefile | $(FIRMWARE)/sources/.fetched
	@mkdir -p $(@D)
	$(call quiet,compile) $(windows_cc) $(WARNINGS) -DMST_NO_TLS -MMD -MP \
		-c -o $@ $<

# One that includes the library, to reach its static functions, takes nothing
# from the archive of it.
$(TESTS): $(BUILD)/%: $(BUILD)/san/%.o $(BUILD)/san/libhelpers.a \
		$(BUILD)/san/libmini_stream.a
	$(link) $(SANITIZE) $(TEST_LIBS) $(LDLIBS)

# Everything compiled, nothing linked: for lint, with either compiler.
objects: $(ALL_SRC:%.c=$(BUILD)/obj/%.o) $(NO_TLS)

# The library's stack is bounded, hence no recursion. A test may stand in for a
# libc function, and the small image for some of BearSSL, whose parameters have
# other names. Tests run under sanitizers, so the slow analyzer leaves them out.
# A board's registers are at addresses.
names = -readability-inconsistent-declaration-parameter-name
names_and_analyzer = $(names),-clang-analyzer-*
tidy_checks = $(if $(filter mini_stream.c,$<),--checks=misc-no-recursion) \
	$(if $(filter test/%,$<),'--checks=$(names_and_analyzer)') \
	$(if $(filter %/small.c,$<),--checks=$(names)) \
	$(if $(findstring /board/,$<),--checks=-performance-no-int-to-ptr)

tidy: $(patsubst %.c,$(BUILD)/lint/tidy/%.ok,$(ALL_SRC) $(FIRMWARE_SRC) \
	$(WINDOWS_SRC))

$(patsubst %.c,$(BUILD)/lint/tidy/%.ok,$(FIRMWARE_SRC) $(WINDOWS_SRC)): \
	| $(FIRMWARE)/sources/.fetched
$(BUILD)/lint/tidy/%.ok: %.c .clang-tidy $(ALL_HEADERS) Makefile
	@mkdir -p $(@D)
	$(call quiet,clang-tidy) clang-tidy --quiet $(tidy_checks) $< \
		-- $(call flags,$<) $(CPPFLAGS)
	@touch $@

# Not those of builds within it, which may be under way.
-include $(shell find $(BUILD) \( -path $(BUILD)/evidence -o \
	-path $(BUILD)/lint -o -path $(BUILD)/cross \) -prune -o \
	-name '*.d' -type f -print 2>/dev/null)
