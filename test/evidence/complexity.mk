# SPDX-License-Identifier: 0BSD

## Complexity of the functions, stack of the library, no allocation
evidence-complexity:
	@test/packages.sh build size complexity
	$(row) env CC=$(CC) CROSS=$(CROSS) CROSS_RISCV=$(CROSS_RISCV) \
		$(PYTHON) test/evidence/complexity.py $(cross_includes)
