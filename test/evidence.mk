# The evidence: a target for each row of the table in test/evidence/README.md.
# Each row has a file NAME.mk in test/evidence/ with the target evidence-NAME,
# which calls $(row). SHORT=1 asks for the short form.
# SPDX-License-Identifier: 0BSD

row = @SHORT=$(SHORT) test/evidence/row.sh $(@:evidence-%=%)

# A row that is a table of rules, each shown by the named tests. The argument is
# what their scripts need in addition to the test programs.
define rules
	@test/packages.sh build tool sandbox test
	$(again) -s $(1) $$($(PYTHON) test/evidence/rules.py --programs \
		test/evidence/$(@:evidence-%=%).txt)
	$(row) $(PYTHON) test/evidence/rules.py \
		test/evidence/$(@:evidence-%=%).txt
endef

EVIDENCE = $(sort $(patsubst test/evidence/%.mk,%,$(wildcard test/evidence/*.mk)))

.PHONY: evidence $(EVIDENCE:%=evidence-%)

## All rows of the evidence, a line each (hours; SHORT=1: short forms)
evidence:
	@MAKE="$(MAKE) --no-print-directory" test/evidence/all.sh $(EVIDENCE)

include $(wildcard test/evidence/*.mk)
