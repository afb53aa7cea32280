/*
 * The arguments of `mini-stream address put`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "address.h"

#include <stdlib.h>
#include <string.h>

#include "exits.h"
#include "options.h"

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

static enum mst_bookmark parse_bookmarked(const struct argp_state *state,
                                          const char *text) {
    if (strcmp(text, "yes") == 0) {
        return MST_BOOKMARK_TRUE;
    }
    if (strcmp(text, "no") != 0) {
        argp_failure(state, EXITS_USAGE, 0,
                     "--bookmarked %s: must be yes or no", text);
    }
    return MST_BOOKMARK_FALSE;
}

/* The member that an option sets, or NULL for an option of another kind. */
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

/* The library's rules, before there is a client. */
static void options_check(const struct argp_state *state,
                          const struct address_options *options) {
    char why[MST_TEXT_MAX + 1];

    if (mst_address_check(&options->request, why) != MST_OK) {
        argp_failure(state, EXITS_USAGE, 0, "%s: `%s --help' says more", why,
                     state->name);
    }
}

static error_t address_parse(int key, char *arg, struct argp_state *state) {
    struct address_options *options = state->input;
    const char **text = options_text(options, key);

    if (text != NULL) {
        if (*text != NULL) {
            argp_failure(state, EXITS_USAGE, 0, "'%s' and '%s': given twice",
                         *text, arg);
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
            argp_failure(state, EXITS_USAGE, 0, "--bookmarked: given twice");
        }
        options->request.bookmarked = parse_bookmarked(state, arg);
        return 0;
    case KEY_SECONDS:
        options->seconds =
            options_number(state, "seconds", arg, 1, SECONDS_MAX);
        return 0;
    case KEY_JSON: options->json = true; return 0;
    case ARGP_KEY_END: options_check(state, options); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

void address_options_parse(struct address_options *options, int argc,
                           char **argv) {
    static const struct argp argp = {
        .options = address_options,
        .parser = address_parse,
        .doc = "Creates or updates a crypto destination address and prints its "
               "record. Repeating the command is safe: the result is the "
               "same.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = settings_children};

    memset(options, 0, sizeof *options);
    options->settings.url = SETTING_BASE_URL;
    options->seconds = SECONDS_DEFAULT;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
