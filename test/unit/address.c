/*
 * Tests of crypto destination addresses: the rules of a request, its body as
 * jansson reads it, and records and problems, whatever the service sends.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#define json_string jansson_string /* the library has this name too */
#include <jansson.h>
#undef json_string

static struct mst_tokens tokens;

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"

/* All kinds of text that JSON must escape, or must not. */
#define HOSTILE                                                           \
    "\" \\ / \b\f\n\r\t \x01\x0f\x10\x1f\x7f {\"id\":1},[] \\u0041 \\\" " \
    "\xc3\xa9 \xe2\x80\xa8 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbf"

/* Invalid UTF-8 (RFC 3629). */
static const char *const not_utf8[] = {
    /* Bytes that begin no character. */
    "\x80", "a\xff",
    /* Incomplete characters. */
    "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3\"",
    /* Overlong forms. */
    "\xc0\x80", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
    /* Surrogates. */
    "\xed\xa0\x80", "\xed\xbf\xbf",
    /* Beyond U+10FFFF. */
    "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"};

/* ---- Rules of a request ---- */

/* Expects this rule from check and write; "": the request is valid. */
static void expect_checked(const char *name, const char *expected,
                           const struct mst_address_request *request) {
    int error = expected[0] == '\0' ? 0 : MST_ERR_ADDRESS;
    char why[MST_TEXT_MAX + 1];

    memset(why, '#', sizeof why);
    expect_int(name, error, mst_address_check(request, why));
    expect_text(name, expected, why);
    expect_int(name, error, mst_address_check(request, NULL));
}

TEST_CASE(a_request_has_one_identification_form) {
    static const struct {
        const char *name;
        const char *expected;
        struct mst_address_request request;
    } cases[] = {
        {"id", "", {.id = UUID}},
        {"pair", "", {.network = "INK", .address = "a"}},
        {"nothing", "id (or network and address) is missing", {0}},
        {"only a nickname",
         "id (or network and address) is missing",
         {.nickname = "n"}},
        {"all",
         "id contradicts another field",
         {.id = UUID, .network = "INK", .address = "a"}},
        {"id and network",
         "id contradicts another field",
         {.id = UUID, .network = "INK"}},
        {"id and address",
         "id contradicts another field",
         {.id = UUID, .address = "a"}},
        {"network alone", "address is missing", {.network = "INK"}},
        {"address alone", "network is missing", {.address = "a"}},
    };
    char why[MST_TEXT_MAX + 1] = "#";

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_checked(cases[i].name, cases[i].expected, &cases[i].request);
    }
    assert_int_equal(MST_ERR_ARGUMENT, mst_address_check(NULL, NULL));
    assert_int_equal(MST_ERR_ARGUMENT, mst_address_check(NULL, why));
    expect_text("no request", "", why);
}

/* The fields of a request and of its travel rule metadata that are texts. */
static const struct text_field {
    const char *name;
    size_t max;
    bool empty; /* may be empty */
    bool rule;  /* in the metadata */
    size_t offset;
} text_fields[] = {
#define FIELD(name) offsetof(struct mst_address_request, name)
#define RULE_FIELD(name) offsetof(struct mst_travelrule, name)
    {"id", MST_ADDRESS_WORD_MAX, false, false, FIELD(id)},
    {"network", MST_ADDRESS_WORD_MAX, false, false, FIELD(network)},
    {"address", MST_ADDRESS_TEXT_MAX, false, false, FIELD(address)},
    {"nickname", MST_ADDRESS_TEXT_MAX, true, false, FIELD(nickname)},
    {"first_name", MST_ADDRESS_TEXT_MAX, true, true, RULE_FIELD(first_name)},
    {"last_name", MST_ADDRESS_TEXT_MAX, true, true, RULE_FIELD(last_name)},
    {"institution", MST_ADDRESS_TEXT_MAX, true, true, RULE_FIELD(institution)},
    {"vasp_id", MST_ADDRESS_TEXT_MAX, false, true, RULE_FIELD(vasp_id)},
    {"custodian_type", MST_ADDRESS_WORD_MAX, false, true,
     RULE_FIELD(custodian_type)},
};

/* Expects the rule that the text breaks in this field, with valid values in the
 * others, or "". */
static void expect_text_field(const struct text_field *field, const char *rule,
                              const char *text) {
    struct mst_travelrule travelrule = {0};
    struct mst_address_request request = {.travelrule = &travelrule};
    char *base = field->rule ? (char *)&travelrule : (char *)&request;

    if (strcmp(field->name, "network") == 0 ||
        strcmp(field->name, "address") == 0) {
        request.network = request.address = "a";
    } else {
        request.id = UUID;
    }
    *(const char **)(void *)(base + field->offset) = text;
    expect_checked(field->name,
                   *rule ? printed("%s %s", field->name, rule) : "", &request);
}

TEST_CASE(texts_have_limits) {
    char text[1024];

    for (size_t i = 0; i < COUNT(text_fields); i++) {
        const struct text_field *field = &text_fields[i];
        assert_true(field->max + 1 < sizeof text);
        memset(text, 'x', sizeof text);
        text[field->max] = '\0';
        expect_text_field(field, "", text);
        memcpy(text + field->max - 2, "\xe2\x82\xac", 4);
        expect_text_field(field, "is too long", text);
        memcpy(text + field->max - 3, "\xe2\x82\xac", 4);
        expect_text_field(field, "", text);
        expect_text_field(field, field->empty ? "" : "is empty", "");
        expect_text_field(field, "", "\"\r\n\x01");
    }
}

TEST_CASE(texts_are_utf8) {
    for (size_t i = 0; i < COUNT(text_fields); i++) {
        for (size_t k = 0; k < COUNT(not_utf8); k++) {
            expect_text_field(&text_fields[i], "is not valid UTF-8",
                              not_utf8[k]);
        }
    }
}

TEST_CASE(a_bookmark_is_one_of_three_wishes) {
    struct mst_address_request request = {.id = UUID};

    for (int i = MST_BOOKMARK_UNCHANGED; i <= MST_BOOKMARK_TRUE; i++) {
        request.bookmarked = (enum mst_bookmark)i;
        expect_checked("a wish", "", &request);
    }
    request.bookmarked = (enum mst_bookmark)(MST_BOOKMARK_TRUE + 1);
    expect_checked("no wish", "bookmarked has no such value", &request);
}

TEST_CASE(travel_rule_metadata_may_not_contradict_itself) {
    static const struct {
        const char *name;
        const char *expected;
        struct mst_travelrule travelrule;
    } cases[] = {
        {"nothing", "", {0}},
        {"person", "", {.first_name = "A", .last_name = "B"}},
        {"one name", "", {.last_name = "B"}},
        {"institution", "", {.institution = "I"}},
        {"first name and institution",
         "institution contradicts another field",
         {.first_name = "A", .institution = "I"}},
        {"last name and institution",
         "institution contradicts another field",
         {.last_name = "", .institution = ""}},
        {"vasp", "", {.vasp_id = "v"}},
        {"custodian VASP", "", {.vasp_id = "v", .custodian_type = "VASP"}},
        {"VASP without one", "vasp_id is missing", {.custodian_type = "VASP"}},
        {"custodian PRIVATE", "", {.custodian_type = "PRIVATE"}},
        {"PRIVATE with a VASP",
         "vasp_id contradicts another field",
         {.vasp_id = "v", .custodian_type = "PRIVATE"}},
        {"another custodian", "", {.custodian_type = "vasp"}},
        {"another with a VASP", "", {.vasp_id = "v", .custodian_type = "X"}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_address_request request = {
            .id = UUID, .travelrule = &cases[i].travelrule};
        expect_checked(cases[i].name, cases[i].expected, &request);
    }
}

/* ---- The body of a request ---- */

static size_t write_body(void *out, size_t cap,
                         const struct mst_address_request *request) {
    struct out o = {out, cap, 0, 0};

    assert_int_equal(0, mst_address_check(request, NULL));
    address_body_write(&o, request);
    return o.len;
}

/* Expects the body of a request, also in a buffer of exactly its length. */
static void expect_written(const char *expected,
                           const struct mst_address_request *request) {
    size_t len = strlen(expected);
    char *body = guarded_room(len);

    expect_int(expected, len, write_body(body, len, request));
    expect_text("body", expected, printed("%.*s", (int)len, body));
    for (size_t room = 0; room < len; room++) {
        (void)write_body(guarded_room(room), room, request);
    }
}

TEST_CASE(the_body_names_what_is_wished_for) {
    static const struct mst_travelrule nothing = {0};
    static const struct mst_travelrule person = {.first_name = "Ada",
                                                 .last_name = "Lovelace",
                                                 .vasp_id = "v-1",
                                                 .custodian_type = "VASP"};
    static const struct mst_travelrule institution = {
        .institution = "Bank", .custodian_type = "PRIVATE"};
    static const struct mst_travelrule vasp = {.vasp_id = "v-1"};
    static const struct mst_travelrule custodian = {.custodian_type = "X"};
    static const struct mst_travelrule last = {.last_name = "Lovelace"};
    static const struct {
        const char *expected;
        struct mst_address_request request;
    } cases[] = {
        {"{\"id\":\"" UUID "\"}", {.id = UUID}},
        {"{\"crypto_network\":\"STELLAR\",\"address\":\"G\"}",
         {.network = "STELLAR", .address = "G"}},
        {"{\"crypto_network\":\"DOGECOIN\",\"address\":\"D\"}",
         {.network = "DOGECOIN", .address = "D"}},
        {"{\"id\":\"i\",\"nickname\":\"\"}", {.id = "i", .nickname = ""}},
        {"{\"id\":\"i\",\"nickname\":\"n\",\"bookmarked_status\":false}",
         {.id = "i", .nickname = "n", .bookmarked = MST_BOOKMARK_FALSE}},
        {"{\"id\":\"i\",\"bookmarked_status\":true,"
         "\"travelrule_metadata\":{}}",
         {.id = "i", .bookmarked = MST_BOOKMARK_TRUE, .travelrule = &nothing}},
        {"{\"id\":\"i\",\"travelrule_metadata\":{\"beneficiary\":{"
         "\"person_details\":{\"first_name\":\"Ada\","
         "\"last_name\":\"Lovelace\"}},\"vasp\":{\"id\":\"v-1\"},"
         "\"custodian_type\":\"VASP\"}}",
         {.id = "i", .travelrule = &person}},
        {"{\"id\":\"i\",\"travelrule_metadata\":{\"beneficiary\":{"
         "\"institution_details\":{\"name\":\"Bank\"}},"
         "\"custodian_type\":\"PRIVATE\"}}",
         {.id = "i", .travelrule = &institution}},
        {"{\"id\":\"i\",\"travelrule_metadata\":{\"vasp\":{\"id\":\"v-1\"}}}",
         {.id = "i", .travelrule = &vasp}},
        {"{\"id\":\"i\",\"travelrule_metadata\":{\"custodian_type\":\"X\"}}",
         {.id = "i", .travelrule = &custodian}},
        {"{\"id\":\"i\",\"travelrule_metadata\":{\"beneficiary\":{"
         "\"person_details\":{\"last_name\":\"Lovelace\"}}}}",
         {.id = "i", .travelrule = &last}},
        {"{\"id\":\"i\",\"nickname\":\"\\\"\\\\/\\u000A\\u001F\x7f\"}",
         {.id = "i", .nickname = "\"\\/\n\x1f\x7f"}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_written(cases[i].expected, &cases[i].request);
    }
}

static json_t *written(const struct mst_address_request *request) {
    static char out[16384];
    size_t len = write_body(out, sizeof out, request);
    json_t *json;

    assert_in_range(len, 1, sizeof out);
    json = json_loadb(out, len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    return json;
}

/* Each field has a different text, so none can be taken for another. */
TEST_CASE(an_independent_reader_finds_every_text) {
    const char *network, *address, *nickname, *first, *last, *vasp, *custodian;
    const char *institution, *id;
    struct mst_travelrule travelrule = {.first_name = "3" HOSTILE,
                                        .last_name = "4" HOSTILE,
                                        .vasp_id = "5" HOSTILE,
                                        .custodian_type = "6\"\\\r\n\xc3\xa9"};
    struct mst_address_request request = {.network = "0\"\\\r\n\xc3\xa9",
                                          .address = "1" HOSTILE,
                                          .nickname = "2" HOSTILE,
                                          .travelrule = &travelrule};
    json_t *json = written(&request);

    assert_int_equal(
        json_unpack(json, "{ss ss ss s{s{s{ss ss}} s{ss} ss}}",
                    "crypto_network", &network, "address", &address, "nickname",
                    &nickname, "travelrule_metadata", "beneficiary",
                    "person_details", "first_name", &first, "last_name", &last,
                    "vasp", "id", &vasp, "custodian_type", &custodian),
        0);
    expect_text("network", request.network, network);
    expect_text("address", request.address, address);
    expect_text("nickname", request.nickname, nickname);
    expect_text("first", travelrule.first_name, first);
    expect_text("last", travelrule.last_name, last);
    expect_text("vasp", travelrule.vasp_id, vasp);
    expect_text("custodian", travelrule.custodian_type, custodian);
    json_decref(json);

    travelrule = (struct mst_travelrule){.institution = "7" HOSTILE};
    request = (struct mst_address_request){.id = "8\"\\\r\n\xc3\xa9",
                                           .travelrule = &travelrule};
    json = written(&request);
    assert_int_equal(json_unpack(json, "{ss s{s{s{ss}}}!}", "id", &id,
                                 "travelrule_metadata", "beneficiary",
                                 "institution_details", "name", &institution),
                     0);
    expect_text("institution", travelrule.institution, institution);
    expect_text("id", request.id, id);
    json_decref(json);
}

/* ---- The body in windows: pieces of every size, at every offset ---- */

static const struct mst_travelrule windowed_person = {.first_name = "\"A\\\x01",
                                                      .last_name = "\xc3\x96\n",
                                                      .vasp_id = "v",
                                                      .custodian_type = "VASP"};
static const struct mst_travelrule windowed_institution = {.institution =
                                                               "B\r\n"};

static const struct mst_address_request requests[] = {
    {.id = "i"},
    {.network = "BITCOIN_CASH",
     .address = "q\"\xf0\x9f\x98\x80",
     .nickname = "\t",
     .bookmarked = MST_BOOKMARK_TRUE,
     .travelrule = &windowed_person},
    {.id = "i",
     .nickname = "",
     .bookmarked = MST_BOOKMARK_FALSE,
     .travelrule = &windowed_institution},
};

/* Writes a piece: as many bytes of the body as fit, from skip on. */
static size_t piece(const struct mst_address_request *request, uint8_t *to,
                    size_t cap, size_t skip, size_t whole) {
    struct out o = {to, cap, skip, 0};

    address_body_write(&o, request);
    assert_int_equal(whole, o.len);
    return out_stored(&o);
}

TEST_CASE(the_body_is_the_same_in_pieces_of_any_size) {
    char whole[1024];

    for (size_t i = 0; i < COUNT(requests); i++) {
        size_t len = write_body(whole, sizeof whole, &requests[i]);
        assert_in_range(len, 1, sizeof whole);
        for (size_t step = 1; step <= len + 1; step++) {
            size_t at = 0;
            while (at < len) {
                uint8_t *to = guarded_room(step);
                size_t n = piece(&requests[i], to, step, at, len);
                assert_int_equal(step < len - at ? step : len - at, n);
                assert_memory_equal(whole + at, to, n);
                at += n;
            }
            assert_int_equal(len, at);
        }
    }
}

TEST_CASE(a_window_shows_its_part_of_the_body_alone) {
    char whole[1024];

    for (size_t i = 0; i < COUNT(requests); i++) {
        size_t len = write_body(whole, sizeof whole, &requests[i]);
        assert_in_range(len, 1, sizeof whole);
        for (size_t skip = 0; skip <= len + 1; skip++) {
            size_t left = skip < len ? len - skip : 0;
            for (size_t cap = 0; cap <= left + 1; cap++) {
                uint8_t *to = guarded_room(cap);
                size_t n = piece(&requests[i], to, cap, skip, len);
                assert_int_equal(cap < left ? cap : left, n);
                assert_memory_equal(whole + len - left, to, n);
            }
        }
    }
}

/* ---- Records ---- */

/* Returns a record as one line. */
static const char *record_line(const struct mst_address *a) {
    return printed("%s %s %s \"%s\" %s %" PRId64 " %d", a->id, a->network,
                   a->address, a->nickname, a->status, a->created_ns,
                   a->bookmarked);
}

/* Reads a body that ends at a protected page. After an error the record must be
 * all zero. */
static int read_address(const void *body, size_t len,
                        struct mst_address *address) {
    static const struct mst_address zero;
    int rc;

    memset(address, 0xA5, sizeof *address);
    rc = address_read(guarded(body, len), len, &tokens, address);
    if (rc != 0) {
        assert_memory_equal(&zero, address, sizeof zero);
    }
    return rc;
}

/* Expects this record, or this error's name. */
static void expect_record(const char *body, size_t len, const char *expected) {
    struct mst_address address;
    int rc = read_address(body, len, &address);

    expect_text(body, expected,
                rc == 0 ? record_line(&address) : error_name(rc));
}

static void expect_records(const struct message_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_record(cases[i].message, strlen(cases[i].message),
                      cases[i].expected);
    }
}

/* Expects this error's name of each. */
static void expect_refused(const char *const *bodies, size_t count,
                           const char *error) {
    for (size_t i = 0; i < count; i++) {
        expect_record(bodies[i], strlen(bodies[i]), error);
    }
}

#define RECORD                                                            \
    "{\"address\":{\"id\":\"" UUID "\",\"crypto_network\":\"ETHEREUM\","  \
    "\"address\":\"0xAb\",\"nickname\":\"Cold \\u20ac\","                 \
    "\"status\":\"APPROVED\",\"created_at\":\"" TIME "\",\"bookmarked\":" \
    "true}}"
#define RECORD_READ \
    UUID " ETHEREUM 0xAb \"Cold \xe2\x82\xac\" APPROVED " NS " 1"

/* A record with an id and these fields. */
#define WITH(fields) "{\"address\":{\"id\":\"i\"" fields "}}"

TEST_CASE(a_record_has_every_field) {
    static const struct message_case cases[] = {
        {RECORD, RECORD_READ},
        {" {\r\n\t\"address\" : { \"bookmarked\" : false , \"id\" : \"i\" } } ",
         "i   \"\"  0 0"},
        {WITH(), "i   \"\"  0 0"},
        {WITH(",\"status\":\"PENDING\""), "i   \"\" PENDING 0 0"},
        {WITH(",\"status\":\"REJECTED\""), "i   \"\" REJECTED 0 0"},
        {WITH(",\"status\":\"approved\""), "i   \"\" approved 0 0"},
        {WITH(",\"status\":\"\""), "i   \"\"  0 0"},
        {WITH(",\"crypto_network\":\"XLAYER\""), "i XLAYER  \"\"  0 0"},
        {WITH(",\"crypto_network\":\"DOGE\""), "i DOGE  \"\"  0 0"},
        {WITH(",\"created_at\":\"1970-01-01T00:00:01.5Z\""),
         "i   \"\"  1500000000 0"},
        {WITH(",\"created_at\":\"1970-01-01T00:00:01.0000000000000000000000"
              "0000000000000000000000000000000000000000000000000000000Z\""),
         "i   \"\"  1000000000 0"},
        /* An escaped time has room for 64 bytes. */
        {WITH(",\"created_at\":\"1970-01-01T00:00:01.\\u0035000000000000000000"
              "000000000000000000000000Z\""),
         "i   \"\"  1500000000 0"},
        {WITH(",\"crypto_network\":null,\"address\":null,\"nickname\":null,"
              "\"status\":null,\"created_at\":null,\"bookmarked\":null"),
         "i   \"\"  0 0"},
    };

    expect_records(cases, COUNT(cases));
}

TEST_CASE(unknown_fields_are_skipped) {
    static const struct message_case cases[] = {
        {"{\"id\":\"x\",\"status\":3,\"meta\":{\"id\":1,\"address\":"
         "{\"id\":\"y\"}},\"address\":{\"meta\":[{\"id\":2}],\"id\":\"i\","
         "\"ID\":5,\"idx\":[],\"nickname_of_some_longer_kind\":1,"
         "\"tags\":{\"address\":\"z\",\"nickname\":{}}},\"bookmarked\":7}",
         "i   \"\"  0 0"},
        {"{\"address\":{\"\\u0069d\":\"i\",\"nick\\u006eame\":\"n\"}}",
         "i   \"n\"  0 0"},
    };
    struct text *body = text_new();

    expect_records(cases, COUNT(cases));
    text_add(body, "{\"address\":{\"more\":[");
    for (int i = 0; i < 1000; i++) {
        text_add(body, "{\"id\":%d,\"v\":\"\\ud800\\udc00\"},", i);
    }
    text_add(body, "0],\"id\":\"i\"}}");
    expect_record(text_get(body), body->len, "i   \"\"  0 0");
}

TEST_CASE(texts_are_unescaped) {
    static const struct {
        const char *escaped, *expected;
    } cases[] = {
        {"\\\" \\\\ \\/ \\b\\f\\n\\r\\t", "\" \\ / \b\f\n\r\t"},
        {"\\u0001\\u001f\\u007f\\u00e9\\u20AC",
         "\x01\x1f\x7f\xc3\xa9\xe2\x82\xac"},
        {"\\u0080\\u07ff\\u0800\\uffff",
         "\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
        {"\\uD83D\\uDE00", "\xf0\x9f\x98\x80"},
        {"\\udbff\\udfff", "\xf4\x8f\xbf\xbf"},
        {"\\u0000", "\xef\xbf\xbd"},
        {"a\\u0000b", "a\xef\xbf\xbd"
                      "b"},
        {"\\ud800\\udc00\\uDBFF\\uDFFF", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"\\ud7ff\\ue000", "\xed\x9f\xbf\xee\x80\x80"},
        {"\xf0\x9f\x98\x80\x7f", "\xf0\x9f\x98\x80\x7f"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_address address;
        const char *body =
            printed(WITH(",\"nickname\":\"%s\""), cases[i].escaped);

        expect_int(cases[i].escaped, 0,
                   read_address(body, strlen(body), &address));
        expect_text(cases[i].escaped, cases[i].expected, address.nickname);
    }
}

TEST_CASE(what_is_no_record_is_refused) {
    static const char *const shapes[] = {
        /* No object with an address. */
        "{}", "[]", "1", "\"address\"", "null",
        "[{\"address\":{\"id\":\"i\"}}]", "{\"id\":\"i\"}",
        "{\"address\":null}", "{\"address\":\"i\"}",
        "{\"address\":[{\"id\":\"i\"}]}",
        /* No id. */
        "{\"address\":{}}", "{\"address\":{\"id\":\"\"}}",
        "{\"address\":{\"id\":null}}", "{\"address\":{\"id\":7}}",
        "{\"address\":{\"id\":{\"id\":\"i\"}}}",
        /* Fields of a wrong type. */
        WITH(",\"crypto_network\":1"), WITH(",\"address\":{}"),
        WITH(",\"nickname\":[\"n\"]"), WITH(",\"status\":true"),
        WITH(",\"created_at\":1767323045"), WITH(",\"bookmarked\":\"true\""),
        WITH(",\"bookmarked\":1"), WITH(",\"bookmarked\":{}")};
    static const char *const times[] = {
        WITH(",\"created_at\":\"\""), WITH(",\"created_at\":\"yesterday\""),
        WITH(",\"created_at\":\"2026-01-02T03:04:05\""),
        WITH(",\"created_at\":\"2026-01-02T03:04:05\\u002e00000000000000000"
             "0000000000000000000000000000000000000000000000000000000Z\""),
        WITH(",\"created_at\":\"2026-01-02T03:04:05\\u002e000000000000000000"
             "0000000000000000000000000Z and more\"")};
    static const char *const keys[] = {
        /* Members that are there twice. */
        WITH(",\"id\":\"i\""),
        WITH(",\"\\u0069d\":\"i\""),
        WITH(",\"nickname\":null,\"nickname\":\"n\""),
        WITH(",\"bookmarked\":true,\"bookmarked\":true"),
        "{\"address\":{\"id\":\"i\"},\"address\":{}}",
        "{\"address\":{\"id\":\"i\"},\"address\":null}"};
    static const char *const syntax[] = {
        /* No JSON, or more than one value. */
        "", " ", "<html></html>", RECORD "x", RECORD RECORD,
        "\xef\xbb\xbf" RECORD,
        /* Malformed members. */
        WITH(","), WITH(",\"nickname\":\"a\nb\""),
        WITH(",\"nickname\":\"\\x41\""), WITH(",\"nickname\":\"\\u12\""),
        WITH(",\"nickname\":tru"), WITH(",\"more\":[1,}")};

    expect_refused(shapes, COUNT(shapes), "MESSAGE_SHAPE");
    expect_refused(times, COUNT(times), "TIME");
    expect_refused(keys, COUNT(keys), "MESSAGE_KEY");
    expect_refused(syntax, COUNT(syntax), "JSON_SYNTAX");
    expect_record(
        BYTES(WITH(",\"more\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]")),
        "JSON_DEPTH");
    expect_record(BYTES("{\"address\":{\"id\":\"i\0\"}}"), "JSON_SYNTAX");
    expect_record(BYTES(RECORD "\0"), "JSON_SYNTAX");
    expect_record(NULL, 0, "JSON_SYNTAX");
}

TEST_CASE(a_body_is_utf8) {
    for (size_t i = 0; i < COUNT(not_utf8); i++) {
        const char *bad = not_utf8[i][1] == '"' ? "\xc3" : not_utf8[i];
        const struct message_case cases[] = {
            {printed(WITH(",\"nickname\":\"%s\""), bad), "JSON_SYNTAX"},
            {printed(WITH(",\"more\":[\"%s \"]"), bad), "JSON_SYNTAX"}};

        expect_records(cases, COUNT(cases));
    }
}

TEST_CASE(a_body_cut_off_is_no_record) {
    for (size_t len = 0; len < sizeof RECORD - 1; len++) {
        struct mst_address address;
        expect_int("cut", MST_ERR_JSON_SYNTAX,
                   read_address(RECORD, len, &address));
    }
    expect_record(BYTES(RECORD), RECORD_READ);
}

TEST_CASE(texts_of_a_record_have_limits) {
    static const struct {
        const char *field;
        size_t max;
    } cases[] = {
        {"id", MST_ADDRESS_WORD_MAX},
        {"crypto_network", MST_ADDRESS_WORD_MAX},
        {"address", MST_ADDRESS_TEXT_MAX},
        {"nickname", MST_ADDRESS_TEXT_MAX},
        {"status", MST_ADDRESS_WORD_MAX},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        for (unsigned form = 0; form < 8; form++) {
            struct mst_address a;
            bool id = strcmp(cases[i].field, "id") == 0;
            bool wide = form % 2 != 0; /* the last character has three bytes */
            size_t more = form / 2;
            size_t len =
                cases[i].max - (wide ? 4 : 2) + (more == 3 ? 300 : more);
            const char *body =
                printed("{\"address\":{%s\"%s\":\"%0*d%s\"}}",
                        id ? "" : "\"id\":\"i\",", cases[i].field, (int)len, 0,
                        wide ? "\\u20ac" : "\\u0041");

            expect_int(cases[i].field, more > 1 ? MST_ERR_MESSAGE_SIZE : 0,
                       read_address(body, strlen(body), &a));
            if (more == 1) {
                expect_int("length", cases[i].max,
                           strlen(a.id) + strlen(a.network) +
                               strlen(a.address) + strlen(a.nickname) +
                               strlen(a.status) - !id);
            }
        }
    }
}

TEST_CASE(what_another_writes_is_read_as_it_was_meant) {
    static const size_t flags[] = {0, JSON_ENSURE_ASCII, JSON_ESCAPE_SLASH,
                                   JSON_INDENT(4) | JSON_SORT_KEYS};

    for (size_t i = 0; i < COUNT(flags); i++) {
        struct mst_address address;
        json_t *json =
            json_pack("{s{ss ss ss ss sb}}", "address", "id", "\"\\\r\n",
                      "crypto_network", "\xf0\x9f\x98\x80", "address",
                      "1" HOSTILE, "nickname", "2" HOSTILE, "bookmarked", 1);
        char *body = json_dumps(json, flags[i]);
        assert_non_null(body);
        assert_int_equal(0, read_address(body, strlen(body), &address));
        expect_text("id", "\"\\\r\n", address.id);
        expect_text("network", "\xf0\x9f\x98\x80", address.network);
        expect_text("address", "1" HOSTILE, address.address);
        expect_text("nickname", "2" HOSTILE, address.nickname);
        expect_int("bookmarked", 1, address.bookmarked);
        free(body);
        json_decref(json);
    }
}

/* True if jansson reads a record, in a body without escapes. */
static bool jansson_reads(const char *body, size_t len, char *id, size_t cap) {
    json_t *json = json_loadb(body, len, JSON_DECODE_ANY, NULL);
    const char *text = json_string_value(
        json_object_get(json_object_get(json, "address"), "id"));

    snprintf(id, cap, "%s", text != NULL ? text : "");
    json_decref(json);
    return text != NULL;
}

/* Changes a few bytes of a record. The library must read it exactly if jansson
 * does, with the same id, except for the library's limits. */
TEST_CASE(damaged_bodies_are_read_as_another_reads_them) {
    static const char bytes[] = "\"{}[]:,0123 aedinrstlu.-+E\n\x01\xff\xc3";
    uint64_t seed = 20260102;
    unsigned good = 0, bad = 0;

    for (int round = 0; round < 20000; round++) {
        struct mst_address address;
        char body[] = WITH(",\"crypto_network\":\"INK\",\"address\":\"a\","
                           "\"bookmarked\":true,\"more\":[1,{\"x\":-2.5e3}]");
        char id[sizeof body];
        size_t len = sizeof body - 1;
        bool reads;
        int rc;

        for (uint64_t n = random_next(&seed) % 3 + 1; n > 0; n--) {
            body[random_next(&seed) % len] =
                bytes[random_next(&seed) % (sizeof bytes - 1)];
        }
        rc = read_address(body, len, &address);
        reads = jansson_reads(body, len, id, sizeof id);
        if (rc == 0) {
            good++;
            expect_int(body, true, reads);
            expect_text(body, id, address.id);
        } else {
            bad++;
            expect_int(body, false,
                       reads && rc != MST_ERR_MESSAGE_SHAPE &&
                           rc != MST_ERR_MESSAGE_KEY);
        }
    }
    assert_true(good > 1000 && bad > 1000);
}

/* ---- Problems ---- */

static void expect_problem(const char *body, size_t len, int status,
                           const char *title, const char *detail) {
    struct mst_problem problem;

    memset(&problem, 0xA5, sizeof problem);
    address_problem_read(guarded(body, len), len, &tokens, &problem);
    expect_int(body, status, problem.status);
    expect_text(body, title, problem.title);
    expect_text(body, detail, problem.detail);
}

#define PROBLEM                                                           \
    "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400," \
    "\"detail\":\"nickname is too long\",\"meta\":{\"title\":\"x\","      \
    "\"detail\":[\"y\"]}}"

TEST_CASE(problems_are_read_in_every_shape) {
    static const struct {
        const char *body;
        int status;
        const char *title, *detail;
    } cases[] = {
        {PROBLEM, 400, "Bad Request", "nickname is too long"},
        {"{\"title\":\"T\"}", 0, "T", ""},
        {"{\"detail\":\"D\"}", 0, "", "D"},
        {"{\"error\":\"invalid_token\",\"error_description\":\"expired\"}", 0,
         "invalid_token", "expired"},
        {"{\"error\":\"C\",\"message\":\"M\"}", 0, "C", "M"},
        {"{\"error\":{\"code\":\"C\",\"message\":\"M\"}}", 0, "C", "M"},
        {"{\"error\":{\"code\":17,\"message\":\"M\",\"more\":[1]}}", 0, "17",
         "M"},
        {"{\"code\":\"C\",\"message\":\"M\"}", 0, "C", "M"},
        {"{\"error\":\"C\",\"message\":\"M\",\"title\":\"T\",\"detail\":\"D\"}",
         0, "T", "D"},
        {"{\"title\":\"T\",\"detail\":\"D\",\"error\":\"C\",\"message\":\"M\"}",
         0, "T", "D"},
        {"{\"error\":\"C\",\"title\":\"\"}", 0, "C", ""},
        {"{\"title\":null,\"error\":\"C\",\"detail\":{\"a\":1},\"message\":["
         "\"M\"]}",
         0, "C", ""},
        {"{\"title\":true,\"detail\":false}", 0, "", ""},
        {"{\"status\":\"503\"}", 503, "", ""},
        {"{\"status\":599}", 599, "", ""},
        {"{\"status\":600}", 0, "", ""},
        {"{\"status\":99}", 0, "", ""},
        {"{\"status\":4e2}", 0, "", ""},
        {"{\"status\":1.5}", 0, "", ""},
        {"{\"status\":-40}", 0, "", ""},
        {"{\"status\":4000}", 0, "", ""},
        {"{\"status\":null}", 0, "", ""},
        {"{\"status\":\"BAD\"}", 0, "", ""},
        {"{\"status\":[400]}", 0, "", ""},
        {"{\"title\":\"a\\r\\nb\\u0000\\ud83d\\ude00\\u001b[0m\\\"\"}", 0,
         "a  b\xef\xbf\xbd\xf0\x9f\x98\x80 [0m\"", ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_problem(cases[i].body, strlen(cases[i].body), cases[i].status,
                       cases[i].title, cases[i].detail);
    }
}

TEST_CASE(what_is_no_problem_says_nothing) {
    static const char *const bodies[] = {
        /* No JSON. */
        "", "Bad Request", "<html><title>502 Bad Gateway</title></html>",
        "{\"title\":\"T\"}x", "{\"title\":\"T\",}", "{\"title\":\"T\xff\"}",
        /* No object, or an empty one. */
        "{}", "[]", "null", "[{\"title\":\"T\"}]",
        /* A member twice; too deep. */
        "{\"title\":\"T\",\"title\":\"U\"}",
        "{\"title\":\"T\",\"x\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}"};

    for (size_t i = 0; i < COUNT(bodies); i++) {
        expect_problem(bodies[i], strlen(bodies[i]), 0, "", "");
    }
    for (size_t len = 0; len < sizeof PROBLEM - 1; len++) {
        expect_problem(PROBLEM, len, 0, "", "");
    }
    expect_problem(NULL, 0, 0, "", "");
}

TEST_CASE(long_texts_of_a_problem_are_cut_between_characters) {
    for (size_t before = MST_TEXT_MAX - 4; before <= MST_TEXT_MAX; before++) {
        for (unsigned form = 0; form < 4; form++) {
            const bool escaped = (form & 1) != 0, more = (form & 2) != 0;
            const char *body = printed("{\"detail\":\"%0*d%s%s\"}", (int)before,
                                       0, escaped ? "\\u20ac" : "\xe2\x82\xac",
                                       more ? " and more" : "");
            const char *expected =
                printed("%0*d%s%s", (int)before, 0,
                        before + 3 <= MST_TEXT_MAX ? "\xe2\x82\xac" : "",
                        more && before + 3 < MST_TEXT_MAX ? " " : "");

            expect_problem(body, strlen(body), 0, "", expected);
        }
    }
}

/* jsmn stores offsets in an int. */
TEST_CASE(a_body_beyond_any_offset_is_too_large) {
    struct mst_address address;

    expect_int("address", MST_ERR_MESSAGE_SIZE,
               address_read("{}", (size_t)INT_MAX + 1, &tokens, &address));
}

RUN_CASES(NULL, NULL)
