# SPDX-License-Identifier: 0BSD

## A million plans of service and caller, against what was sent
evidence-plans:
	@test/packages.sh build test
	$(again) $(BUILD)/bench/plans $(BUILD)/test/session/plans
	$(row) env PLANS=$(if $(SHORT),10000,1000000) \
		PLANS_SEED=$${PLANS_SEED:-1} \
		PLANS_KEEP=$(BUILD)/evidence/plans test/plans/plans.sh \
		$(BUILD)/bench/plans $(BUILD)/test/session/plans
