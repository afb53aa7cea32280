# SPDX-License-Identifier: 0BSD

## Each thing that an attacker would like, shown by tests by name
evidence-security:
	$(call rules,all $(BUILD)/test/real/run_puts)
