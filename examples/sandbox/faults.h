/* The faults that are active, and until when. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_FAULTS_H
#define SANDBOX_FAULTS_H

#include "fault.h"

#include <libsoup/soup.h>

struct faults;

/* Another set is active, or a fault's time is over. */
typedef void (*faults_changed)(void *user_data);

struct faults *faults_new(void);
void faults_free(struct faults *faults);

/* Calls back, in the order of these calls, after each change. */
void faults_watch(struct faults *faults, faults_changed changed,
                  void *user_data);

/* Puts a set, see fault_set_read, in the place of the one that is active.
 * False, and nothing is changed, when it is not valid. */
bool faults_set(struct faults *faults, const json_t *json,
                struct schema_error *error);

/* The same, but what the set does not name stays as it is, and what is null
 * ends. */
bool faults_change(struct faults *faults, const json_t *json,
                   struct schema_error *error);

/* Does one of the two with a request's body, and answers. */
void faults_take(struct faults *faults, SoupServerMessage *message,
                 bool (*how)(struct faults *faults, const json_t *json,
                             struct schema_error *error));

/* As faults_set, with the JSON in a file. */
bool faults_load(struct faults *faults, const char *path, GError **error);

/* The active set with what is left of each, to be released. */
json_t *faults_json(const struct faults *faults);

/* Parameters of an active fault, else NULL. Valid until it is used or
 * changed. */
const json_t *faults_get(const struct faults *faults, enum fault fault);

/* The active fault has done once what it does. */
void faults_use(struct faults *faults, enum fault fault);

/* If the fault, one with a status, is active, uses it to answer a request;
 * false otherwise. */
bool faults_answer(struct faults *faults, enum fault fault,
                   SoupServerMessage *message);

/* A whole number or a text among the parameters; 0 or NULL: absent. */
int64_t faults_number(const json_t *parameters, const char *field);
const char *faults_text(const json_t *parameters, const char *field);

#endif
