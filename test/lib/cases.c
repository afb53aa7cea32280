/*
 * Tests that register themselves.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* program_invocation_short_name */

#include "cases.h"

#include <errno.h>

#define CASES_MAX 100

static struct CMUnitTest cases[CASES_MAX];
static size_t cases_len;

void cases_add(const char *name, CMUnitTestFunction function) {
    if (cases_len == CASES_MAX) {
        abort();
    }
    cases[cases_len].name = name;
    cases[cases_len++].test_func = function;
}

int cases_run(const char *title, CMFixtureFunction set_up,
              CMFixtureFunction tear_down, CMFixtureFunction begin,
              CMFixtureFunction end) {
    for (size_t i = 0; i < cases_len; i++) {
        cases[i].setup_func = set_up;
        cases[i].teardown_func = tear_down;
    }
    return _cmocka_run_group_tests(
        title != NULL ? title : program_invocation_short_name, cases, cases_len,
        begin, end);
}
