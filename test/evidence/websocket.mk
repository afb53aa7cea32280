# SPDX-License-Identifier: 0BSD

## Each rule of RFC 6455 for a client, shown by tests by name
evidence-websocket:
	$(call rules,$(BUILD)/ws-echo)
