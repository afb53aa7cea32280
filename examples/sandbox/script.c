/* Reads and runs a script. SPDX-License-Identifier: 0BSD */
#include "script.h"

#define MS_MAX 86400000 /* a day */
#define TIMES_MAX 1000000

static const char *const events[SCRIPT_EVENTS + 1] = {
    [SCRIPT_START] = "start",
    [SCRIPT_TOKEN] = "token",
    [SCRIPT_CONNECT] = "connect",
    [SCRIPT_SUBSCRIBE] = "subscribe",
    [SCRIPT_UNSUBSCRIBE] = "unsubscribe",
    [SCRIPT_DISCONNECT] = "disconnect",
};

static const struct schema_field *const script_fields[] = {
    SCHEMA_FIELD("markets", .kind = SCHEMA_ANY),
    SCHEMA_FIELD("steps", .kind = SCHEMA_ANY), NULL};
static const struct schema_field *const step_fields[] = {
    SCHEMA_FIELD("after", SCHEMA_CHOICE, .choices = events,
                 .otherwise = "\"start\""),
    SCHEMA_FIELD("delay_ms", SCHEMA_NUMBER, .max = MS_MAX, .otherwise = "0"),
    SCHEMA_FIELD("every_ms", SCHEMA_NUMBER, .min = 1, .max = MS_MAX),
    SCHEMA_FIELD("times", SCHEMA_NUMBER, .min = 1, .max = TIMES_MAX,
                 .otherwise = "1"),
    SCHEMA_FIELD("faults", .kind = SCHEMA_ANY, .required = true),
    NULL};

struct step {
    enum script_event event;
    int64_t delay_us;
    int64_t every_us; /* 0: only the event repeats it */
    int64_t left;     /* repetitions */
    bool begun;
    json_t *faults;
};

/* A step to be carried out. */
struct due {
    struct step *step;
    int64_t at_us; /* monotonic */
};

struct script {
    struct faults *faults;
    GPtrArray *steps; /* struct step, owned */
    GQueue due;       /* struct due, owned, by time */
    guint timer;      /* to the first, or 0 */
};

static void step_free(gpointer data) {
    struct step *step = data;

    json_decref(step->faults);
    g_free(step);
}

struct script *script_new(struct faults *faults) {
    struct script *script = g_new0(struct script, 1);

    script->faults = faults;
    script->steps = g_ptr_array_new_with_free_func(step_free);
    return script;
}

void script_free(struct script *script) {
    g_clear_handle_id(&script->timer, g_source_remove);
    g_queue_clear_full(&script->due, g_free);
    g_ptr_array_unref(script->steps);
    g_free(script);
}

/* ---- running ---- */

static gboolean on_timer(gpointer user_data);

static void start_timer(struct script *script) {
    const struct due *first = g_queue_peek_head(&script->due);

    g_clear_handle_id(&script->timer, g_source_remove);
    if (first) {
        int64_t rest_us = MAX(first->at_us - g_get_monotonic_time(), 0);

        script->timer =
            g_timeout_add((guint)((rest_us + 999) / 1000), on_timer, script);
    }
}

static int compare_due(gconstpointer a, gconstpointer b, gpointer user_data) {
    const struct due *one = a;
    const struct due *other = b;

    (void)user_data;
    return (one->at_us > other->at_us) - (one->at_us < other->at_us);
}

static void add_due(struct script *script, struct step *step, int64_t at_us) {
    struct due *due = g_new0(struct due, 1);

    due->step = step;
    due->at_us = at_us;
    g_queue_insert_sorted(&script->due, due, compare_due, NULL);
}

/* Adds the step's faults to the active ones. A clear ends all. */
static void carry_out(const struct script *script, const struct step *step) {
    struct schema_error error = {.path = NULL};

    if (json_object_get(step->faults, "clear")) {
        faults_set(script->faults, step->faults, &error);
    } else {
        faults_change(script->faults, step->faults, &error);
    }
    schema_error_clear(&error); /* never set: the faults were checked */
}

static gboolean on_timer(gpointer user_data) {
    struct script *script = user_data;
    int64_t now_us = g_get_monotonic_time();
    const struct due *first;

    script->timer = 0;
    while ((first = g_queue_peek_head(&script->due)) != NULL &&
           first->at_us <= now_us) {
        g_autofree struct due *due = g_queue_pop_head(&script->due);
        struct step *step = due->step;

        if (step->every_us > 0 && --step->left > 0) {
            add_due(script, step, due->at_us + step->every_us);
        }
        carry_out(script, step);
    }
    start_timer(script);
    return G_SOURCE_REMOVE;
}

void script_happened(struct script *script, enum script_event event) {
    int64_t now_us = g_get_monotonic_time();

    for (guint i = 0; i < script->steps->len; i++) {
        struct step *step = g_ptr_array_index(script->steps, i);

        if (step->event != event || step->left == 0 ||
            (step->begun && step->every_us > 0)) {
            continue;
        }
        step->begun = true;
        if (step->every_us == 0) {
            step->left--;
        }
        add_due(script, step, now_us + step->delay_us);
    }
    start_timer(script);
}

/* ---- reading ---- */

static enum script_event event_of(const char *name) {
    enum script_event event = SCRIPT_START;

    while (!g_str_equal(events[event], name)) {
        event++;
    }
    return event;
}

/* Creates a step from valid JSON. */
static struct step *step_new(const json_t *json) {
    struct step *step = g_new0(struct step, 1);
    json_auto_t *whole = json_copy((json_t *)json);

    schema_fill(whole, step_fields);
    step->event = event_of(faults_text(whole, "after"));
    step->delay_us = faults_number(whole, "delay_ms") * 1000;
    step->every_us = faults_number(whole, "every_ms") * 1000;
    step->left = faults_number(whole, "times");
    step->faults = json_incref(json_object_get(whole, "faults"));
    return step;
}

static bool check_faults(const json_t *faults, const char *path,
                         struct schema_error *error) {
    struct schema_error wrong;
    json_auto_t *set = fault_set_read(faults, &wrong);

    if (!set) {
        g_autofree char *inside = g_strdup_printf(
            "%s.faults%s%s", path, *wrong.path ? "." : "", wrong.path);

        schema_refuse(error, inside, NULL, "%s", wrong.text);
        schema_error_clear(&wrong);
    }
    return set != NULL;
}

static bool read_step(struct script *script, const json_t *json,
                      const char *path, struct schema_error *error) {
    if (!schema_check(json, path, step_fields, error) ||
        !check_faults(json_object_get(json, "faults"), path, error)) {
        return false;
    }
    g_ptr_array_add(script->steps, step_new(json));
    return true;
}

/* Adds a market, if its symbol is unique. */
static bool read_market(GArray *markets, const json_t *json, const char *path,
                        struct feed_market market, struct schema_error *error) {
    if (!script_market_read(json, path, &market, error)) {
        return false;
    }
    for (guint i = 0; i < markets->len; i++) {
        if (g_str_equal(
                g_array_index(markets, struct feed_market, i).spec.symbol,
                market.spec.symbol)) {
            return schema_refuse(error, path, "symbol", "is not unique");
        }
    }
    g_array_append_val(markets, market);
    return true;
}

static bool check_array(const json_t *json, const char *name, size_t least,
                        size_t most, struct schema_error *error) {
    return !json ||
           (json_is_array(json) && json_array_size(json) >= least &&
            json_array_size(json) <= most) ||
           schema_refuse(error, "", name,
                         "must be an array of %zu to %zu objects", least, most);
}

static bool read_all(struct script *script, const json_t *json,
                     struct feed_market usual, GArray *markets,
                     struct schema_error *error) {
    const json_t *steps = json_object_get(json, "steps");
    const json_t *described = json_object_get(json, "markets");
    bool ok = schema_check(json, "", script_fields, error) &&
              check_array(described, "markets", 1, FEED_MARKETS_MAX, error) &&
              check_array(steps, "steps", 0, TIMES_MAX, error);
    json_t *each;
    size_t i;

    json_array_foreach(described, i, each) {
        g_autofree char *path = g_strdup_printf("markets[%zu]", i);

        ok = ok && read_market(markets, each, path, usual, error);
    }
    json_array_foreach(steps, i, each) {
        g_autofree char *path = g_strdup_printf("steps[%zu]", i);

        ok = ok && read_step(script, each, path, error);
    }
    return ok;
}

bool script_load(struct script *script, const char *path, int rate,
                 guint levels, GArray **markets, GError **error) {
    const struct feed_market usual = {.rate = rate, .levels = levels};
    json_auto_t *json = schema_load(path, NULL, error);
    GArray *found = g_array_new(FALSE, FALSE, sizeof(struct feed_market));
    struct schema_error wrong;
    bool ok = json && read_all(script, json, usual, found, &wrong);

    if (json && !ok) {
        schema_refuse_file(&wrong, path, error);
    }
    if (found->len == 0) {
        g_clear_pointer(&found, g_array_unref);
    }
    *markets = found;
    return ok;
}
