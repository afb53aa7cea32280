/*
 * jsmn's tokens, in use or not: they hold anything, but their places are within
 * the text, and their parents are among the tokens.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_TOKENS_H
#define EVA_TOKENS_H

#include "eva.h"
#include "mini_stream.h"

/* A token's numbers are its type, start, end, size and parent. */
/*@ predicate token(int *t, integer len) =
        -1 <= t[1] <= len && -1 <= t[2] <= len && -1 <= t[4] <= 47;
    predicate tokens_8(int *t, integer len) =
        token(t, len) && token(t + 5, len) && token(t + 10, len) &&
        token(t + 15, len) && token(t + 20, len) && token(t + 25, len) &&
        token(t + 30, len) && token(t + 35, len);
    predicate tokens(int *t, integer len) =
        tokens_8(t, len) && tokens_8(t + 40, len) && tokens_8(t + 80, len) &&
        tokens_8(t + 120, len) && tokens_8(t + 160, len) &&
        tokens_8(t + 200, len);
 */

static inline void any_tokens(struct mst_tokens *tokens, int len) {
    ANY(*tokens);
    for (unsigned i = 0; i < MST_JSON_TOKENS; i++) {
        tokens->of[i][1] = Frama_C_interval(-1, len);
        tokens->of[i][2] = Frama_C_interval(-1, len);
        tokens->of[i][4] = Frama_C_interval(-1, MST_JSON_TOKENS - 1);
    }
}

#endif
