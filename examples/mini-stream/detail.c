/*
 * What the number beside an error says.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "detail.h"

#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stddef.h>
#include <string.h>

#include "mini_stream.h"

/* BearSSL has no texts for its numbers. */
static const struct {
    int number;
    const char *text;
} bearssl[] = {
    {BR_ERR_BAD_PARAM, "bad parameter"},
    {BR_ERR_BAD_STATE, "bad state"},
    {BR_ERR_UNSUPPORTED_VERSION, "unsupported version of TLS"},
    {BR_ERR_BAD_VERSION, "a record of another version"},
    {BR_ERR_BAD_LENGTH, "bad length of a record"},
    {BR_ERR_TOO_LARGE, "a record is larger than the buffer"},
    {BR_ERR_BAD_MAC, "a record was damaged or forged"},
    {BR_ERR_UNKNOWN_TYPE, "unknown type of record"},
    {BR_ERR_UNEXPECTED, "unexpected record"},
    {BR_ERR_BAD_CCS, "bad ChangeCipherSpec"},
    {BR_ERR_BAD_ALERT, "bad alert"},
    {BR_ERR_BAD_HANDSHAKE, "bad handshake message"},
    {BR_ERR_OVERSIZED_ID, "session ID is too long"},
    {BR_ERR_BAD_CIPHER_SUITE, "cipher suite that was not offered"},
    {BR_ERR_BAD_FRAGLEN, "length of records that was not offered"},
    {BR_ERR_BAD_SECRENEG, "renegotiation"},
    {BR_ERR_EXTRA_EXTENSION, "extension that was not offered"},
    {BR_ERR_BAD_SNI, "bad server name extension"},
    {BR_ERR_LIMIT_EXCEEDED, "a limit was exceeded"},
    {BR_ERR_BAD_FINISHED, "bad Finished message"},
    {BR_ERR_RESUME_MISMATCH, "resumed with other parameters"},
    {BR_ERR_INVALID_ALGORITHM, "unsupported algorithm"},
    {BR_ERR_BAD_SIGNATURE, "bad signature of the key exchange"},
    {BR_ERR_NO_CLIENT_AUTH, "the server wants a client certificate"},
    {BR_ERR_X509_UNSUPPORTED, "unsupported certificate"},
    {BR_ERR_X509_LIMIT_EXCEEDED, "certificate exceeds a limit"},
    {BR_ERR_X509_WRONG_KEY_TYPE, "wrong type of key"},
    {BR_ERR_X509_BAD_SIGNATURE, "bad signature of a certificate"},
    {BR_ERR_X509_TIME_UNKNOWN, "the time is not known"},
    {BR_ERR_X509_EXPIRED, "expired, or not valid yet"},
    {BR_ERR_X509_DN_MISMATCH, "issuer and subject do not match"},
    {BR_ERR_X509_BAD_SERVER_NAME, "no such name in the certificate"},
    {BR_ERR_X509_CRITICAL_EXTENSION, "unknown critical extension"},
    {BR_ERR_X509_NOT_CA, "the issuer is not a CA"},
    {BR_ERR_X509_FORBIDDEN_KEY_USAGE, "key is not for this use"},
    {BR_ERR_X509_WEAK_PUBLIC_KEY, "key is too short"},
    {BR_ERR_X509_NOT_TRUSTED, "no trust anchor issued it"},
};

static bool openssl;

void detail_of_openssl(bool is) {
    openssl = is;
}

static const char *bearssl_text(int detail) {
    const int alert =
        detail - (detail >= BR_ERR_SEND_FATAL_ALERT ? BR_ERR_SEND_FATAL_ALERT
                                                    : BR_ERR_RECV_FATAL_ALERT);

    if (alert >= 0) {
        return SSL_alert_desc_string_long(alert);
    }
    for (size_t i = 0; i < sizeof bearssl / sizeof *bearssl; ++i) {
        if (bearssl[i].number == detail) {
            return bearssl[i].text;
        }
    }
    return detail > BR_ERR_X509_OK ? "malformed certificate" : "";
}

static const char *openssl_text(int error, int detail) {
    const char *text;

    if (error <= MST_ERR_TLS_ISSUER && error >= MST_ERR_TLS_CERTIFICATE) {
        return X509_verify_cert_error_string(detail);
    }
    text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, detail));
    return text ? text : "";
}

const char *detail_text(int error, int detail) {
    if (detail == 0 ||
        (error <= MST_ERR_PROXY_LOGIN && error >= MST_ERR_PROXY_TIMEOUT)) {
        return "";
    }
    if (error <= MST_ERR_TLS_ISSUER) {
        return openssl ? openssl_text(error, detail) : bearssl_text(detail);
    }
    if (error == MST_ERR_REFUSED || error == MST_ERR_RESET) {
        return ""; /* the error itself says so */
    }
    return detail < 0 ? gai_strerror(detail) : strerror(detail);
}
