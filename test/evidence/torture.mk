# SPDX-License-Identifier: 0BSD

.PHONY: evidence-torture

## A fault at each call and byte of the port, and at two (SHORT=1: at one)
evidence-torture:
	@test/packages.sh build test
	$(again) $(BUILD)/test/session/torture
	$(row) $(PYTHON) test/evidence/torture.py
