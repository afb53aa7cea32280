# SPDX-License-Identifier: 0BSD
## Undefined behaviour in the sections up to http, by Frama-C Eva
evidence-eva:
	@test/packages.sh eva
	$(row) $(PYTHON) test/evidence/eva.py
