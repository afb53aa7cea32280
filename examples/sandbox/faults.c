/* The active faults. SPDX-License-Identifier: 0BSD */
#include "faults.h"

#include "http.h"

struct watch {
    faults_changed changed;
    void *user_data;
};

struct faults {
    json_t *active;                /* the set */
    int64_t until_us[FAULT_COUNT]; /* monotonic; for those with for_ms */
    GArray *watches;               /* struct watch */
    guint timer;                   /* to the first expiry, or 0 */
};

struct faults *faults_new(void) {
    struct faults *faults = g_new0(struct faults, 1);

    faults->active = json_object();
    faults->watches = g_array_new(FALSE, FALSE, sizeof(struct watch));
    return faults;
}

void faults_free(struct faults *faults) {
    g_clear_handle_id(&faults->timer, g_source_remove);
    json_decref(faults->active);
    g_array_unref(faults->watches);
    g_free(faults);
}

void faults_watch(struct faults *faults, faults_changed changed,
                  void *user_data) {
    const struct watch watch = {.changed = changed, .user_data = user_data};

    g_array_append_val(faults->watches, watch);
}

static void notify(const struct faults *faults) {
    for (guint i = 0; i < faults->watches->len; i++) {
        const struct watch *watch =
            &g_array_index(faults->watches, struct watch, i);

        watch->changed(watch->user_data);
    }
}

const json_t *faults_get(const struct faults *faults, enum fault fault) {
    return json_object_get(faults->active, fault_name(fault));
}

int64_t faults_number(const json_t *parameters, const char *field) {
    return json_integer_value(json_object_get(parameters, field));
}

const char *faults_text(const json_t *parameters, const char *field) {
    return json_string_value(json_object_get(parameters, field));
}

static bool is_timed(const struct faults *faults, enum fault fault) {
    return json_object_get(faults_get(faults, fault), "for_ms") != NULL;
}

static gboolean on_timer(gpointer user_data);

/* Starts the timer for the fault that expires first. */
static void start_timer(struct faults *faults) {
    int64_t first_us = G_MAXINT64;

    g_clear_handle_id(&faults->timer, g_source_remove);
    for (enum fault i = 0; i < FAULT_COUNT; i++) {
        if (is_timed(faults, i)) {
            first_us = MIN(first_us, faults->until_us[i]);
        }
    }
    if (first_us != G_MAXINT64) {
        int64_t rest_us = MAX(first_us - g_get_monotonic_time(), 0);

        faults->timer =
            g_timeout_add((guint)(rest_us / 1000 + 1), on_timer, faults);
    }
}

static gboolean on_timer(gpointer user_data) {
    struct faults *faults = user_data;
    int64_t now_us = g_get_monotonic_time();

    faults->timer = 0;
    for (enum fault i = 0; i < FAULT_COUNT; i++) {
        if (is_timed(faults, i) && faults->until_us[i] <= now_us) {
            json_object_del(faults->active, fault_name(i));
        }
    }
    start_timer(faults);
    notify(faults);
    return G_SOURCE_REMOVE;
}

/* Activates a set. The faults in `begun` start now; others keep their time. */
static bool activate(struct faults *faults, const json_t *json,
                     const json_t *begun, struct schema_error *error) {
    int64_t now_us = g_get_monotonic_time();
    json_t *set = fault_set_read(json, error);

    if (!set) {
        return false;
    }
    json_decref(faults->active);
    faults->active = set;
    for (enum fault i = 0; i < FAULT_COUNT; i++) {
        if (json_object_get(begun, fault_name(i))) {
            faults->until_us[i] =
                now_us + faults_number(faults_get(faults, i), "for_ms") * 1000;
        }
    }
    start_timer(faults);
    notify(faults);
    return true;
}

bool faults_set(struct faults *faults, const json_t *json,
                struct schema_error *error) {
    return activate(faults, json, json, error);
}

bool faults_change(struct faults *faults, const json_t *json,
                   struct schema_error *error) {
    json_auto_t *set = json_deep_copy(faults->active);
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)json, name, value) {
        if (json_is_null(value)) {
            json_object_del(set, name);
        } else {
            json_object_set(set, name, value);
        }
    }
    return activate(faults, json_is_object(json) ? set : json, json, error);
}

bool faults_load(struct faults *faults, const char *path, GError **error) {
    json_auto_t *json = schema_load(path, NULL, error);
    struct schema_error wrong;
    bool ok = json && faults_set(faults, json, &wrong);

    if (json && !ok) {
        schema_refuse_file(&wrong, path, error);
    }
    return ok;
}

json_t *faults_json(const struct faults *faults) {
    int64_t now_us = g_get_monotonic_time();
    json_t *json = json_deep_copy(faults->active);

    for (enum fault i = 0; i < FAULT_COUNT; i++) {
        if (is_timed(faults, i)) {
            int64_t rest_us = MAX(faults->until_us[i] - now_us, 0);

            json_object_set_new(json_object_get(json, fault_name(i)), "for_ms",
                                json_integer(rest_us / 1000));
        }
    }
    return json;
}

void faults_use(struct faults *faults, enum fault fault) {
    json_t *parameters = json_object_get(faults->active, fault_name(fault));
    int64_t left = faults_number(parameters, "count") - 1;

    if (left > 0) {
        json_object_set_new(parameters, "count", json_integer(left));
    } else {
        json_object_del(faults->active, fault_name(fault));
    }
}

void faults_take(struct faults *faults, SoupServerMessage *message,
                 bool (*how)(struct faults *faults, const json_t *json,
                             struct schema_error *error)) {
    struct schema_error error;
    json_auto_t *json = http_read_json(message, &error);

    if (json && how(faults, json, &error)) {
        http_reply_json(message, SOUP_STATUS_OK, faults_json(faults));
    } else {
        http_reply_invalid(message, &error);
    }
}

static void set_retry_after(SoupServerMessage *message,
                            const json_t *parameters) {
    SoupMessageHeaders *headers =
        soup_server_message_get_response_headers(message);
    g_autofree char *text = NULL;

    if (json_object_get(parameters, "retry_after")) {
        text = g_strdup_printf("%" G_GINT64_FORMAT,
                               faults_number(parameters, "retry_after"));
    } else if (json_object_get(parameters, "retry_after_date")) {
        g_autoptr(GDateTime) now = g_date_time_new_now_utc();
        g_autoptr(GDateTime) then = g_date_time_add_seconds(
            now, (double)faults_number(parameters, "retry_after_date"));

        text = soup_date_time_to_string(then, SOUP_DATE_HTTP);
    }
    if (text) {
        soup_message_headers_replace(headers, "Retry-After", text);
    }
}

bool faults_answer(struct faults *faults, enum fault fault,
                   SoupServerMessage *message) {
    const json_t *parameters = faults_get(faults, fault);
    guint status;

    if (!parameters) {
        return false;
    }
    status = (guint)faults_number(parameters, "status");
    set_retry_after(message, parameters);
    if (faults_text(parameters, "error")) {
        http_reply_json(message, status,
                        json_pack("{s:s, s:s}", "error",
                                  faults_text(parameters, "error"),
                                  "error_description", "caused by a fault"));
    } else {
        http_reply_problem(message, status, "Caused by a fault.");
    }
    faults_use(faults, fault);
    return true;
}
