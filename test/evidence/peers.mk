# SPDX-License-Identifier: 0BSD

## Each class of bugs that was seen in other clients, shown by tests by name
evidence-peers:
	$(call rules,$(BUILD)/ws-echo)
