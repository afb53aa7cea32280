/*
 * Tests that register themselves: write TEST_CASE(name) { ... }, and
 * cases_run() runs the tests of a program in the order of the file.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TEST_CASES_H
#define TEST_CASES_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST_CASE(function)                                         \
    static void function(void **state);                             \
    __attribute__((constructor)) static void add_##function(void) { \
        cases_add(#function, function);                             \
    }                                                               \
    static void function(__attribute__((unused)) void **state)

void cases_add(const char *name, CMUnitTestFunction function);

/* Runs all tests, each between set_up() and tear_down(), between begin() and
 * end(). Each of these may be NULL. A NULL title means the program's name.
 * Returns main()'s result. */
int cases_run(const char *title, CMFixtureFunction set_up,
              CMFixtureFunction tear_down, CMFixtureFunction begin,
              CMFixtureFunction end);

/* The main() of a program that runs its tests once. */
#define RUN_WITH(set_up, tear_down, begin, end)                \
    int main(void) {                                           \
        return cases_run(NULL, set_up, tear_down, begin, end); \
    }

#endif
