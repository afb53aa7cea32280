/*
 * Exit codes: see exits.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "exits.h"

#include "mini_stream.h"

int exits_code(int error) {
    switch (error) {
    case MST_OK: return EXITS_OK;
    case MST_ERR_ADDRESS: return EXITS_USAGE;
    case MST_ERR_BUILD:
    case MST_ERR_MEMORY:
    case MST_ERR_CLOCK:
    case MST_ERR_ENTROPY: return EXITS_LOCAL;
    case MST_ERR_TOKEN_SHAPE:
    case MST_ERR_TOKEN_TYPE:
    case MST_ERR_TOKEN_TOO_LARGE:
    case MST_ERR_ANSWER:
    case MST_ERR_SERVICE:
    case MST_ERR_NO_RESULT:
    case MST_ERR_GARBAGE: return EXITS_SERVICE;
    default: break;
    }
    if (error > MST_ERR_CLOCK) {
        return EXITS_CONFIG;
    }
    if (error > MST_ERR_HTTP_SYNTAX || error <= MST_ERR_TIMEOUT) {
        return EXITS_NETWORK;
    }
    if (error <= MST_ERR_TOKEN_REFUSED && error > MST_ERR_WS_UPGRADE) {
        return EXITS_ACCESS;
    }
    return EXITS_SERVICE;
}
