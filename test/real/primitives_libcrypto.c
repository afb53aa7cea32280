/*
 * The tests of primitives.c, of a build without IPsec-MB.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "../../port/primitives/mst_primitives.c"

#include "primitives.c"
