/*
 * What to do about an error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <stddef.h>

static const struct {
    int error;
    const char *advice;
} advices[] = {
    {0, "mend the configuration: `mini-stream doctor --help' has the options, "
        "the variables and the keys of a profile"},
    {MST_ERR_URL, "write the URLs as wss://host[:port] (ws_url) and "
                  "https://host[:port] (auth_url)"},
    {MST_ERR_PLAIN, "use wss:// and https://: secrets do not travel in plain"},
    {MST_ERR_IP_HOST, "name the host instead of its address, or give --tls "
                      "openssl, which knows certificates for addresses"},
    {MST_ERR_CLOCK, "set this machine's clock (timedatectl set-ntp true, or "
                    "chrony): certificates cannot be judged without"},
    {MST_ERR_RESOLVE, "check the host's spelling in the URL; then this "
                      "machine's names: /etc/hosts, /etc/resolv.conf, VPN"},
    {MST_ERR_REFUSED, "nothing listens there, or a firewall says so: check "
                      "host and port in the URL, and ask who runs it"},
    {MST_ERR_UNREACHABLE, "check this machine's network: address, route, VPN"},
    {MST_ERR_RESET, "something on the way or the server itself ends the "
                    "connection: check host and port, ask whether this "
                    "machine's address is allowed"},
    {MST_ERR_EOF, "the server ends the connection: check host and port, ask "
                  "whether this machine's address is allowed"},
    {MST_ERR_TIMEOUT, "nothing answers: most often a firewall that drops what "
                      "leaves, or a wrong port; a proxy may be needed "
                      "(--proxy). --timeout gives more time"},
    {MST_ERR_PROXY_LOGIN, "the proxy wants a user name and a password, or "
                          "others: http://user:password@host:port in "
                          "MINI_STREAM_PROXY or HTTPS_PROXY"},
    {MST_ERR_PROXY_REFUSED, "ask who runs the proxy to let CONNECT through to "
                            "this host and port"},
    {MST_ERR_PROXY_GATEWAY, "the proxy itself cannot reach the server: check "
                            "host and port in the URL, then ask who runs the "
                            "proxy"},
    {MST_ERR_PROXY_ANSWER, "what answers is no HTTP proxy: check the proxy's "
                           "host and port"},
    {MST_ERR_PROXY_TIMEOUT, "the proxy does not answer: check its host and "
                            "port, and ask who runs it"},
    {MST_ERR_TLS_ISSUER, "give the certificate of the authority that the "
                         "service names with --ca; if the issuer is a stranger "
                         "something on the way intercepts TLS"},
    {MST_ERR_TLS_NAME, "check the host in the URL: it must be one of the names "
                       "in the certificate"},
    {MST_ERR_TLS_TIME, "if the clock of this machine is right, the service "
                       "must renew its certificate"},
    {MST_ERR_TLS_CERTIFICATE, "the certificate does not meet today's rules "
                              "(key, hash, use): the service must replace it"},
    {MST_ERR_TLS_VERSION, "the server's version of TLS is not one that the "
                          "stream's library speaks: --tls openssl has 1.2 and "
                          "1.3"},
    {MST_ERR_TLS_HANDSHAKE, "the server offers no suite of ECDHE with AES-GCM "
                            "or ChaCha20, or wants a client certificate: ask "
                            "who runs it"},
    {MST_ERR_TLS_PROTOCOL, "what answers does not speak TLS: check the port"},
    {MST_ERR_TOKEN_REFUSED, "the token endpoint does not know this client or "
                            "its secret, or does not grant what is asked: "
                            "check client_id and secret with the service"},
    {MST_ERR_TOKEN_SCOPE, "ask the service to grant this client the scope"},
    {MST_ERR_UNAUTHORIZED, "the stream does not accept the token: check that "
                           "ws_url and auth_url are of the same environment"},
    {MST_ERR_FORBIDDEN, "ask the service to put this client, and this "
                        "machine's address, on its allow list, with the "
                        "stream's scope"},
    {MST_ERR_THROTTLED, "too many requests: wait some minutes, and see what "
                        "else uses the same client"},
    {MST_ERR_HTTP_STATUS, "what answers is not the token endpoint, or it is "
                          "out of order: check the URL, then ask the service"},
    {MST_ERR_WS_UPGRADE, "what answers is not the stream: check ws_url with "
                         "its path, then ask the service"},
    {MST_ERR_SERVICE, "the service refuses the subscription: check the "
                      "market's symbol"},
};

const char *doctor_advice(int error) {
    for (size_t i = 0; i < sizeof advices / sizeof *advices; ++i) {
        if (advices[i].error == error) {
            return advices[i].advice;
        }
    }
    return "try again; if it lasts, ask the service, with the lines above";
}
