# SPDX-License-Identifier: 0BSD
## Undefined behaviour up to http and in books, by Frama-C Eva
evidence-eva:
	@test/packages.sh eva
	$(row) $(PYTHON) test/evidence/eva.py
