/*
 * `mini-stream address put`: creates or updates an address, and shows the
 * record.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "network.h"
#include "options.h"
#include "signals.h"
#include "text.h"

#define SECONDS_DEFAULT 60
#define SECONDS_MAX 86400

enum {
    KEY_ID = 0x200,
    KEY_NETWORK,
    KEY_ADDRESS,
    KEY_NICKNAME,
    KEY_BOOKMARKED,
    KEY_FIRST_NAME,
    KEY_LAST_NAME,
    KEY_INSTITUTION,
    KEY_VASP_ID,
    KEY_CUSTODIAN,
    KEY_SECONDS,
    KEY_JSON
};

struct address_options {
    struct settings settings;
    struct mst_address_request request;
    struct mst_travelrule travelrule; /* the request's, if it has one */
    unsigned seconds;                 /* for all attempts */
    bool json;
};

static const struct argp_option address_options[] = {
    {0, 0, 0, 0, "The address, by network and address or by id:", 1},
    {"network", KEY_NETWORK, "NETWORK", 0,
     "BITCOIN, ETHEREUM, BITCOIN_CASH, LITECOIN, SOLANA, POLYGON_POS, BASE, "
     "ARBITRUM_ONE, STELLAR, INK, XLAYER, or a newer one",
     0},
    {"address", KEY_ADDRESS, "ADDRESS", 0, "The address on that network", 0},
    {"id", KEY_ID, "ID", 0, "The id of its record", 0},
    {0, 0, 0, 0, "Fields to set; the others stay unchanged:", 2},
    {"nickname", KEY_NICKNAME, "TEXT", 0,
     "Label; may be empty (default for a new address: generated)", 0},
    {"bookmarked", KEY_BOOKMARKED, "yes|no", 0,
     "Bookmark (default for a new address: no)", 0},
    {0, 0, 0, 0, "Travel rule metadata:", 3},
    {"first-name", KEY_FIRST_NAME, "TEXT", 0,
     "First name, if the beneficiary is a person", 0},
    {"last-name", KEY_LAST_NAME, "TEXT", 0, "Last name of that person", 0},
    {"institution", KEY_INSTITUTION, "TEXT", 0,
     "Name, if the beneficiary is an institution", 0},
    {"custodian-type", KEY_CUSTODIAN, "TYPE", 0, "VASP, PRIVATE, or another",
     0},
    {"vasp-id", KEY_VASP_ID, "ID", 0, "Id of the custodian, if it is a VASP",
     0},
    {0, 0, 0, 0, "Other:", 4},
    {"json", KEY_JSON, 0, 0, "One JSON object instead of a table", 0},
    {"seconds", KEY_SECONDS, "N", 0,
     "Give up after N seconds in total (default 60)", 0},
    {0}};

/* Returns the member for an option with a text, else NULL. */
static const char **options_text(struct address_options *options, int key) {
    switch (key) {
    case KEY_ID: return &options->request.id;
    case KEY_ADDRESS: return &options->request.address;
    case KEY_NETWORK: return &options->request.network;
    case KEY_NICKNAME: return &options->request.nickname;
    case KEY_FIRST_NAME: return &options->travelrule.first_name;
    case KEY_LAST_NAME: return &options->travelrule.last_name;
    case KEY_INSTITUTION: return &options->travelrule.institution;
    case KEY_VASP_ID: return &options->travelrule.vasp_id;
    case KEY_CUSTODIAN: return &options->travelrule.custodian_type;
    default: return NULL;
    }
}

static error_t address_parse(int key, char *arg, struct argp_state *state) {
    static const char *const yes_no[] = {"yes", "no", NULL};
    struct address_options *options = state->input;
    const char **text = options_text(options, key);
    char why[MST_TEXT_MAX + 1];

    if (text != NULL) {
        if (*text != NULL) {
            options_fail(state, "'%s' and '%s': given twice", *text, arg);
        }
        *text = arg;
        if (key >= KEY_FIRST_NAME) {
            options->request.travelrule = &options->travelrule;
        }
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &options->settings; return 0;
    case KEY_BOOKMARKED:
        if (options->request.bookmarked != MST_BOOKMARK_UNCHANGED) {
            options_fail(state, "--bookmarked: given twice");
        }
        options->request.bookmarked =
            options_choice(state, "--bookmarked", arg, yes_no)
                ? MST_BOOKMARK_FALSE
                : MST_BOOKMARK_TRUE;
        return 0;
    case KEY_SECONDS:
        options->seconds =
            options_number(state, "seconds", arg, 1, SECONDS_MAX);
        return 0;
    case KEY_JSON: options->json = true; return 0;
    case ARGP_KEY_END: /* by the library's rules */
        if (mst_address_check(&options->request, why) != MST_OK) {
            options_fail(state, "%s: `%s --help' says more", why, state->name);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* Bytes of a text that are shown. Every text of a record is shorter. */
#define TEXT_LEN 1024

static void print_field(const char *name, const char *value) {
    char clean[TEXT_LEN];

    printf("%-12s%s\n", name,
           value[0] != '\0' ? text_clean(value, clean, sizeof clean) : "-");
}

/* Prints a field per line; "-" for what the service left out. */
static void print_table(const struct mst_address *record) {
    char time[TEXT_TIME_LEN] = "";

    print_field("id", record->id);
    print_field("network", record->network);
    print_field("address", record->address);
    print_field("nickname", record->nickname);
    print_field("status", record->status);
    if (record->created_ns > 0) {
        text_time(record->created_ns, time);
    }
    print_field("created at", time);
    print_field("bookmarked", record->bookmarked ? "yes" : "no");
}

/* Returns a text as JSON, cleaned if it is not UTF-8. */
static json_t *json_any_text(const char *text) {
    char clean[TEXT_LEN];
    json_t *json = json_string(text);

    return json != NULL ? json
                        : json_string(text_clean(text, clean, sizeof clean));
}

/* Returns a text as JSON, or null if it is empty. */
static json_t *json_text(const char *text) {
    return text[0] != '\0' ? json_any_text(text) : json_null();
}

static json_t *json_record(const struct mst_address *record) {
    char time[MST_TIME_TEXT_LEN] = "";

    if (record->created_ns > 0) {
        mst_time_format(record->created_ns, time);
    }
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "id", json_text(record->id),
        "crypto_network", json_text(record->network), "address",
        json_text(record->address), "nickname", json_any_text(record->nickname),
        "status", json_text(record->status), "created_at", json_text(time),
        "bookmarked", record->bookmarked);
}

/* Returns the full detail of a failure; the library keeps only its beginning.
 * It lives as long as the body. */
static const char *body_detail(const struct mst_address_result *result,
                               const json_t *body) {
    const char *detail = json_string_value(json_object_get(body, "detail"));

    return detail != NULL ? detail : result->problem->detail;
}

static json_t *json_failure(const struct mst_address_result *result) {
    json_t *body = json_loadb(result->body, result->body_len, 0, NULL);
    json_t *failure = json_pack(
        "{s:s,s:i,s:b,s:o,s:o,s:o,s:o,s:I}", "error",
        mst_strerror(result->error), "error_code", result->error, "maybe_done",
        result->maybe_done, "http_status",
        result->http_status > 0 ? json_integer(result->http_status)
                                : json_null(),
        "title", json_text(result->problem->title), "detail",
        json_text(body_detail(result, body)), "text", json_text(result->text),
        "retry_ms", (json_int_t)result->retry_ms);

    json_decref(body);
    return failure;
}

/* Escapes everything that a terminal would obey. */
static void print_json(const struct mst_address_result *result) {
    json_t *object = result->record != NULL ? json_record(result->record)
                                            : json_failure(result);
    char *text =
        text_must(json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII));

    for (const char *c = text; *c != '\0'; ++c) {
        if (*c == 0x7F) { /* jansson does not escape it */
            fputs("\\u007F", stdout);
        } else {
            putchar(*c);
        }
    }
    putchar('\n');
    free(text);
    json_decref(object);
}

/* Adds a text of the service, if it is not empty. */
static void print_text(const char *text) {
    char clean[TEXT_LEN];

    if (text[0] != '\0') {
        fprintf(stderr, ": %s", text_clean(text, clean, sizeof clean));
    }
}

/* Reports a failure on standard error, and if the record may have been changed
 * all the same. */
static void print_failure(const struct mst_address_result *result,
                          const char *via) {
    json_t *body = json_loadb(result->body, result->body_len, 0, NULL);

    if (result->error == MST_ERR_HTTP_STATUS && result->http_status > 0) {
        fprintf(stderr, "mini-stream: HTTP status %d", result->http_status);
    } else {
        fprintf(stderr, "mini-stream: %s%s", mst_strerror(result->error), via);
    }
    print_text(result->text);
    print_text(result->problem->title);
    print_text(body_detail(result, body));
    json_decref(body);
    if (result->retry_ms > 0) {
        fprintf(stderr, " (try again in %u s)",
                (result->retry_ms + 999) / 1000);
    }
    putc('\n', stderr);
    if (result->maybe_done) {
        fputs("mini-stream: the request may have taken effect; repeating the "
              "command is safe\n",
              stderr);
    }
}

/* Bytes of a response's body: more than a record with all bytes escaped. */
#define BODY_LEN 16384

/* Error and stage of the last attempt; 0 once the next one begins. */
static int failed;
static enum mst_state failed_stage;

static struct mst_transfer transfer;
MST_TRANSFER_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, BODY_LEN);

/* Reports why an attempt failed, once the next one begins. */
static void put_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_ERROR) {
        failed = trace->error;
        failed_stage = trace->state;
    } else if (trace->kind == MST_TRACE_STATE &&
               trace->state == MST_STATE_RESOLVE && failed != 0) {
        fprintf(stderr, "mini-stream: %s (stage %s%s): trying again\n",
                mst_strerror(failed), mst_state_name(failed_stage),
                network_via(failed, failed_stage));
        failed = 0;
    }
}

/* Shows the result of the request. Returns the exit code. */
static int put_show(const struct mst_address_result *result, bool json) {
    int code = exits_code(result->error);

    if (json) {
        print_json(result);
    } else if (result->record != NULL) {
        print_table(result->record);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "mini-stream: standard output: %s\n", strerror(errno));
        clearerr(stdout);
        code = code == EXITS_OK ? EXITS_LOCAL : code;
    }
    if (result->error == MST_ERR_CLOSED) {
        code = EXITS_CUT;
    }
    if (result->record == NULL) {
        print_failure(result, network_via(result->error, failed_stage));
    }
    return code;
}

/* Polls until the connection is closed. Returns the exit code. */
static int put_run(struct network *network, bool json) {
    unsigned obeyed = 0; /* signals that were handled */
    int code = EXITS_LOCAL;

    for (;;) {
        struct mst_event event;
        int rc = mst_transfer_poll(&transfer, &event);

        if (rc < 0) {
            return code;
        }
        if (rc > 0 && event.type == MST_EVENT_ADDRESS) {
            code = put_show(&event.as.address, json);
            mst_transfer_close(&transfer);
        } else if (signals_count() > obeyed) {
            obeyed = signals_count();
            mst_transfer_close(&transfer);
        } else if (rc == 0) {
            network_wait(network, &transfer.link);
        }
    }
}

/* Prepares the transfer and starts the request. Returns an exit code. */
static int put_begin(struct address_options *options, struct network *network,
                     struct mst_config *config, char *error) {
    static struct mst_address record;
    int rc;

    if (!settings_resolve(&options->settings, config, error) ||
        !network_begin(network, &options->settings, 1, error)) {
        return EXITS_CONFIG;
    }
    rc = mst_transfer_init(&transfer, config, &network->port, &memory);
    if (rc == 0) {
        rc = mst_address_put(&transfer, &options->request, &record);
    }
    if (rc != 0) {
        settings_refused(&options->settings, rc, error);
    }
    return exits_code(rc);
}

int address_put_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = address_options,
        .parser = address_parse,
        .doc = "Creates or updates a crypto destination address and prints its "
               "record. Repeating the command is safe: the result is the "
               "same.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = settings_children};
    static struct address_options options;
    static struct network network;
    struct mst_config config = {.trace = put_trace};
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    options.settings.url = SETTING_BASE_URL;
    options.seconds = SECONDS_DEFAULT;
    options_parse(&argp, argc, argv, &options);
    config.put_ms = options.seconds * 1000;
    signals_catch();
    result = put_begin(&options, &network, &config, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = put_run(&network, options.json);
        mst_transfer_wipe(&transfer);
    }
    network_end(&network);
    settings_free(&options.settings);
    return result;
}
