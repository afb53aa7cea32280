# SPDX-License-Identifier: 0BSD

# Every program that feeds its vectors in pieces.
SPLIT_TESTS = $(patsubst %.c,$(BUILD)/%,$(shell grep -lE \
	'replay_everywhere|splits_all|expect_(events|decoded|error|message_cases)' \
	test/unit/*.c test/session/*.c))

## Every vector split at every offset, short ones at every three places
evidence-splits:
	@test/packages.sh build test
	$(again) $(SPLIT_TESTS)
	$(row) env SPLITS=$(if $(SHORT),4096,1000000) test/evidence/splits.sh \
		$(BUILD)/evidence/splits $(SPLIT_TESTS)
