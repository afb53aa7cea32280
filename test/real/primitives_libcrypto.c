/*
 * The tests of primitives.c for a build without IPsec-MB.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_primitives.c" /* NOLINT(bugprone-suspicious-include) */

#include "primitives.c" /* NOLINT(bugprone-suspicious-include) */
