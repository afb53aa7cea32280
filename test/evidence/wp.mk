# SPDX-License-Identifier: 0BSD

## Contracts of functions, proved with Frama-C WP (SHORT=1: without smoke tests)
evidence-wp:
	test/packages.sh wp
	$(row) test/evidence/wp.py
