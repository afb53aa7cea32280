# SPDX-License-Identifier: 0BSD

## Each rule of RFC 8259, shown by tests by name
evidence-json:
	$(call rules)
