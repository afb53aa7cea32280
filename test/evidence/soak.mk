# SPDX-License-Identifier: 0BSD

## The full stack for SOAK_SECONDS (3600) under faults: memory is flat, nothing is lost
evidence-soak:
	@test/packages.sh build tool sandbox gateway broker
	$(again) $(addprefix $(BUILD)/,sandbox mini-stream-gateway \
		gateway-consumer node/consumer.mjs)
	$(row) $(PYTHON) test/evidence/soak.py
