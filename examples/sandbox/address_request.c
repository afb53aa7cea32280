/* Reads and checks an address request. SPDX-License-Identifier: 0BSD */
#include "address_store.h"

#include <string.h>

#define TEXT_MAX 127 /* bytes */
#define TRAVELRULE "travelrule_metadata"

static const char *const networks[] = {
    "BITCOIN", "ETHEREUM",    "BITCOIN_CASH", "LITECOIN",
    "SOLANA",  "POLYGON_POS", "BASE",         "ARBITRUM_ONE",
    "STELLAR", "INK",         "XLAYER",       NULL};

static const char *const custodian_types[] = {"VASP", "PRIVATE", NULL};

static const struct schema_field *const person[] = {
    SCHEMA_FIELD("first_name", SCHEMA_TEXT, .max = TEXT_MAX),
    SCHEMA_FIELD("last_name", SCHEMA_TEXT, .max = TEXT_MAX), NULL};
static const struct schema_field *const institution[] = {
    SCHEMA_FIELD("name", SCHEMA_TEXT, .max = TEXT_MAX), NULL};
static const struct schema_field *const parties[] = {
    SCHEMA_FIELD("person_details", SCHEMA_OBJECT, .fields = person),
    SCHEMA_FIELD("institution_details", SCHEMA_OBJECT, .fields = institution),
    NULL};
static const struct schema_field *const vasp[] = {
    SCHEMA_FIELD("id", SCHEMA_TEXT, .required = true, .min = 1,
                 .max = TEXT_MAX),
    NULL};
static const struct schema_field *const travelrule[] = {
    SCHEMA_FIELD("beneficiary", SCHEMA_OBJECT, .fields = parties),
    SCHEMA_FIELD("vasp", SCHEMA_OBJECT, .fields = vasp),
    SCHEMA_FIELD("custodian_type", SCHEMA_CHOICE, .choices = custodian_types),
    NULL};
static const struct schema_field *const fields[] = {
    SCHEMA_FIELD("id", SCHEMA_TEXT, .max = TEXT_MAX),
    SCHEMA_FIELD("crypto_network", SCHEMA_CHOICE, .choices = networks),
    SCHEMA_FIELD("address", SCHEMA_TEXT, .min = 1, .max = TEXT_MAX),
    SCHEMA_FIELD("nickname", SCHEMA_TEXT, .max = TEXT_MAX),
    SCHEMA_FIELD("bookmarked_status", .kind = SCHEMA_FLAG),
    SCHEMA_FIELD(TRAVELRULE, SCHEMA_OBJECT, .fields = travelrule),
    NULL};

/* Requires either the id, or network and address. */
static bool check_form(const struct address_request *request,
                       struct schema_error *error) {
    if (request->id && (request->network || request->address)) {
        return schema_refuse(error, "id", NULL,
                             "excludes crypto_network and address");
    }
    if (request->id) {
        return g_uuid_string_is_valid(request->id) ||
               schema_refuse(error, "id", NULL, "must be a UUID");
    }
    if (!request->network && !request->address) {
        return schema_refuse(
            error, "id", NULL,
            "is missing, and so are crypto_network and address");
    }
    if (!request->network) {
        return schema_refuse(error, "crypto_network", NULL,
                             "is missing: address needs it");
    }
    return request->address ||
           schema_refuse(error, "address", NULL,
                         "is missing: crypto_network needs it");
}

static bool check_travelrule(const json_t *given, struct schema_error *error) {
    const json_t *party = json_object_get(given, "beneficiary");
    const char *type =
        json_string_value(json_object_get(given, "custodian_type"));
    bool has_vasp = json_object_get(given, "vasp") != NULL;

    if (party && json_object_size(party) != 1) {
        return schema_refuse(error, TRAVELRULE, "beneficiary",
                             "must have exactly one of person_details and "
                             "institution_details");
    }
    if (type && strcmp(type, "VASP") == 0 && !has_vasp) {
        return schema_refuse(error, TRAVELRULE, "vasp",
                             "is missing: custodian_type is VASP");
    }
    if (type && strcmp(type, "PRIVATE") == 0 && has_vasp) {
        return schema_refuse(error, TRAVELRULE, "vasp",
                             "must be absent: custodian_type is PRIVATE");
    }
    return true;
}

bool address_request_read(struct address_request *request, const json_t *json,
                          struct schema_error *error) {
    *request = (struct address_request){
        .id = json_string_value(json_object_get(json, "id")),
        .network = json_string_value(json_object_get(json, "crypto_network")),
        .address = json_string_value(json_object_get(json, "address")),
        .nickname = json_string_value(json_object_get(json, "nickname")),
        .bookmarked = json_object_get(json, "bookmarked_status"),
        .travelrule = json_object_get(json, TRAVELRULE),
    };
    return schema_check(json, "", fields, error) &&
           check_form(request, error) &&
           check_travelrule(request->travelrule, error);
}
