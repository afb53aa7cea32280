/*
 * What passes between clients and sandbox, as text that anybody may see:
 * without secrets, and not too long.
 *
 * A secret is a client's secret or a token that the sandbox has issued,
 * wherever it stands, and what stands under a name that says so.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MASK_H
#define SANDBOX_MASK_H

#include "token.h"

/* Text as it is, each secret in it masked; for g_free. */
char *mask_text(const struct token_store *tokens, const char *text);

/* The same of all texts in a JSON value, which is masked in place. */
void mask_json(const struct token_store *tokens, json_t *json);

/* JSON as compact text, for g_free. What cannot be read is not shown, only how
 * much it is: nobody knows what in it is secret. */
char *mask_json_text(const struct token_store *tokens, const char *text,
                     size_t len);

/* A token request's form in the same way. Only the fields that are never
 * secret have their values. */
char *mask_form_text(const struct token_store *tokens, const char *text,
                     size_t len);

/* A value of the header Authorization: its scheme alone. For g_free. */
char *mask_authorization(const char *value);

#endif
