/*
 * The tests' service: the endpoint that creates and updates crypto
 * destination addresses. See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"

#include <jansson.h>

/* Makes a record from a request's fields and defaults. */
static void record_make(struct service *service, json_t *body) {
    const json_t *id = json_object_get(body, "id");
    const json_t *network = json_object_get(body, "crypto_network");
    const json_t *address = json_object_get(body, "address");
    const json_t *nickname = json_object_get(body, "nickname");
    json_t *record;

    if ((id != NULL) != (network == NULL) ||
        (id != NULL) != (address == NULL)) {
        service_wrong(service, "not exactly one identification form");
    }
    record = json_pack(
        "{s:{s:s,s:s,s:s,s:s,s:s,s:s,s:b}}", "address", "id",
        id ? json_string_value(id) : "0c1e6d1e-9d0e-4f44-8f6b-3f1f3a6e2a11",
        "crypto_network", network ? json_string_value(network) : "BITCOIN",
        "address", address ? json_string_value(address) : "bc1qknown",
        "nickname", nickname ? json_string_value(nickname) : "generated",
        "status", "APPROVED", "created_at", "2026-01-02T03:04:05Z",
        "bookmarked", json_is_true(json_object_get(body, "bookmarked_status")));
    char *text = json_dumps(record, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (text == NULL) {
        service_wrong(service, "a record with text that is none");
    } else {
        snprintf(service->record, sizeof service->record, "%s", text);
    }
    free(text);
    json_decref(record);
}

void service_address_request(struct service *service, int link,
                             const char *request, const char *body) {
    char expected[8300];
    json_error_t error;

    service_note(service, &service->puts);
    snprintf(service->put, sizeof service->put, "%s", request);
    snprintf(expected, sizeof expected, "PUT %s%s HTTP/1.1\r\n",
             service->api_path ? service->api_path : "", SERVICE_ADDRESS_PATH);
    if (strncmp(request, expected, strlen(expected)) != 0) {
        service_wrong(service, "not an address request: %.80s", request);
    }
    service_header_expect(service, request, "Host", SERVICE_API_HOST);
    service_header_expect(service, request, "Content-Type", "application/json");
    snprintf(expected, sizeof expected, "Bearer %s",
             service->api_token ? service->api_token : SERVICE_ADDRESS_TOKEN);
    service_header_expect(service, request, "Authorization", expected);
    json_t *root = json_loads(body, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(root)) {
        service_wrong(service, "not a JSON object: %.80s", error.text);
    } else {
        record_make(service, root);
    }
    json_decref(root);
    service_script_answer(service, &service->address, link);
}

void service_address_answer(struct service *service, int link) {
    if (!service_script_says(service, &service->address, link)) {
        service->records++;
        service_respond(service, &service->address, link, "200 OK",
                        "application/json", service->record);
    }
}
