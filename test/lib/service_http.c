/*
 * The tests' service: the token endpoint and the opening handshake.
 * See service.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"

#include <strings.h>

void service_header_expect(struct service *service, const char *request,
                           const char *name, const char *expected) {
    char value[8192];

    mst_mock_service_header(request, name, value, sizeof value);
    if (strcasecmp(value, expected) != 0) {
        service_wrong(service, "header %s is \"%.80s\", not \"%.80s\"", name,
                      value, expected);
    }
}

/* Copies a decoded form field from a body. */
static void form_get(const char *body, const char *name, char *out,
                     size_t out_len) {
    size_t at = 0, name_len = strlen(name);

    out[0] = '\0';
    while (strncmp(body, name, name_len) != 0 || body[name_len] != '=') {
        body = strchr(body, '&');
        if (body++ == NULL) {
            return;
        }
    }
    for (body += name_len + 1; *body != '\0' && *body != '&'; body++) {
        char c = *body == '+' ? ' ' : *body;
        if (*body == '%') {
            char hex[3] = {body[1], body[1] != '\0' ? body[2] : '\0', '\0'};
            c = (char)strtol(hex, NULL, 16);
            body += strlen(hex);
        }
        if (at + 1 < out_len) {
            out[at++] = c;
        }
    }
    out[at] = '\0';
}

static void form_expect(struct service *service, const char *body,
                        const char *name, const char *expected) {
    char value[512];

    form_get(body, name, value, sizeof value);
    if (strcmp(value, expected) != 0) {
        service_wrong(service, "form field %s is \"%.80s\"", name, value);
    }
}

/* Checks the scope: the stream's, that of addresses, or the one set by the
 * test. */
static void token_scope(struct service *service, int link, const char *body) {
    char *scope = service->links[link].token_scope;

    form_get(body, "scope", scope, sizeof service->links[link].token_scope);
    if (strcmp(scope, SERVICE_ADDRESS_SCOPE) == 0) {
        service->address_tokens++;
    } else if (strcmp(scope, service->scope ? service->scope : SERVICE_SCOPE) !=
               0) {
        service_wrong(service, "scope is \"%.80s\"", scope);
    }
}

/* Reports a request that comes too early after a Retry-After or a 429. One that
 * was sent before the client knew is allowed. */
static void hold_check(struct service *service, bool upgrade) {
    uint64_t now_ms = mst_mock_elapsed(service->core.mock);

    if (service->rules.hold && now_ms > service->told_ms[upgrade] &&
        now_ms < service->hold_ms[upgrade]) {
        service_wrong(service, "a request %u ms earlier than told",
                      (unsigned)(service->hold_ms[upgrade] - now_ms));
    }
}

static void token_check(struct service *service, int link, const char *request,
                        const char *body) {
    if (strncmp(request, "POST /oauth2/token HTTP/1.1\r\n", 29) != 0) {
        service_wrong(service, "not a token request: %.60s", request);
    }
    service_header_expect(service, request, "Host", SERVICE_AUTH_HOST);
    service_header_expect(service, request, "Content-Type",
                          "application/x-www-form-urlencoded");
    form_expect(service, body, "grant_type", "client_credentials");
    form_expect(service, body, "client_id", SERVICE_ID);
    form_expect(service, body, "client_secret", SERVICE_SECRET);
    token_scope(service, link, body);
    for (const char *c = body; *c != '\0'; c++) {
        if (strchr("%&=+.-_~*", *c) == NULL && (*c < '0' || *c > '9') &&
            (*c < 'A' || *c > 'Z') && (*c < 'a' || *c > 'z')) {
            service_wrong(service, "form byte %02x is not escaped",
                          (unsigned)*c & 0xFF);
        }
    }
}

/* Sends a canned response, if the script has one for this request. */
static bool script_raw(struct service *service, struct service_script *script,
                       int link) {
    if (script->raw == NULL) {
        return false;
    }
    service_write(service, link, script->raw,
                  script->raw_len > 0 ? script->raw_len : strlen(script->raw));
    if (script->raw_end != 0) {
        service_link_end(service, link, script->raw_end);
    }
    if (script->raw_times > 0 && --script->raw_times == 0) {
        script->raw = NULL;
    }
    return true;
}

void service_script_answer(struct service *service,
                           const struct service_script *script, int link) {
    if (script->never) {
        return;
    }
    if (script->delay_ms == 0) {
        service_http_answer(service, link);
        return;
    }
    service->links[link].answer_due_ms =
        mst_mock_elapsed(service->core.mock) + script->delay_ms;
    mst_mock_wake(service->core.mock, script->delay_ms);
}

/* Writes the body in chunks of different sizes, with an extension and a
 * trailer (RFC 9112, section 7.1). */
static void write_chunked(struct service *service, int link, const char *body) {
    size_t len = strlen(body), at = 0, size = 1;
    char line[64];

    for (; at < len; at += size, size = size * 3 + 1) {
        if (size > len - at) {
            size = len - at;
        }
        snprintf(line, sizeof line, "%zX%s\r\n", size,
                 at == 0 ? ";a=\"b\"" : "");
        service_write(service, link, line, strlen(line));
        service_write(service, link, body + at, size);
        service_write(service, link, "\r\n", 2);
    }
    const char *end = "0\r\nX-Trailer: 1\r\n\r\n";
    service_write(service, link, end, strlen(end));
}

/* Returns the script's header lines. */
static const char *script_headers(const struct service_script *script) {
    static char out[4096];
    char retry[60] = "";

    if (script->retry_s > 0 && script->retry_date) {
        snprintf(retry, sizeof retry,
                 "Retry-After: Fri, 02 Jan 2026 03:04:05 GMT\r\n");
    } else if (script->retry_s > 0) {
        snprintf(retry, sizeof retry, "Retry-After: %u\r\n", script->retry_s);
    }
    snprintf(out, sizeof out, "%s%s", retry,
             script->headers != NULL ? script->headers : "");
    return out;
}

bool service_script_says(struct service *service, struct service_script *script,
                         int link) {
    char head[4200];

    if (script_raw(service, script, link)) {
        return true;
    }
    if (script->status == 0) {
        return false;
    }
    if ((script->status == 429 || script->retry_s > 0) &&
        script != &service->address) {
        bool counted = script->retry_s > 0 && !script->retry_date;
        uint32_t s = counted ? script->retry_s : 300;
        uint64_t now_ms = mst_mock_elapsed(service->core.mock);
        bool upgrade = script == &service->upgrade;
        service->told_ms[upgrade] =
            now_ms + 2u * service->core.mock->plan.data_ms;
        service->hold_ms[upgrade] = now_ms + s * 1000ull;
    }
    snprintf(head, sizeof head, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n%s\r\n",
             script->status, script_headers(script));
    service_write(service, link, head, strlen(head));
    return true;
}

void service_respond(struct service *service,
                     const struct service_script *script, int link,
                     const char *status, const char *type, const char *body) {
    char head[8192], framing[64] = "";

    if (service->framing == SERVICE_LENGTH) {
        snprintf(framing, sizeof framing, "Content-Length: %zu\r\n",
                 strlen(body));
    } else if (service->framing == SERVICE_CHUNKED) {
        snprintf(framing, sizeof framing, "Transfer-Encoding: chunked\r\n");
    }
    snprintf(head, sizeof head,
             "%sHTTP/1.1 %s\r\n%sContent-Type: %s\r\n"
             "Cache-Control: no-store\r\n%s\r\n",
             script->interim ? script->interim : "", status, framing, type,
             script_headers(script));
    service_write(service, link, head, strlen(head));
    if (service->framing == SERVICE_CHUNKED) {
        write_chunked(service, link, body);
    } else {
        service_write(service, link, body, strlen(body));
    }
    if (service->framing == SERVICE_UNTIL_CLOSE) {
        service_link_end(service, link, MST_ERR_EOF);
    }
}

static void token_answer(struct service *service, int link) {
    struct service_script *script = &service->token;
    static char body[SERVICE_BUFFER];
    char rest[400];
    const char *scope = service->links[link].token_scope;
    bool address = strcmp(scope, SERVICE_ADDRESS_SCOPE) == 0;
    const char *token = service->token_value;
    uint32_t life_s = service->expires_in > 0 ? service->expires_in : 3600u;

    if (service_script_says(service, script, link)) {
        return;
    }
    if (!address) {
        service->token_end_ms =
            mst_mock_elapsed(service->core.mock) + life_s * 1000ull;
    }
    if (token == NULL) {
        token = address ? SERVICE_ADDRESS_TOKEN : SERVICE_TOKEN;
    }
    snprintf(rest, sizeof rest,
             ",\"expires_in\":%u,\"token_type\":\"bearer\",\"scope\":\"%s\"}",
             life_s, scope);
    snprintf(body, sizeof body, "{\"access_token\":\"%s\"%s", token,
             service->token_rest != NULL ? service->token_rest : rest);
    service_respond(service, script, link, "200 OK",
                    "application/json;charset=UTF-8",
                    service->token_body != NULL ? service->token_body : body);
}

static void token_request(struct service *service, int link,
                          const char *request, const char *body) {
    service_note(service, &service->tokens);
    token_check(service, link, request, body);
    hold_check(service, false);
    service_script_answer(service, &service->token, link);
}

/* Refuses an expired token. */
static bool token_refuse(struct service *service, int link) {
    static const char unauthorized[] = SERVICE_EMPTY("401 Unauthorized");

    if (!service->rules.expire ||
        mst_mock_elapsed(service->core.mock) < service->token_end_ms) {
        return false;
    }
    service_write(service, link, unauthorized, strlen(unauthorized));
    return true;
}

/* Sets when the stream ends: when the token of its handshake expires. */
static void link_expire(struct service *service, struct service_link *link) {
    uint64_t now_ms = mst_mock_elapsed(service->core.mock);

    if (service->token_end_ms != UINT64_MAX) {
        link->end_ms = service->token_end_ms;
        mst_mock_wake(service->core.mock,
                      link->end_ms > now_ms ? (uint32_t)(link->end_ms - now_ms)
                                            : 1);
    }
}

static void upgrade_answer(struct service *service, int link) {
    struct service_script *script = &service->upgrade;
    const struct service_rules *rules = &service->rules;

    if (service_script_says(service, script, link) ||
        token_refuse(service, link)) {
        return;
    }
    if (script->interim != NULL) {
        service_write(service, link, script->interim, strlen(script->interim));
    }
    service->opening[0] = '\0';
    mst_mock_service_upgrade(&service->core, link, script_headers(script),
                             rules->greeting != NULL ? rules->greeting : "",
                             rules->greeting_len);
    if (service->feed_due_ms == UINT64_MAX) {
        service_feed_begin(service);
    }
    if (service->beat_due_ms == UINT64_MAX) {
        service_beat_begin(service);
    }
    if (rules->expire) {
        link_expire(service, &service->links[link]);
    }
}

static void upgrade_check(struct service *service, int link,
                          const char *request) {
    char value[64], expected[8300];

    if (strncmp(request, "GET / HTTP/1.1\r\n", 16) != 0) {
        service_wrong(service, "not an upgrade of /: %.60s", request);
    }
    service_header_expect(service, request, "Host", SERVICE_WS_HOST);
    service_header_expect(service, request, "Upgrade", "websocket");
    service_header_expect(service, request, "Connection", "Upgrade");
    service_header_expect(service, request, "Sec-WebSocket-Version", "13");
    service_header_expect(service, request, "Sec-WebSocket-Extensions", "");
    snprintf(expected, sizeof expected, "Bearer %s",
             service->token_value ? service->token_value : SERVICE_TOKEN);
    service_header_expect(service, request, "Authorization", expected);
    mst_mock_service_header(request, "Sec-WebSocket-Key", value, sizeof value);
    if (strlen(value) != 24 || strcmp(value + 22, "==") != 0) {
        service_wrong(service, "Sec-WebSocket-Key is \"%s\"", value);
    }
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (strcmp(value, service->links[i].key) == 0) {
            service_wrong(service, "Sec-WebSocket-Key was used before");
        }
    }
    snprintf(service->links[link].key, sizeof service->links[link].key, "%s",
             value);
}

static void upgrade_request(struct service *service, int link,
                            const char *request) {
    service_note(service, &service->upgrades);
    upgrade_check(service, link, request);
    hold_check(service, true);
    service_script_answer(service, &service->upgrade, link);
}

void service_http_answer(struct service *service, int link) {
    const char *host = service->links[link].endpoint.host;

    if (strcmp(host, SERVICE_AUTH_HOST) == 0) {
        token_answer(service, link);
    } else if (strcmp(host, SERVICE_API_HOST) == 0) {
        service_address_answer(service, link);
    } else {
        upgrade_answer(service, link);
    }
}

bool service_http(void *context, int link, const char *request,
                  const char *body) {
    struct service *service = context;
    const char *host = service->links[link].endpoint.host;

    if (strcmp(host, SERVICE_AUTH_HOST) == 0) {
        token_request(service, link, request, body);
    } else if (strcmp(host, SERVICE_WS_HOST) == 0) {
        upgrade_request(service, link, request);
    } else if (strcmp(host, SERVICE_API_HOST) == 0) {
        service_address_request(service, link, request, body);
    } else {
        service_wrong(service, "unknown host %.60s", host);
    }
    return true;
}
