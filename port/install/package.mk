# Installs library and tools, makes their documents and the archive of the
# sources. The library contains jsmn, whose licence is the first comment of its
# header.
# SPDX-License-Identifier: 0BSD

INSTALLED = $(DESTDIR)$(PREFIX)
VERSION = $(shell sed -n 's/^.define MST_VERSION "\(.*\)"/\1/p' mini_stream.h)
ARCHIVE = mini_stream-$(VERSION)
TOOLS = $(BUILD)/mini-stream $(BUILD)/pem2c
HELP2MAN ?= help2man

.PHONY: install manuals docs dist licences

## Install library, tools and manuals to PREFIX (/usr/local), under DESTDIR
install: $(LIBRARY) $(POSIX) $(OPENSSL) $(PRIMITIVES) | $(TOOLS) manuals \
		$(JSMN)/jsmn.h
	install -d "$(INSTALLED)/include" "$(INSTALLED)/lib/pkgconfig" \
		"$(INSTALLED)/lib/cmake/mini_stream" "$(INSTALLED)/bin" \
		"$(INSTALLED)/share/man/man1" "$(INSTALLED)/share/doc/mini_stream" \
		"$(INSTALLED)/share/bash-completion/completions" \
		"$(INSTALLED)/share/zsh/site-functions" \
		"$(INSTALLED)/share/fish/vendor_completions.d"
	install -m 644 mini_stream.h port/posix/mst_posix.h \
		port/proxy/mst_proxy.h port/openssl/mst_openssl.h \
		port/primitives/mst_primitives.h port/cares/mst_cares.h \
		"$(INSTALLED)/include"
	install -m 644 $^ "$(INSTALLED)/lib"
	install -m 644 port/install/*.pc "$(INSTALLED)/lib/pkgconfig"
	install -m 644 port/install/*.cmake "$(INSTALLED)/lib/cmake/mini_stream"
	sed -i 's/@VERSION@/$(VERSION)/; s/@IPSEC_MB@/$(if $(ipsec_mb),-lIPSec_MB)/' \
		$(patsubst port/install/%.pc,"$(INSTALLED)/lib/pkgconfig/%.pc", \
		$(wildcard port/install/*.pc)) \
		"$(INSTALLED)/lib/cmake/mini_stream"/*.cmake
	install $(TOOLS) "$(INSTALLED)/bin"
	sed '/\*\//q' $(JSMN)/jsmn.h | \
		install -m 644 /dev/stdin "$(INSTALLED)/share/doc/mini_stream/LICENSE.jsmn"
	install -m 644 port/install/mini-stream.bash \
		"$(INSTALLED)/share/bash-completion/completions/mini-stream"
	install -m 644 port/install/mini-stream.zsh \
		"$(INSTALLED)/share/zsh/site-functions/_mini-stream"
	install -m 644 port/install/mini-stream.fish \
		"$(INSTALLED)/share/fish/vendor_completions.d"
	for page in $(BUILD)/man/*.1; do ! [ -e $$page ] || \
		install -m 644 $$page "$(INSTALLED)/share/man/man1"; done

# Each command of the tool has a page: they are made again after the tool.
manuals: $(TOOLS)
	@if command -v $(HELP2MAN) >/dev/null; then \
		HELP2MAN=$(HELP2MAN) port/install/man.sh $(VERSION) $(BUILD); \
	else echo "No manual pages: $(HELP2MAN) is missing:" \
		"\`make packages' installs it"; rm -rf $(BUILD)/man; fi

## HTML pages of mini_stream.h in build/docs; fails on a name without a comment
docs:
	@test/packages.sh docs
	@mkdir -p $(BUILD)/docs
	@{ cat port/install/Doxyfile && echo "PROJECT_NUMBER = $(VERSION)" && \
		echo "OUTPUT_DIRECTORY = $(BUILD)/docs"; } | doxygen -
	@echo $(BUILD)/docs/html/index.html

# The files of the project: those of the repository, or of such an archive.
sources = $(shell if [ -e .git ]; then git ls-files; else \
	find . -type f ! -path './build/*' ! -path './$(BUILD)/*' \
	! -path '*/__pycache__/*' | \
	sed 's,^\./,,'; fi)
epoch = $(shell if [ -e .git ]; then git log -1 --format=%ct; \
	else stat -c %Y mini_stream.h; fi)

## Archive of the sources in build/, the same for the same files, and SPDX list
dist: export SOURCE_DATE_EPOCH = $(epoch)
dist:
	@mkdir -p $(BUILD)
	@tar -c --format=ustar --mtime=@$(epoch) --owner=0 --group=0 \
		--numeric-owner --mode=u=rwX,go=rX \
		--transform='s,^,$(ARCHIVE)/,' $(sort $(sources)) | \
		gzip -9n >$(BUILD)/$(ARCHIVE).tar.gz
	@port/install/spdx.py $(BUILD)/$(ARCHIVE).tar.gz $(VERSION) \
		$(sort $(sources)) >$(BUILD)/$(ARCHIVE).spdx.json
	@ls -l $(BUILD)/$(ARCHIVE).tar.gz $(BUILD)/$(ARCHIVE).spdx.json

# For lint: does each file say its licence?
licences:
	@port/install/spdx.py $(sources)
