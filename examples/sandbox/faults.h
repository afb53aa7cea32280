/* The faults that are active, and until when. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_FAULTS_H
#define SANDBOX_FAULTS_H

#include "fault.h"

#include <libsoup/soup.h>

struct faults;

/* Called when another set becomes active or a fault expires. */
typedef void (*faults_changed)(void *user_data);

struct faults *faults_new(void);
void faults_free(struct faults *faults);

/* Registers a callback. Callbacks are called in the order of registration. */
void faults_watch(struct faults *faults, faults_changed changed,
                  void *user_data);

/* Replaces the active set by this one, see fault_set_read. If it is invalid,
 * returns false, sets the error and changes nothing. */
bool faults_set(struct faults *faults, const json_t *json,
                struct schema_error *error);

/* Like faults_set, but keeps the active faults that the set does not name; a
 * member that is null ends its fault. */
bool faults_change(struct faults *faults, const json_t *json,
                   struct schema_error *error);

/* Calls one of these two with the request's body, and answers the request. */
void faults_take(struct faults *faults, SoupServerMessage *message,
                 bool (*how)(struct faults *faults, const json_t *json,
                             struct schema_error *error));

/* Like faults_set, with the JSON in a file. */
bool faults_load(struct faults *faults, const char *path, GError **error);

/* Returns the active set with each fault's remaining time, to be released. */
json_t *faults_json(const struct faults *faults);

/* Returns a fault's parameters, or NULL if it is not active. Valid until the
 * fault is used or changed. */
const json_t *faults_get(const struct faults *faults, enum fault fault);

/* Counts one use of an active fault, which may end it. */
void faults_use(struct faults *faults, enum fault fault);

/* Answers the request with the fault's status and uses the fault, if it is
 * active; else returns false. */
bool faults_answer(struct faults *faults, enum fault fault,
                   SoupServerMessage *message);

/* Return a parameter, a whole number or a text; 0 or NULL if it is absent. */
int64_t faults_number(const json_t *parameters, const char *field);
const char *faults_text(const json_t *parameters, const char *field);

#endif
