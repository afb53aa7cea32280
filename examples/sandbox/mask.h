/*
 * Requests and responses as text that anybody may see: without secrets, and of
 * limited length.
 *
 * Secrets are a client's secret and issued tokens, wherever they occur, and the
 * values of members and fields with a name such as "token".
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MASK_H
#define SANDBOX_MASK_H

#include "token.h"

/* Free the texts that these functions return with g_free(). */

/* Returns the text with each secret in it masked. */
char *mask_text(const struct token_store *tokens, const char *text);

/* Masks all texts in a JSON value, in place. */
void mask_json(const struct token_store *tokens, json_t *json);

/* Returns JSON as compact masked text. Of invalid JSON, returns only the
 * length: it may have secrets anywhere. */
char *mask_json_text(const struct token_store *tokens, const char *text,
                     size_t len);

/* Returns a token request's form as masked text. Only fields that are never
 * secret keep their values. */
char *mask_form_text(const struct token_store *tokens, const char *text,
                     size_t len);

/* Returns the value of the header Authorization with only its scheme shown. */
char *mask_authorization(const char *value);

#endif
