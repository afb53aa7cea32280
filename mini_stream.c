/*
 * mini_stream: client for an order-routing exchange's streaming interface.
 *
 * SPDX-License-Identifier: 0BSD
 *
 * Twenty-three sections. Each calls only those above it, so the file has no
 * static prototype and its order is its architecture:
 *
 *    1. base (bytes, texts, UTF-8)           13. transport (TLS by BearSSL)
 *    2. decimal and time (exact numbers)     14. access (tokens, shared state)
 *    3. json (a scanner)                     15. link (states of a connection)
 *    4. object (small JSON objects)          16. link: exchanges (HTTP, tokens)
 *    5. message: contents (fields, events)   17. link: pump (calls of the port)
 *    6. message: fast lane (the usual form)  18. link: polling (deadlines)
 *    7. message: reading (all forms)         19. client: subscriptions
 *    8. addresses (requests, replies)        20. client: the stream (frames)
 *    9. book: sides (sorted levels)          21. client: calls (public ones)
 *   10. book: messages (snapshots, updates)  22. transfer (address requests)
 *   11. ws (WebSocket frames)                23. pair (two clients, one stream)
 *   12. http (requests, responses)
 */
#include "mini_stream.h"

#include <limits.h>
#include <string.h>

/* jsmn, private to this file. */
#ifdef JSMN_H
#error \
    "include jsmn.h after mini_stream.c: it must be built with the options below"
#endif
#define JSMN_STATIC
#define JSMN_PARENT_LINKS
#include "jsmn.h"

#if INT_MAX < INT32_MAX
#error "mini_stream needs an int of 32 bits"
#endif

/* One timer covers all resyncs of a market: hence the limit of 24 days. */
#if MST_JSON_DEPTH < 4 || MST_JSON_DEPTH > 32 || MST_TEXT_MAX < 47 ||        \
    MST_TEXT_MAX > 16383 || MST_LINE_MAX < 64 || MST_LINE_MAX > 32768 ||     \
    MST_PART_LEVELS < 2 || MST_PART_LEVELS > 65535 || MST_RESYNCS_MAX < 1 || \
    MST_RESYNC_EVERY_MS < 1 ||                                               \
    MST_RESYNC_EVERY_MS > 2073600000 / MST_RESYNCS_MAX ||                    \
    MST_DISAGREEMENTS < 1 || MST_DISAGREEMENTS > 255 ||                      \
    MST_DISAGREEMENT_MS < 0 || MST_DISAGREEMENT_MS > 2073600000 ||           \
    MST_SUBSCRIPTIONS_MAX < 1 || MST_SUBSCRIPTIONS_MAX > 65535 ||            \
    MST_MARKET_MAX < 1 || MST_MARKET_MAX > 16383 || MST_TOKEN_MAX < 1 ||     \
    MST_TOKEN_MAX > 1048576 || MST_HOST_MAX < 1 || MST_HOST_MAX > 65534 ||   \
    MST_PATH_MAX < 0 || MST_PATH_MAX > 65534 || MST_HEADERS_MAX < 1 ||       \
    MST_HEADERS_MAX > 1073741824 || MST_BODY_MAX < 1 ||                      \
    MST_BODY_MAX > 1073741824 || MST_ADDRESS_WORD_MAX < 1 ||                 \
    MST_ADDRESS_WORD_MAX > 8191 || MST_ADDRESS_TEXT_MAX < 1 ||               \
    MST_ADDRESS_TEXT_MAX > 16383
#error "a limit is out of its range: see mini_stream.h"
#endif

#ifdef MST_NO_TLS
#include <bearssl.h> /* only SHA-1 and SHA-256 */
#endif

/* ------------------------------------------------------------------------
 * 1 base
 *
 * What all sections need, and texts of public enums. The idea: a text larger
 * than its buffer is generated several times; each time another window is kept.
 * ------------------------------------------------------------------------ */

/* HOT and WARM functions run for each number or level, COLD ones seldom. A
 * build for speed inlines only the former. It sets WORDS if eight bytes of a
 * text can be read as one number whose lowest byte comes first. */
#if defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#define HOT static inline __attribute__((always_inline))
#define WARM HOT
#define COLD static __attribute__((noinline))
#if UINTPTR_MAX > UINT32_MAX && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && \
    !defined WORDS
#define WORDS 1
#endif
#else
#define HOT static inline
#define WARM APART
#define COLD static
#undef WORDS
#endif
#ifndef WORDS
#define WORDS 0
#endif

/* Never inlined, because calls take fewer bytes than compilers expect. */
#ifdef __GNUC__
#define APART static __attribute__((noinline))
#else
#define APART static
#endif

/* A condition that no input can make true, checked all the same: tests trap if
 * it is true. Measuring coverage leaves out the code that it guards. */
#ifdef MST_COVERAGE
#define NEVER(condition) false
#elif defined MST_TEST
#define NEVER(condition) ((condition) ? (__builtin_trap(), true) : false)
#else
#define NEVER(condition) (condition)
#endif

#define BIT(n) (1u << (n))
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define WORD_OF(byte) (UINT64_C(0x0101010101010101) * (byte))

HOT uint64_t word_load(const void *from) {
    uint64_t word;

    memcpy(&word, from, sizeof word);
    return word;
}

#if WORDS
/* The index of the first byte that is not 0, in a word that is not 0. */
HOT unsigned word_first(uint64_t word) {
    return (unsigned)__builtin_ctzll(word) / 8;
}

/* 0 if no byte is 0; else the lowest bit set is in the first byte that is 0. */
HOT uint64_t word_zeros(uint64_t word) {
    return (word - WORD_OF(1)) & ~word & WORD_OF(0x80);
}
#endif

HOT uint32_t mem_word(const char *from) {
    uint32_t word;

    memcpy(&word, from, sizeof word);
    return word;
}

/* True if the bytes are equal. Compilers compare 16 bytes without a call. */
HOT bool mem_equal(const char *a, const char *b, size_t len) {
#if WORDS
    for (; len > 16 && memcmp(a, b, 16) == 0; len -= 16) {
        a += 16;
        b += 16;
    }
    return memcmp(a, b, len) == 0;
#else
    for (; len >= 4 && mem_word(a) == mem_word(b); len -= 4) {
        a += 4;
        b += 4;
    }
    for (; len > 0 && *a == *b; len--) {
        a++;
        b++;
    }
    return len == 0;
#endif
}

/* A text that is being written. len counts all its bytes; data gets a window of
 * it, which is up to cap bytes after the first skip bytes. */
struct out {
    uint8_t *data;
    size_t cap, skip, len;
};

COLD void out_bytes(struct out *o, const void *data, size_t len) {
    size_t at = o->len, last = o->skip + o->cap;
    size_t begin = at > o->skip ? at : o->skip;
    size_t end = at + len < last ? at + len : last;

    o->len = at + len;
    if (begin < end && data != NULL) {
        memcpy(o->data + (begin - o->skip),
               (const uint8_t *)data + (begin - at), end - begin);
    } else if (begin < end) { /* hides a secret in the trace */
        memset(o->data + (begin - o->skip), '*', end - begin);
    }
}

static void out_text(struct out *o, const char *text) {
    out_bytes(o, text, strlen(text));
}

static void out_byte(struct out *o, char c) {
    out_bytes(o, &c, 1);
}

static void out_number(struct out *o, size_t n) {
    char text[20];
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    out_bytes(o, text + at, sizeof text - at);
}

/* How many bytes are in data. */
static size_t out_stored(const struct out *o) {
    size_t n = o->len > o->skip ? o->len - o->skip : 0;

    return n < o->cap ? n : o->cap;
}

/* Erases a secret; the volatile pointer keeps compilers from omitting that. */
static void mem_wipe(void *data, size_t len) {
    void *(*volatile set)(void *, int, size_t) = memset;

    set(data, 0, len);
}

static const char text_hex[] = "0123456789ABCDEF";

static bool text_is(const char *text, size_t len, const char *word) {
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* Returns word n of a list of words, or "" if there are fewer. A list is one
 * text: a NUL ends each word, an empty word the list. It has no pointers, so
 * that a linker can drop it if nothing uses it. */
static const char *text_nth(const char *words, unsigned n) {
    for (; n > 0 && *words != '\0'; n--) {
        words += strlen(words) + 1;
    }
    return words;
}

/* Returns the index of a text in a list, or the number of words if missing. */
static uint8_t text_lookup(const char *words, const char *text, size_t len) {
    uint8_t i = 0;

    while (*words != '\0' && !text_is(text, len, words)) {
        words += strlen(words) + 1;
        i++;
    }
    return i;
}

static char text_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool text_is_nocase(const char *text, size_t len, const char *word) {
    bool same = len == strlen(word);

    while (same && len-- > 0) {
        same = text_lower(text[len]) == text_lower(word[len]);
    }
    return same;
}

static bool text_is_control(char c) {
    return (uint8_t)c < 0x20 || c == 0x7F;
}

/* Copies a text, cut to cap - 1 bytes between two characters, and adds a NUL.
 * Control characters become spaces, because the text may end up in a log. */
static void text_copy(char *to, size_t cap, const char *from, size_t len) {
    size_t n = len < cap - 1 ? len : cap - 1;

    while (n < len && n > 0 && ((uint8_t)from[n] & 0xC0u) == 0x80u) {
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = text_is_control(from[i]) ? ' ' : from[i];
    }
    to[n] = '\0';
}

/* True if a header's value or a request line may contain this text. */
static bool text_is_field(const char *text) {
    while (!text_is_control(*text)) {
        text++;
    }
    return *text == '\0';
}

#ifndef __OPTIMIZE_SIZE__
/* True if there are eight bytes or more and all are ASCII. */
static bool utf8_is_ascii(const uint8_t *p, size_t len) {
    uint64_t seen = 0;
    size_t at = 0;

    for (; len - at >= 32; at += 32) {
        seen |= word_load(p + at) | word_load(p + at + 8) |
                word_load(p + at + 16) | word_load(p + at + 24);
    }
    for (; len - at >= 8; at += 8) {
        seen |= word_load(p + at);
    }
    return len >= 8 && ((seen | word_load(p + len - 8)) & WORD_OF(0x80)) == 0;
}
#endif

/* Returns how many bytes follow a character's first byte, and the bounds of the
 * next: they exclude overlong forms, surrogates and more than U+10FFFF. */
static inline uint32_t utf8_begin(uint8_t c, uint32_t *low, uint32_t *high) {
    uint32_t follow = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;

    *low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return follow;
}

/* Checks UTF-8 (RFC 3629) piece by piece. *state is 0 before the first piece
 * and between two characters; inside a character it holds how many bytes are
 * missing and the bounds of the next one. Returns how many bytes are valid. */
static size_t utf8_check(uint32_t *state, const uint8_t *p, size_t len) {
    uint32_t need = *state % 256, low = *state / 256 % 256;
    uint32_t high = *state / 65536;
    size_t at = 0;

#ifndef __OPTIMIZE_SIZE__
    if (need == 0 && utf8_is_ascii(p, len)) {
        return len;
    }
#endif
    for (; at < len; at++) {
        uint8_t c = p[at];
        if (need != 0) {
            if (c < low || c > high) {
                break;
            }
            need--;
            low = 0x80;
            high = 0xBF;
        } else if (c < 0x80) {
            while (len - at > 8 &&
                   (word_load(p + at + 1) & WORD_OF(0x80)) == 0) {
                at += 8;
            }
        } else if (c >= 0xC2 && c <= 0xF4) {
            need = utf8_begin(c, &low, &high);
        } else {
            break;
        }
    }
    *state = need == 0 ? 0 : need + low * 256 + high * 65536;
    return at;
}

static bool utf8_is(const char *text, size_t len) {
    uint32_t state = 0;

    return utf8_check(&state, (const uint8_t *)text, len) == len && state == 0;
}

/* Writes base64 (RFC 4648, section 4) and a NUL. */
static void base64_write(char *to, const uint8_t *from, size_t len) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
                                 "rstuvwxyz0123456789+/";

    for (size_t bit = 0; bit < (len + 2) / 3 * 24; bit += 6) {
        size_t at = bit / 8;
        unsigned pair = at < len ? from[at] * 256u : 0;
        pair |= at + 1 < len ? from[at + 1] : 0;
        *to++ = at < len ? digits[pair >> (10 - bit % 8) & 63u] : '=';
    }
    *to = '\0';
}

static const char text_errors[] =
    /* In the order of enum mst_error; an empty text ends each hundred. */
    "no error\0"
    "argument is missing, too long or not UTF-8\0"
    "client was built with other limits\0"
    "memory is too small\0"
    "not a usable URL\0"
    "ws and http are not allowed\0"
    "client id or secret is missing\0"
    "no trust anchors\0"
    "an IP address as host under TLS\0"
    "control character in a header value\0"
    "no room for one more subscription\0"
    "subscribed already\0"
    "no such subscription\0"
    "client is closed\0"
    "another request is under way\0"
    "number is not exact in this unit\0"
    "book shows no level\0"
    "beyond what the book knows\0"
    "address request breaks a rule\0"
    "book is in use by another subscription\0\0"
    "clock is not set\0"
    "no entropy\0"
    "host name cannot be resolved\0"
    "connection refused\0"
    "host is unreachable\0"
    "connection reset\0"
    "connection closed by the peer\0"
    "error of the port\0"
    "proxy wants other credentials\0"
    "proxy refuses\0"
    "proxy cannot reach the host\0"
    "proxy opens no tunnel\0"
    "proxy does not answer\0\0"
    "certificate's issuer is not trusted\0"
    "certificate is for another name\0"
    "certificate is not valid at this time\0"
    "certificate is malformed or not acceptable\0"
    "server refuses TLS 1.2\0"
    "TLS handshake failed\0"
    "fatal TLS alert\0"
    "TLS protocol error\0"
    "TLS ended without close_notify\0\0"
    "malformed HTTP response\0"
    "malformed or conflicting HTTP lengths\0"
    "HTTP coding that was not asked for\0"
    "HTTP header is too large\0"
    "HTTP body is too large\0"
    "HTTP response ended early\0"
    "unexpected HTTP status\0\0"
    "token was refused\0"
    "reply is not a token response\0"
    "token is not a bearer token\0"
    "token has a narrower scope\0"
    "token response is too large\0"
    "token is not accepted\0"
    "scope missing or not on the allow list\0"
    "too many requests\0\0"
    "not upgraded to WebSocket\0"
    "wrong Sec-WebSocket-Accept\0"
    "WebSocket extension not asked for\0"
    "reserved WebSocket bit or opcode\0"
    "masked frame from the server\0"
    "malformed WebSocket frame length\0"
    "malformed WebSocket control frame\0"
    "WebSocket fragment out of order\0"
    "WebSocket text is not UTF-8\0"
    "malformed WebSocket close frame\0"
    "closed by the service\0\0"
    "not JSON\0"
    "JSON is nested too deeply\0"
    "field is missing or of a wrong type\0"
    "key stands twice\0"
    "item does not fit the message buffer\0"
    "levels before what they belong to\0"
    "binary message\0"
    "not a decimal number, or negative\0"
    "number has too many digits\0"
    "not a timestamp\0\0"
    "took too long\0"
    "nothing came for too long\0"
    "frame came too slowly\0"
    "request was not answered in time\0"
    "error message of the service\0"
    "no heartbeats come\0"
    "the stream has fallen behind\0"
    "no snapshot came in time\0"
    "answer has no result for a channel\0"
    "too many unreadable messages\0\0";

const char *mst_strerror(int error) {
    uint32_t n = 0 - (uint32_t)error;
    const char *text = text_errors;

    for (; n >= 100 && *text != '\0'; n -= 100) {
        text = text_nth(text, 100) + 1;
    }
    text = text_nth(text, n);
    return *text != '\0' ? text : "unknown error";
}

bool mst_error_is_permanent(int error) {
    return error == MST_ERR_FORBIDDEN || error == MST_ERR_TOKEN_SCOPE ||
           error == MST_ERR_TOKEN_TYPE || error == MST_ERR_TOKEN_TOO_LARGE ||
           error == MST_ERR_PROXY_LOGIN ||
           (error <= MST_ERR_TLS_ISSUER && error >= MST_ERR_TLS_VERSION);
}

const char *mst_state_name(enum mst_state state) {
    static const char words[] =
        "off\0wait\0resolve\0connect\0tls\0token\0upgrade\0put\0"
        "idle\0open\0closing\0";

    return text_nth(words, (unsigned)state);
}

/* ------------------------------------------------------------------------
 * 2 decimal and time
 *
 * Text to exact numbers and times (nanoseconds since 1970), and back. A decimal
 * is coefficient times 10^exponent, without trailing zeros: one form for each
 * number. Most input is numbers: a build for speed reads eight digits at once.
 * ------------------------------------------------------------------------ */

#define DECIMAL_DIGITS 18
#define DECIMAL_LIMIT UINT64_C(1000000000000000000) /* beyond 18 digits */
#define DECIMAL_PARTS 16 /* bytes that decimal_parts() may read */
#define TIME_LEN_MIN 20
static const uint32_t decimal_powers[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

static bool decimal_is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Appends the digits from at on to *value; returns where they end. */
static inline const char *decimal_run(const char *at, const char *end,
                                      uint64_t *value) {
    for (; at < end && decimal_is_digit(*at); at++) {
        *value = *value * 10 + (uint8_t)(*at - '0');
    }
    return at;
}

/* Reads a text of digits only, else returns false; UINT32_MAX at most. */
static bool decimal_count(const char *text, size_t len, uint32_t *out) {
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++) {
        if (!decimal_is_digit(text[i])) {
            return false;
        }
        value = value * 10 + (uint8_t)(text[i] - '0');
        value = value < UINT32_MAX ? value : UINT32_MAX;
    }
    *out = (uint32_t)value;
    return len > 0;
}

/* The layout of a number's first eight bytes. Numbers of one kind often share
 * it in a message; then reading need not first find out where a number ends. */
struct decimal_shape {
    uint64_t mark;         /* mask of the first byte that is no digit */
    uint64_t form;         /* high bits of all such bytes; value of the first */
    uint64_t whole;        /* mask of the bytes before the point, or of all */
    uint8_t shift;         /* bits that move the last digit to the last byte */
    uint8_t len, fraction; /* all bytes, digits after the point */
    uint16_t odd;          /* counts numbers of another shape */
};

#if WORDS
/* The high bit of each byte that is no digit. The word is XORed with '0's. */
HOT uint64_t decimal_others(uint64_t word) {
    return ((word + WORD_OF(0x76)) | word) & WORD_OF(0x80);
}

/* The value of eight digits, one in each byte, the first in the lowest. */
HOT uint64_t decimal_digits(uint64_t digits) {
    digits = digits * (1 + (10 << 8)) >> 8 & UINT64_C(0x00FF00FF00FF00FF);
    digits = digits * (1 + (100 << 16)) >> 16 & UINT64_C(0x0000FFFF0000FFFF);
    return digits * (1 + (UINT64_C(10000) << 32)) >> 32;
}

/* Finds a number's shape, or false. others, of decimal_others(), is not 0. */
static inline bool decimal_shape(struct decimal_shape *shape, uint64_t word,
                                 uint64_t others) {
    uint64_t first = (others & (0 - others)) >> 7;
    uint64_t rest = others & (others - 1);
    unsigned len = word_first(others), end = rest != 0 ? word_first(rest) : 8;
    bool point = (word & first * 0xFF) == first * ('.' ^ '0');

    if (len == 0 || (point && end == len + 1)) {
        return false;
    }
    shape->mark = first * 0xFF;
    shape->form = others ^ (word & shape->mark);
    shape->whole = point ? first - 1 : UINT64_MAX;
    shape->shift = (uint8_t)(8 * (point ? 9 - end : 8 - len));
    shape->fraction = (uint8_t)(point ? end - len - 1 : 0);
    shape->len = (uint8_t)(point ? end : len);
    return true;
}

/* Reads a number of up to seven digits before and eight after the point. It has
 * no branch that depends on how many there are, since processors mispredict it
 * if that varies. The fraction is loaded even without a point: a quote is in
 * its place then, and no digit after that. Returns where it stopped, or NULL if
 * decimal_read() must decide. */
HOT const char *decimal_parts(const char *at, int64_t *coefficient,
                              int8_t *exponent) {
    const uint64_t word = word_load(at) ^ WORD_OF('0');
    const uint64_t others = decimal_others(word), single = others & 0x8000;
    uint64_t point, whole, fraction, stops;
    unsigned bits, used;

    if (others == 0) {
        return NULL;
    }
    bits = (unsigned)__builtin_ctzll(others) & ~7u;
    point = (word >> bits & 0xFF) == ('.' ^ '0');
    whole = word << ((64 - bits) & 63);
    at += bits / 8;
    fraction = word_load(at + 1) ^ WORD_OF('0');
    /* The lowest bit of each byte that is no digit, and bit 63 as the last. */
    stops = decimal_others(fraction) >> 7;
    at +=
        point + ((unsigned)__builtin_ctzll(stops | UINT64_C(1) << 63) + 1) / 8;
    fraction &= (stops - 1) & ~stops;
    if (bits == 0 || (single | (word & 0xFF)) == 0 || (stops & point) != 0) {
        return NULL; /* no number */
    }
    if ((fraction | whole >> 56 | single) == 0) {
        used = (unsigned)__builtin_clzll(whole) & ~7u;
        *coefficient = (int64_t)decimal_digits(whole << used);
        *exponent = (int8_t)(used / 8);
        return at;
    }
    /* The bits of the fraction without the zeros at its end. */
    used = (67 - (unsigned)__builtin_clzll(fraction << 4 | 1)) & ~7u;
    *coefficient = (int64_t)(decimal_digits(whole) * decimal_powers[used / 8] +
                             decimal_digits(fraction << ((0 - used) & 63)));
    *exponent = (int8_t)(0 - (int)(used / 8));
    return at;
}
#endif

/* Reads a number without a sign, up to its end or 'e'. Returns the end, or NULL
 * if this is no number. *exponent is apart, as it may not fit into *out. */
COLD const char *decimal_read(const char *begin, const char *end,
                              struct mst_decimal *out, int32_t *exponent) {
    uint64_t value = 0;
    const char *point = decimal_run(begin, end, &value), *at = point, *last;

    if (at == begin || (*begin == '0' && at > begin + 1)) {
        return NULL;
    }
    if (at < end && *at == '.') {
        at = decimal_run(point + 1, end, &value);
        if (at == point + 1) {
            return NULL;
        }
    }
    last = at;
    out->inexact = false;
    if (at - begin > DECIMAL_DIGITS) { /* perhaps too many digits */
        value = 0;
        for (const char *c = begin; c < at; c++) {
            if (value >= DECIMAL_LIMIT / 10) {
                out->inexact |= *c > '0'; /* '.' is less than '0' */
            } else if (*c != '.') {
                value = value * 10 + (uint8_t)(*c - '0');
                last = c + 1;
            }
        }
    }
    for (; last > begin && last[-1] <= '0'; last--) {
        value = last[-1] == '0' ? value / 10 : value;
    }
    *exponent = value == 0 ? 0 : (int32_t)(point - last) + (last > point);
    out->coefficient = (int64_t)value;
    return at;
}

/* Reads a number that is exact; returns its end, or NULL. at may be NULL. */
COLD const char *decimal_pass(const char *at, const char *end,
                              int64_t *coefficient, int8_t *exponent) {
    struct mst_decimal number;
    int32_t power;

#if WORDS
    if (at != NULL && end - at >= DECIMAL_PARTS) {
        const char *next = decimal_parts(at, coefficient, exponent);
        if (next != NULL && next < end && !decimal_is_digit(*next)) {
            return next;
        }
    }
#endif
    at = at != NULL ? decimal_read(at, end, &number, &power) : NULL;
    if (at == NULL || number.inexact || power < -64 || power > 63) {
        return NULL;
    }
    *coefficient = number.coefficient;
    *exponent = (int8_t)power;
    return at;
}

#if WORDS
/* As decimal_pass(), but faster for this shape; needs nine bytes or more. */
HOT const char *decimal_word(const char *at, const char *end,
                             struct decimal_shape *shape, int64_t *coefficient,
                             int8_t *exponent) {
    uint64_t word = word_load(at) ^ WORD_OF('0');
    uint64_t others = decimal_others(word), digits;
    unsigned zeros;
    bool known;

    if ((word & 0xFFFF) == (('"' ^ '0') << 8)) {
        *coefficient = *exponent = 0; /* "0": a removed level */
        return at + 1;
    }
    known = (others ^ (word & shape->mark)) == shape->form ||
            (shape->len == 0 && decimal_shape(shape, word, others));
    digits = ((word & shape->whole) | (word >> 8 & ~shape->whole))
             << shape->shift;
    if (!known || digits == 0 || ((others & 0x8000) | (word & 0xFF)) == 0 ||
        decimal_is_digit(at[shape->len])) {
        shape->odd++;
        return decimal_pass(at, end, coefficient, exponent);
    }
    zeros = (unsigned)__builtin_clzll(digits) / 8;
    *coefficient = (int64_t)decimal_digits(digits << 8 * zeros);
    *exponent = (int8_t)((int)zeros - shape->fraction);
    return at + shape->len;
}
#endif

/* Adds the number after an 'e', the rest of the text, to *exponent, or returns
 * false. Ten million is added at most: no number of digits can offset it. */
static bool decimal_exponent(const char *at, const char *end,
                             int32_t *exponent) {
    const bool negative = at < end && *at == '-';
    uint32_t value = 0;

    at += negative || (at < end && *at == '+');
    if (!decimal_count(at, (size_t)(end - at), &value)) {
        return false;
    }
    value = value < 10000000 ? value : 10000000;
    *exponent += negative ? -(int32_t)value : (int32_t)value;
    return true;
}

/* The whole part of a JSON number, at most max; 0 if it is negative. */
static uint32_t decimal_whole(const char *number, uint32_t max) {
    const size_t mantissa = strcspn(number, "eE");
    int32_t digits = (int32_t)strspn(number, "0123456789");
    uint32_t whole = 0;

    if (*number != '-' && number[mantissa] != '\0') {
        const char *at = number + mantissa + 1, *end = at + strlen(at);
        (void)decimal_exponent(at, end, &digits);
    }
    for (size_t i = 0; digits > 0 && whole < max && (whole > 0 || i < mantissa);
         i++) {
        char c = i < mantissa ? number[i] : '0';
        if (c != '.') {
            whole = whole * 10 + (uint32_t)(c - '0');
            digits--;
        }
    }
    return whole < max ? whole : max;
}

int mst_decimal_parse(const char *text, size_t len, struct mst_decimal *out) {
    const char *at, *end = text + len;
    bool negative = len > 0 && *text == '-';
    int32_t exponent;

    if (len > 1000000) {
        return MST_ERR_DECIMAL_WIDE;
    }
    at = decimal_read(text + negative, end, out, &exponent);
    if (at != NULL && at < end && (*at | 0x20) == 'e' &&
        decimal_exponent(at + 1, end, &exponent)) {
        at = end;
    }
    if (at == NULL || at != end) {
        return MST_ERR_DECIMAL;
    }
    if (negative) { /* cannot overflow, whatever the digits are */
        out->coefficient = (int64_t)(0 - (uint64_t)out->coefficient);
    }
    exponent = out->coefficient == 0 ? 0 : exponent;
    out->exponent = (int8_t)exponent;
    return exponent < -64 || exponent > 63 ? MST_ERR_DECIMAL_WIDE : 0;
}

static int decimal_len(uint64_t n) {
    int len = 1;

    for (uint64_t power = 10; len < 19 && n >= power; power *= 10) {
        len++;
    }
    return len;
}

static uint64_t decimal_magnitude(int64_t coefficient) {
    return coefficient < 0 ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
}

/* A result before it is brought to its normal form. */
struct decimal_wide {
    uint64_t n;
    int exponent;
    bool negative, inexact;
};

/* Adds. The sign and the first 18 digits are right: the number with the larger
 * exponent grows to 19 digits at most, then the other loses some at its end. */
static void decimal_sum(const struct mst_decimal *a,
                        const struct mst_decimal *b, struct decimal_wide *sum) {
    const struct mst_decimal *high = a->exponent < b->exponent ? b : a;
    const struct mst_decimal *low = high == a ? b : a;
    uint64_t p = decimal_magnitude(high->coefficient);
    uint64_t q = decimal_magnitude(low->coefficient);
    int shift = high->exponent - low->exponent;
    bool rest = false;

    for (; shift > 0 && p < DECIMAL_LIMIT; shift--) {
        p *= 10;
    }
    sum->exponent = low->exponent + shift;
    for (; shift > 0 && q != 0; shift--) {
        rest |= q % 10 != 0;
        q /= 10;
    }
    sum->inexact = a->inexact || b->inexact || rest;
    sum->negative = high->coefficient < 0;
    if (sum->negative == (low->coefficient < 0)) {
        sum->n = p + q;
    } else if (p >= q) {
        sum->n = p - q - rest; /* towards zero, as everywhere */
    } else {
        sum->n = q - p;
        sum->negative = !sum->negative;
    }
}

/* The normal form: at most 18 digits and no trailing zeros. */
static struct mst_decimal decimal_normal(const struct decimal_wide *wide) {
    struct mst_decimal out = {0, 0, wide->inexact};
    uint64_t n = wide->n;
    int exponent = wide->exponent;

    for (; n != 0; exponent++) {
        bool digit = n % 10 != 0;
        if (digit && exponent >= -64 && n < DECIMAL_LIMIT) {
            break;
        }
        out.inexact |= digit;
        n /= 10;
    }
    exponent = n != 0 ? exponent : 0;
    if (exponent > 63) {
        n = DECIMAL_LIMIT - 1;
        exponent = 63;
        out.inexact = true;
    }
    out.coefficient = wide->negative ? -(int64_t)n : (int64_t)n;
    out.exponent = (int8_t)exponent;
    return out;
}

/* The negative. INT64_MIN has none: INT64_MAX has the same first 18 digits. */
static int64_t decimal_minus(int64_t coefficient) {
    return coefficient == INT64_MIN ? INT64_MAX : -coefficient;
}

int mst_decimal_cmp(struct mst_decimal a, struct mst_decimal b) {
    struct decimal_wide difference;

    if (a.exponent == b.exponent ||
        (a.coefficient < 0) != (b.coefficient < 0)) {
        return a.coefficient < b.coefficient ? -1
                                             : a.coefficient > b.coefficient;
    }
    b.coefficient = decimal_minus(b.coefficient);
    decimal_sum(&a, &b, &difference);
    return difference.n == 0 ? 0 : difference.negative ? -1 : 1;
}

struct mst_decimal mst_decimal_add(struct mst_decimal a, struct mst_decimal b) {
    struct decimal_wide sum;

    decimal_sum(&a, &b, &sum);
    return decimal_normal(&sum);
}

struct mst_decimal mst_decimal_sub(struct mst_decimal a, struct mst_decimal b) {
    b.coefficient = decimal_minus(b.coefficient);
    return mst_decimal_add(a, b);
}

/* Half of a decimal, which may take one digit more. */
static struct mst_decimal decimal_half(struct mst_decimal value) {
    struct decimal_wide half = {decimal_magnitude(value.coefficient) * 5,
                                value.exponent - 1, value.coefficient < 0,
                                value.inexact};

    return decimal_normal(&half);
}

int mst_decimal_to_scaled(struct mst_decimal value, int exponent,
                          int64_t *out) {
    int64_t shift = (int64_t)value.exponent - exponent;
    bool negative = value.coefficient < 0;
    uint64_t n = decimal_magnitude(value.coefficient);

    *out = 0;
    if (value.inexact) {
        return MST_ERR_INEXACT;
    }
    for (; n != 0 && shift < 0; shift++) {
        if (n % 10 != 0) {
            return MST_ERR_INEXACT;
        }
        n /= 10;
    }
    for (; n != 0 && shift > 0; shift--) {
        if (n > ((uint64_t)INT64_MAX + negative) / 10) {
            return MST_ERR_DECIMAL_WIDE;
        }
        n *= 10;
    }
    *out = negative ? -(int64_t)(n - 1) - 1 : (int64_t)n;
    return 0;
}

/* Writes the last digits of n, with leading zeros and without a NUL. */
static void decimal_write(char *text, int digits, uint64_t n) {
    for (; digits-- > 0; n /= 10) {
        text[digits] = (char)('0' + n % 10);
    }
}

size_t mst_decimal_format(struct mst_decimal value, char *text) {
    uint64_t n = decimal_magnitude(value.coefficient);
    char digits[19];
    int len = decimal_len(n), point = n == 0 ? 1 : len + value.exponent;
    int end = len > point ? len : point, at = 0;

    decimal_write(digits, len, n);
    if (value.coefficient < 0) {
        text[at++] = '-';
    }
    /* Only a decimal that no function here returns can be too long for text. */
    for (int i = point > 0 ? 0 : point - 1;
         i < end && at < MST_DECIMAL_TEXT_LEN - 2; i++) {
        if (i == point) {
            text[at++] = '.';
        }
        text[at++] = i >= 0 && i < len ? digits[i] : '0';
    }
    text[at] = '\0';
    return (size_t)at;
}

/* The number that two digits make, or 10000 if they are none. */
static int32_t time_pair(const char *text) {
    uint8_t tens = (uint8_t)(text[0] - '0'), ones = (uint8_t)(text[1] - '0');

    return tens <= 9 && ones <= 9 ? tens * 10 + ones : 10000;
}

/* Days from 1970-01-01 to a Gregorian date. Years begin in March, so that the
 * leap day is the last. Month 13 is January of the next year. */
static int32_t time_days(int32_t year, int32_t month, int32_t day) {
    int32_t y = month > 2 ? year : year - 1;
    int32_t m = month > 2 ? month - 3 : month + 9;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day -
           719469;
}

/* Reads a time up to its minute, as "2026-01-02T03:04:"; false if malformed. */
static bool time_minute(const char *text, int64_t *seconds) {
    int32_t year = time_pair(text) * 100 + time_pair(text + 2);
    int32_t month = time_pair(text + 5), day = time_pair(text + 8);
    int32_t hour = time_pair(text + 11), minute = time_pair(text + 14), days;

    if (text[4] != '-' || text[7] != '-' || (text[10] | 0x20) != 't' ||
        text[13] != ':' || text[16] != ':' || year < 1970 || year > 2261 ||
        month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59) {
        return false;
    }
    days = time_days(year, month, day);
    if (days >= time_days(year, month + 1, 1)) {
        return false;
    }
    *seconds = (int64_t)days * 86400 + hour * 3600 + minute * 60;
    return true;
}

/* Reads a zone, 'Z' or such as "+01:30" (east). Returns its end, or NULL. */
static const char *time_zone(const char *at, const char *end,
                             int32_t *offset_s) {
    int32_t hours, minutes;

    *offset_s = 0;
    if (at < end && (*at | 0x20) == 'z') {
        return at + 1;
    }
    if (end - at < 6 || (*at != '+' && *at != '-') || at[3] != ':') {
        return NULL;
    }
    hours = time_pair(at + 1);
    minutes = time_pair(at + 4);
    *offset_s = (hours * 60 + minutes) * (*at == '-' ? -60 : 60);
    return hours > 23 || minutes > 59 ? NULL : at + 6;
}

/* Reads the rest of a time that has TIME_LEN_MIN bytes or more; its minute is
 * known, in seconds since 1970. Returns its end, or NULL. */
static const char *time_rest(const char *text, const char *end, int64_t seconds,
                             int64_t *ns) {
    const char *at = text + MST_MINUTE_LEN + 2;
    int32_t second = time_pair(at - 2), nanos = 0, unit = 100000000, offset_s;

    if (second > 60 || (second == 60 && time_pair(text + 14) != 59)) {
        return NULL;
    }
    if (*at == '.') {
        for (at++; at < end && decimal_is_digit(*at); at++) {
            nanos += (*at - '0') * unit;
            unit /= 10; /* 0 after the ninth digit */
        }
    }
    at = at[-1] != '.' ? time_zone(at, end, &offset_s) : NULL;
    if (at == NULL) {
        return NULL;
    }
    second -= offset_s;
    *ns = (seconds + second) * 1000000000 + nanos;
    return seconds + second < 0 ? NULL : at;
}

int mst_time_parse(const char *text, size_t len, int64_t *ns) {
    int64_t seconds, value;

    if (len < TIME_LEN_MIN || !time_minute(text, &seconds) ||
        time_rest(text, text + len, seconds, &value) != text + len) {
        return MST_ERR_TIME;
    }
    *ns = value;
    return 0;
}

/* Writes a part of a time and the character that comes after it. */
static void time_part(char *text, int digits, int32_t n, char behind) {
    decimal_write(text, digits, (uint64_t)n);
    text[digits] = behind;
}

size_t mst_time_format(int64_t ns, char *text) {
    int64_t seconds = ns / 1000000000;
    int32_t days = (int32_t)(seconds / 86400);
    int32_t rest = (int32_t)(seconds % 86400);
    int32_t year = 1970 + days / 366, month = 1;

    while (time_days(year + 1, 1, 1) <= days) {
        year++;
    }
    while (time_days(year, month + 1, 1) <= days) {
        month++;
    }
    time_part(text, 4, year, '-');
    time_part(text + 5, 2, month, '-');
    time_part(text + 8, 2, days - time_days(year, month, 0), 'T');
    time_part(text + 11, 2, rest / 3600, ':');
    time_part(text + 14, 2, rest / 60 % 60, ':');
    time_part(text + 17, 2, rest % 60, '.');
    time_part(text + 20, 9, (int32_t)(ns % 1000000000), 'Z');
    text[MST_TIME_TEXT_LEN - 1] = '\0';
    return MST_TIME_TEXT_LEN - 1;
}

/* ------------------------------------------------------------------------
 * 3 json
 *
 * A scanner that checks every byte against RFC 8259 and stops where its caller
 * must decide (enum json_stop). Its state is small and complete, so input may
 * be cut between any two bytes.
 *
 *   state          input                 next state
 *   AT_VALUE       '{' or '['            AT_KEY_OR_CLOSE or AT_VALUE_OR_CLOSE
 *                  '"', letter, number   IN_STRING, IN_LITERAL, NUMBER_...
 *   AT_KEY         '"'                   IN_KEY, then AT_COLON
 *   AT_COLON       ':'                   AT_VALUE
 *   AT_COMMA       ','                   AT_KEY in an object, else AT_VALUE
 *                  '}' or ']'            as at a value's end
 *   ..._OR_CLOSE   '}' or ']'            as at a value's end
 *                  other input           as without _OR_CLOSE
 *   a value's end                        AT_COMMA, or AT_END after the root
 * ------------------------------------------------------------------------ */

enum json_state {
    /* White space is allowed in these states. */
    JSON_AT_VALUE,
    JSON_AT_VALUE_OR_CLOSE, /* after '[' */
    JSON_AT_KEY,            /* after ',' in an object */
    JSON_AT_KEY_OR_CLOSE,   /* after '{' */
    JSON_AT_COLON,
    JSON_AT_COMMA, /* after a value */
    JSON_AT_END,   /* after the root value */
    JSON_IN_KEY,
    JSON_IN_STRING,
    JSON_IN_LITERAL,
    JSON_NUMBER_MINUS,
    JSON_NUMBER_POINT,
    JSON_NUMBER_E,
    JSON_NUMBER_SIGN,
    /* A number may end here. */
    JSON_NUMBER_ZERO,
    JSON_NUMBER_INTEGER,
    JSON_NUMBER_FRACTION,
    JSON_NUMBER_EXPONENT
};

enum json_mode { JSON_STEP, JSON_TAKE, JSON_SKIP };
/* Why the scanner stopped. A negative number is an mst_error. */
enum json_stop {
    JSON_MORE,  /* the input is used up */
    JSON_VALUE, /* before the first byte of a value: enter, take or skip it */
    JSON_ITEM,  /* after the last byte of a value that was taken */
    JSON_CLOSE  /* after an object or array that was entered */
};
/* key_len of a key that no field has: too long, or an escape beyond ASCII. */
#define JSON_KEY_OTHER (MST_KEY_MAX + 1)
/* Room for a known key and zeros; they are compared four bytes at a time. */
#define JSON_KEY_WORDS 12
static const char json_literals[] = "true\0false\0null";

/* Makes the scanner take or skip the next value as a whole. */
static int json_take(struct mst_json *j, enum json_mode mode) {
    j->mode = (uint8_t)mode;
    j->take_depth = j->depth;
    return JSON_MORE;
}

static bool json_is_space(uint8_t c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* What the letter of an escape stands for, or -1; digits shift out the 'u'. */
static int json_escaped(uint8_t c) {
    static const char letters[] = "\"\\/bfnrtu", meant[] = "\"\\/\b\f\n\r\tu";
    const char *letter = memchr(letters, c, sizeof letters - 1);

    return letter != NULL ? meant[letter - letters] : -1;
}

static int json_hex(uint8_t c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A value has ended. Returns JSON_ITEM if it was taken. */
static int json_value_end(struct mst_json *j) {
    j->state = j->depth == 0 ? JSON_AT_END : JSON_AT_COMMA;
    if (j->mode != JSON_STEP && j->depth == j->take_depth) {
        int stop = j->mode == JSON_TAKE ? JSON_ITEM : JSON_MORE;
        j->mode = JSON_STEP;
        return stop;
    }
    return JSON_MORE;
}

/* Appends the character of an escape to the key. */
static void json_key_add(struct mst_json *j) {
    if (j->code == 0 || j->code > 0x7F) {
        j->key_len = JSON_KEY_OTHER;
    } else if (j->key_len < JSON_KEY_OTHER) {
        j->key[j->key_len++] = (char)j->code;
    }
}

/* Reads a byte of an escape. j->escape counts down: 5 after the backslash, 4 to
 * 1 for hexadecimal digits, 0 at the end, when j->code is the character. After
 * the first half of a surrogate pair it is 6: a second half must follow. */
static int json_escape(struct mst_json *j, uint8_t c) {
    int value = json_hex(c); /* in the end -1 if this byte may not be here */

    if (j->escape == 6) {
        value = c == '\\' ? 0 : -1;
        j->escape = 5;
    } else if (j->escape == 5) {
        value = json_escaped(c);
        j->code = (uint16_t)value;
        j->escape = c == 'u' ? 4 : 0;
    } else {
        j->code = (uint16_t)(j->code << 4 | value);
        j->escape--;
    }
    if (value >= 0 && j->escape == 0) {
        const unsigned half = j->code & 0xFC00u;
        value = (half == 0xDC00) == j->low ? 0 : -1;
        j->low = half == 0xD800;
        j->escape = j->low ? 6 : 0;
        if (!j->low && j->state == JSON_IN_KEY) {
            json_key_add(j);
        }
    }
    return value >= 0 ? 0 : MST_ERR_JSON_SYNTAX;
}

#if WORDS
/* 0 if all bytes are plain; else the lowest bit set is in the first other. */
HOT uint64_t json_stops(uint64_t word) {
    return word_zeros(word ^ WORD_OF('"')) | word_zeros(word ^ WORD_OF('\\')) |
           ((word - WORD_OF(0x20)) & ~word & WORD_OF(0x80));
}
#endif

/* True if a byte is plain: in a string, it stands for itself. */
HOT bool json_is_plain(uint8_t c) {
    return c != '"' && c != '\\' && c >= 0x20;
}

/* Returns how many bytes, from the first on, are plain. */
static size_t json_plain(const uint8_t *data, size_t len) {
    size_t n = 0;

#if WORDS
    for (; len - n >= 8; n += 8) {
        uint64_t stops = json_stops(word_load(data + n));
        if (stops != 0) {
            return n + word_first(stops);
        }
    }
#endif
    while (n < len && json_is_plain(data[n])) {
        n++;
    }
    return n;
}

/* As json_plain(), and appends these bytes to the key. */
WARM size_t json_key_plain(struct mst_json *j, const uint8_t *data,
                           size_t len) {
    size_t n = 0, most = (size_t)(JSON_KEY_OTHER - j->key_len);

    most = most < len ? most : len;
    /* Names consist of small letters, for which one comparison is enough. */
    while (n < most && (data[n] > '\\' || json_is_plain(data[n]))) {
        j->key[j->key_len + n] = (char)data[n];
        n++;
    }
    j->key_len = (uint8_t)(j->key_len + n);
    if (j->key_len == JSON_KEY_OTHER) {
        j->key[0] = '\0';
        n += json_plain(data + n, len - n);
    }
    return n;
}

/* Continues a string or key at data[*at]. */
static int json_string(struct mst_json *j, const uint8_t *data, size_t len,
                       size_t *at) {
    const bool key = j->state == JSON_IN_KEY;
    int rc = JSON_MORE;

    while (*at < len && rc == JSON_MORE) {
        if (j->escape != 0) {
            rc = json_escape(j, data[(*at)++]);
            continue;
        }
        *at += key ? json_key_plain(j, data + *at, len - *at)
                   : json_plain(data + *at, len - *at);
        if (*at == len) {
            break;
        }
        if (data[*at] < 0x20) {
            return MST_ERR_JSON_SYNTAX;
        }
        if (data[(*at)++] == '\\') {
            j->escape = 5;
        } else if (!key) {
            return json_value_end(j);
        } else {
            const bool colon = *at < len && data[*at] == ':';
            j->state = colon ? JSON_AT_VALUE : JSON_AT_COLON;
            *at += colon;
            break;
        }
    }
    return rc;
}

static bool json_number_whole(const struct mst_json *j) {
    return j->state >= JSON_NUMBER_ZERO;
}

/* Continues a number. The byte after it stays for the caller. */
static int json_number(struct mst_json *j, const uint8_t *data, size_t len,
                       size_t *at) {
    /* The next state, by state and byte: '0', another digit, '.', 'e', a sign.
     * If there is none, the byte is not part of the number. */
    static const uint8_t next[][5] = {
        {JSON_NUMBER_ZERO, JSON_NUMBER_INTEGER},      /* MINUS */
        {JSON_NUMBER_FRACTION, JSON_NUMBER_FRACTION}, /* POINT */
        {JSON_NUMBER_EXPONENT, JSON_NUMBER_EXPONENT, 0, 0, JSON_NUMBER_SIGN},
        {JSON_NUMBER_EXPONENT, JSON_NUMBER_EXPONENT}, /* SIGN */
        {0, 0, JSON_NUMBER_POINT, JSON_NUMBER_E},     /* ZERO */
        {JSON_NUMBER_INTEGER, JSON_NUMBER_INTEGER, JSON_NUMBER_POINT,
         JSON_NUMBER_E},
        {JSON_NUMBER_FRACTION, JSON_NUMBER_FRACTION, 0, JSON_NUMBER_E},
        {JSON_NUMBER_EXPONENT, JSON_NUMBER_EXPONENT},
    };

    for (; *at < len; ++*at) {
        uint8_t c = data[*at], state = 0;
        const uint8_t *row = next[j->state - JSON_NUMBER_MINUS];
        if (decimal_is_digit((char)c)) {
            state = row[c != '0'];
        } else if (c == '.') {
            state = row[2];
        } else if ((c | 0x20) == 'e') {
            state = row[3];
        } else if (c == '+' || c == '-') {
            state = row[4];
        }
        if (state == 0) {
            return json_number_whole(j) ? json_value_end(j)
                                        : MST_ERR_JSON_SYNTAX;
        }
        j->state = state;
    }
    return JSON_MORE;
}

/* Records how deeply the values of a message are nested. */
HOT void json_reach(struct mst_json *j, unsigned depth) {
    j->deepest = (uint8_t)(depth > j->deepest ? depth : j->deepest);
}

/* Steps into an array or object; the caller passes over its first byte. */
static int json_open(struct mst_json *j, bool array) {
    if (j->depth == MST_JSON_DEPTH) {
        return MST_ERR_JSON_DEPTH;
    }
    j->arrays = j->arrays << 1 | array;
    j->depth++;
    json_reach(j, j->depth);
    j->state = array ? JSON_AT_VALUE_OR_CLOSE : JSON_AT_KEY_OR_CLOSE;
    return JSON_MORE;
}

/* Leaves the current array or object, at a ']' (array is true) or '}'. */
HOT int json_close(struct mst_json *j, bool array) {
    const bool step = j->mode == JSON_STEP;
    int stop;

    if ((j->arrays & 1) != array) {
        return MST_ERR_JSON_SYNTAX;
    }
    j->arrays >>= 1;
    j->depth--;
    stop = json_value_end(j);
    return step ? JSON_CLOSE : stop;
}

/* Begins the value that has this first byte. */
static int json_begin(struct mst_json *j, uint8_t c) {
    switch (c) {
    case '{':
    case '[': return json_open(j, c == '[');
    case '"': j->state = JSON_IN_STRING; return JSON_MORE;
    case '-': j->state = JSON_NUMBER_MINUS; return JSON_MORE;
    case '0': j->state = JSON_NUMBER_ZERO; return JSON_MORE;
    case 't':
    case 'f':
    case 'n':
        j->state = JSON_IN_LITERAL;
        j->literal = c == 't' ? 1 : c == 'f' ? 6 : 12;
        return JSON_MORE;
    default:
        j->state = JSON_NUMBER_INTEGER;
        return c >= '1' && c <= '9' ? (int)JSON_MORE : MST_ERR_JSON_SYNTAX;
    }
}

/* Reads what comes after a value: a comma or the end of its array or object. */
WARM int json_behind(struct mst_json *j, uint8_t c) {
    if (c == ',') {
        j->state = (j->arrays & 1) != 0 ? JSON_AT_VALUE : JSON_AT_KEY;
        return JSON_MORE;
    }
    return c == '}' || c == ']' ? json_close(j, c == ']') : MST_ERR_JSON_SYNTAX;
}

/* Scans data from *at until the caller must decide. At JSON_VALUE it calls
 * json_open() or json_take(), then this again. j->key is a member's key. */
static int json_next(struct mst_json *j, const uint8_t *data, size_t len,
                     size_t *at) {
    int stop = JSON_MORE;
    size_t i = *at;

    while (i < len && stop == JSON_MORE) {
        uint8_t c = data[i];
        if (c <= ' ' && j->state <= JSON_AT_END && json_is_space(c)) {
            i++;
            continue;
        }
        switch ((enum json_state)j->state) {
        case JSON_AT_COMMA: stop = json_behind(j, c); break;
        case JSON_AT_KEY_OR_CLOSE:
            if (c == '}') {
                stop = json_close(j, false);
                break;
            } /* fall through */
        case JSON_AT_KEY:
            if (c != '"') {
                stop = MST_ERR_JSON_SYNTAX;
                break;
            }
            j->state = JSON_IN_KEY;
            j->key_len = 0;
            memset(j->key, 0, JSON_KEY_WORDS);
            i++; /* fall through */
        case JSON_IN_KEY:
        case JSON_IN_STRING: stop = json_string(j, data, len, &i); continue;
        case JSON_AT_COLON:
            j->state = JSON_AT_VALUE;
            stop = c == ':' ? (int)JSON_MORE : MST_ERR_JSON_SYNTAX;
            break;
        case JSON_AT_VALUE_OR_CLOSE:
            if (c == ']') {
                stop = json_close(j, true);
                break;
            } /* fall through */
        case JSON_AT_VALUE:
            if (j->mode == JSON_STEP) {
                stop = JSON_VALUE;
                continue;
            }
            stop = json_begin(j, c);
            break;
        case JSON_IN_LITERAL:
            if (c != (uint8_t)json_literals[j->literal]) {
                stop = MST_ERR_JSON_SYNTAX;
            } else if (json_literals[++j->literal] == '\0') {
                j->literal = 0;
                stop = json_value_end(j);
            }
            break;
        case JSON_AT_END: stop = MST_ERR_JSON_SYNTAX; break;
        default: stop = json_number(j, data, len, &i); continue;
        }
        i++;
    }
    *at = i;
    return stop;
}

/* True if the input may end here, because one whole value was read. */
static bool json_whole(const struct mst_json *j) {
    return j->state == JSON_AT_END || (j->depth == 0 && json_number_whole(j));
}

/* Checks a whole text. Returns 0, MST_ERR_JSON_SYNTAX (also if it is not
 * UTF-8), MST_ERR_JSON_DEPTH, or MST_ERR_MESSAGE_SIZE (too long for jsmn). */
static int json_check(const void *text, size_t len) {
    struct mst_json j = {.mode = JSON_SKIP};
    size_t at = 0;
    int rc =
        len > INT_MAX ? MST_ERR_MESSAGE_SIZE : json_next(&j, text, len, &at);

    return rc == 0 && (!json_whole(&j) || !utf8_is(text, len))
               ? MST_ERR_JSON_SYNTAX
               : rc;
}

/* Writes a character as UTF-8. Returns its length, or 0 if it does not fit. */
static size_t json_put(char *to, size_t cap, uint32_t code) {
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (n > cap) {
        return 0;
    }
    for (size_t i = n; i-- > 1; code >>= 6) {
        to[i] = (char)(0x80u | (code & 0x3Fu));
    }
    to[0] = (char)(n == 1 ? code : (0xF00u >> n & 0xF0u) | code);
    return n;
}

/* Unescapes a checked string (in place, too). NUL becomes U+FFFD, because a NUL
 * ends texts here. Returns the length; *cut is true if the end did not fit. */
static size_t json_unescape(const char *text, size_t len, char *to, size_t cap,
                            bool *cut) {
    size_t at = 0, n = 0, put = 1;

    while (at < len && n < cap && put > 0) {
        if (text[at] != '\\') {
            to[n++] = text[at++];
        } else {
            struct mst_json j = {.escape = 6}; /* a backslash comes */
            uint32_t code, high = 0;
            do {
                (void)json_escape(&j, (uint8_t)text[at++]);
                high = j.escape == 6 ? j.code : high;
            } while (j.escape != 0);
            code = high != 0
                       ? 0x10000 + ((high - 0xD800) << 10) + (j.code - 0xDC00u)
                       : j.code;
            put = json_put(to + n, cap - n, code != 0 ? code : 0xFFFD);
            n += put;
        }
    }
    *cut = at < len || put == 0;
    while (*cut && n > 0 && at < len && ((uint8_t)text[at] & 0xC0u) == 0x80u) {
        at--;
        n--;
    }
    return n;
}

/* A scalar as text: a string without quotes and escapes, others as written. It
 * is in the message itself or, if it had escapes, in scratch. */
struct json_text {
    const char *at;
    size_t len;
    bool string, cut;
};

static struct json_text json_scalar(const char *item, size_t len, char *scratch,
                                    size_t cap) {
    struct json_text text = {item, len, false, false};

    if (len < 2 || item[0] != '"') {
        return text;
    }
    text = (struct json_text){item + 1, len - 2, true, false};
    if (memchr(text.at, '\\', text.len) != NULL) {
        text.len = json_unescape(text.at, text.len, scratch, cap, &text.cut);
        text.at = scratch;
    }
    return text;
}

static void json_write_string(struct out *o, const char *text) {
    out_byte(o, '"');
    for (; *text != '\0'; text++) {
        const uint8_t c = (uint8_t)*text;
        if (!json_is_plain(c)) {
            out_text(o, c >= 0x20 ? "\\" : c >= 0x10 ? "\\u001" : "\\u000");
        }
        out_byte(o, c >= 0x20 ? *text : text_hex[c & 15]);
    }
    out_byte(o, '"');
}

/* ------------------------------------------------------------------------
 * 4 object
 *
 * The one reader of small JSON objects: channel entries, error messages of the
 * service, address records, problems. jsmn splits an object into tokens, in
 * memory of the caller; if that is full, tokens already read make room. A table
 * lists the members that count, the type that each must have and where its
 * value goes; others are ignored. A member's own members may count, too.
 *
 * jsmn accepts text that is not JSON, so the scanner checks every text first.
 * ------------------------------------------------------------------------ */

/* Fails to compile if a token of jsmn and of the header differ in size. */
typedef char object_token_fits
    [sizeof(jsmntok_t) == sizeof((struct mst_tokens *)0)->of[0] ? 1 : -1];

/* The type that a member must have, and what is stored. */
enum object_kind {
    OBJECT_TEXT,   /* a string, unescaped */
    OBJECT_LABEL,  /* a string for logs: control characters become spaces */
    OBJECT_WORD,   /* as OBJECT_LABEL, or a number as written */
    OBJECT_SCALAR, /* as OBJECT_WORD, or true or false */
    OBJECT_STATUS, /* int: an HTTP status, a number or string, else 0 */
    OBJECT_TIME,   /* int64_t: an RFC 3339 timestamp in ns */
    OBJECT_BOOL,   /* bool */
    OBJECT_OBJECT  /* only an object, whose members are fields */
};
#define OBJECT_NEEDED 1u  /* if it is missing, the object is an error */
#define OBJECT_WHOLE 2u   /* a text that does not fit is an error, not cut */
#define OBJECT_ENTERED 4u /* may be an object whose members are fields */
#define OBJECT_LENIENT 8u /* a value of another type counts as absent */
/* A member that counts. null counts as absent, a repeated member is an error.
 * Of texts with the same destination, the first in the table wins. */
struct object_field {
    const char *name;
    uint16_t offset, room; /* of its value; a text's includes its NUL */
    uint8_t in; /* 0: the object itself; n: the object that field n - 1 is */
    uint8_t kind, flags;
};
#define OBJECT_AT(type, member) \
    offsetof(type, member), sizeof(((type *)0)->member)

struct object {
    const struct object_field *fields;
    unsigned count;
    /* Stores a status or a time; NULL if the table has none. */
    int (*convert)(const struct object_field *f, const char *item, size_t len,
                   void *to);
    uint32_t seen, set; /* bit n: field n was there, has a value */
    uint32_t filled;    /* bit n: field n has stored its text */
    const char *text;
    int next;         /* offset at which the next key may begin */
    int inner;        /* offset of the entered object */
    uint8_t in;       /* its number, as in struct object_field */
    const char *item; /* the value that was read last */
    size_t item_len;
};

/* Returns the index of the field with this key, or count if there is none. */
static unsigned object_field(const struct object *o, const jsmntok_t *key,
                             unsigned in) {
    char name[MST_KEY_MAX + 1];
    const char *at = o->text + key->start;
    size_t len = (size_t)(key->end - key->start);
    bool cut = false;
    unsigned i = 0;

    if (memchr(at, '\\', len) != NULL) {
        len = json_unescape(at, len, name, sizeof name, &cut);
        at = name;
    }
    while (i < o->count && (cut || o->fields[i].in != in ||
                            !text_is(at, len, o->fields[i].name))) {
        i++;
    }
    return i;
}

/* Stores a value with a NUL, a string without its quotes and escapes. Control
 * characters of a label become spaces. Returns false if it was cut. */
static bool object_text(char *to, size_t room, const char *item, size_t len,
                        bool label) {
    bool cut;

    if (item[0] == '"') {
        item++;
        len -= 2;
    }
    len = json_unescape(item, len, to, room - 1, &cut);
    to[len] = '\0';
    if (label) {
        text_copy(to, room, to, len);
    }
    return !cut;
}

/* True if a value that begins with this byte has the right type. */
static bool object_fits(enum object_kind kind, char first) {
    switch (first) {
    case '"': return kind <= OBJECT_TIME;
    case 't':
    case 'f': return kind == OBJECT_BOOL || kind == OBJECT_SCALAR;
    case '{':
    case '[': return false;
    default: return kind >= OBJECT_WORD && kind <= OBJECT_STATUS; /* a number */
    }
}

/* Stores the current value, o->item, as this field of into; 0 or an error. */
APART int object_take(struct object *o, unsigned field, void *into) {
    const struct object_field *f = &o->fields[field];
    char *to = (char *)into + f->offset;
    unsigned other = 0;

    if (f->kind == OBJECT_BOOL) {
        *(bool *)(void *)to = o->item[0] == 't';
        return 0;
    }
    if (f->kind == OBJECT_STATUS || f->kind == OBJECT_TIME) {
        return o->convert(f, o->item, o->item_len, to);
    }
    while (other < field && ((o->filled & BIT(other)) == 0 ||
                             o->fields[other].offset != f->offset)) {
        other++;
    }
    /* A field earlier in the table has already stored its text there. */
    if (other < field || memcmp(o->item, "\"\"", 2) == 0) {
        return 0;
    }
    o->filled |= BIT(field);
    return object_text(to, f->room, o->item, o->item_len,
                       f->kind != OBJECT_TEXT) ||
                   (f->flags & OBJECT_WHOLE) == 0
               ? 0
               : MST_ERR_MESSAGE_SIZE;
}

/* Reads the member with this key, if it is in the table. */
static int object_member(struct object *o, const jsmntok_t *key, unsigned in,
                         void *into) {
    const jsmntok_t *value = key + 1;
    const unsigned quote = value->type == JSMN_STRING;
    const unsigned i = object_field(o, key, in);
    const struct object_field *f = &o->fields[i];

    if (i == o->count) {
        return 0;
    }
    if ((o->seen & BIT(i)) != 0) {
        return MST_ERR_MESSAGE_KEY;
    }
    o->seen |= BIT(i);
    o->item = o->text + value->start - quote;
    if (*o->item == 'n') {
        return 0;
    }
    o->set |= BIT(i);
    if (*o->item == '{' && (f->flags & OBJECT_ENTERED) != 0) {
        o->inner = value->start;
        o->in = (uint8_t)(i + 1);
        return 0;
    }
    if (!object_fits((enum object_kind)f->kind, *o->item)) {
        return (f->flags & OBJECT_LENIENT) != 0 ? 0 : MST_ERR_MESSAGE_SHAPE;
    }
    o->item_len = (size_t)(value->end - value->start) + 2 * quote;
    return object_take(o, i, into);
}

/* Reads those members among the tokens that were not read before. */
static int object_members(struct object *o, const jsmntok_t *tokens, int count,
                          void *into) {
    int rc = 0;

    for (int i = 1; rc == 0 && i + 1 < count; i++) {
        const jsmntok_t *key = &tokens[i];
        bool inside = key->parent > 0 && tokens[key->parent].start == o->inner;
        if ((key->parent == 0 || inside) && key->start >= o->next) {
            o->next = key->start + 1;
            rc = object_member(o, key, inside ? o->in : 0, into);
        }
    }
    return rc;
}

/* Makes room: only tokens of objects, arrays and members still open stay. */
APART void object_forget(jsmn_parser *parser, jsmntok_t *tokens) {
    int n = 0;

    for (int i = parser->toksuper; i >= 0; i = tokens[i].parent) {
        tokens[i].size = -1;
    }
    for (unsigned i = 0; i < parser->toknext; i++) {
        if (tokens[i].size < 0) {
            tokens[n] = tokens[i];
            tokens[n].size = 0;
            tokens[n].parent = n - 1;
            n++;
        }
    }
    parser->toknext = (unsigned)n;
    parser->toksuper = n - 1;
}

/* Reads a checked object; the texts of into are empty. Returns 0 or the first
 * error: MST_ERR_MESSAGE_KEY (repeated field), _SHAPE (wrong type, missing
 * field, no object), _SIZE (o->item is too long), or MST_ERR_TIME. */
static int object_read(struct object *o, const char *text, size_t len,
                       struct mst_tokens *room, void *into) {
    jsmntok_t *tokens = (jsmntok_t *)(void *)room->of;
    jsmn_parser parser;
    int count, rc;

    o->text = o->item = text;
    tokens[0].type = JSMN_UNDEFINED; /* if there is no token */
    jsmn_init(&parser);
    do {
        count = jsmn_parse(&parser, text, len, tokens, MST_JSON_TOKENS);
        rc = tokens[0].type == JSMN_OBJECT
                 ? object_members(o, tokens, (int)parser.toknext, into)
                 : MST_ERR_MESSAGE_SHAPE;
        object_forget(&parser, tokens);
    } while (rc == 0 && count == JSMN_ERROR_NOMEM);
    if (NEVER(rc == 0 && count < 0)) {
        return MST_ERR_JSON_SYNTAX;
    }
    for (unsigned i = 0; rc == 0 && i < o->count; i++) {
        if ((o->fields[i].flags & OBJECT_NEEDED) != 0 &&
            (o->set & BIT(i)) == 0) {
            rc = MST_ERR_MESSAGE_SHAPE;
        }
    }
    return rc;
}

/* ------------------------------------------------------------------------
 * 5 message: contents
 *
 * A message of the service is data of a channel, a response to a request, or an
 * error. Here is what it may hold, its events, and the text of requests.
 *
 * A message may be larger than the buffer, so a book's levels and a response's
 * entries become events while it is read. Their channel, market, type and time
 * must be known by then. In the service's usual order they are. A field that
 * comes too early is skipped, and the message is read again after its end; if
 * it came in pieces, it must then be in the buffer.
 * ------------------------------------------------------------------------ */

static const char message_channels[] =
    "market_data\0market_data.top_of_book\0execution_data\0heartbeat\0";

/* In the order of enum mst_action; no request has the last one. */
static const char message_actions[] =
    "subscribe\0unsubscribe\0subscription_list\0error\0";

#define MESSAGE_ACTION_ERROR 3
#define MESSAGE_NONE 255 /* no channel or action is known yet */
/* In the order of enum mst_code, from MST_CODE_UNKNOWN_ACTION on. */
static const char message_codes[] =
    "UNKNOWN_ACTION\0INTERNAL_SERVER_ERROR\0MALFORMED_REQUEST\0"
    "NO_EFFECT_ACTION\0UNKNOWN_CHANNEL\0UNKNOWN_CHANNEL_PARAMS_CONFIGURATION\0";

/* Where in a message the decoder is. Section 7 has a table. */
enum message_place {
    MESSAGE_BEFORE,
    MESSAGE_ROOT,
    MESSAGE_PAYLOAD,
    MESSAGE_LEVELS,
    MESSAGE_LEVEL,
    MESSAGE_ENTRIES,
    MESSAGE_FAILED, /* the error event comes next */
    MESSAGE_DONE,   /* the rest of the message is ignored */
    MESSAGE_BETWEEN /* the next piece begins a message */
};
enum message_field {
    FIELD_CHANNEL,
    FIELD_ACTION,
    FIELD_PAYLOAD,
    FIELD_ENTRIES,
    FIELD_ERROR,
    FIELD_PRICE,
    FIELD_AMOUNT,
    FIELD_MARKET,
    FIELD_TYPE,
    FIELD_TIME,
    FIELD_TIMESTAMP,
    FIELD_EXECUTED_AT,
    FIELD_BIDS,
    FIELD_ASKS,
    FIELD_NONE
};
/* The names of enum message_field: the root's, then from FIELD_PRICE on the
 * payload's: numbers, which are also a level's, then texts, times, arrays. */
static const char message_fields[FIELD_NONE][JSON_KEY_WORDS] = {
    "channel", "type", "payload", "channels",  "error",       "price", "amount",
    "market",  "type", "time",    "timestamp", "executed_at", "bids",  "asks",
};
#define MESSAGE_NUMBERS (BIT(FIELD_PRICE) | BIT(FIELD_AMOUNT))
#define MESSAGE_SIDES (BIT(FIELD_BIDS) | BIT(FIELD_ASKS))
#define MESSAGE_CONTAINERS \
    (BIT(FIELD_PAYLOAD) | BIT(FIELD_ENTRIES) | MESSAGE_SIDES)

/* The fields that matter for each channel; all but the sides are required. */
static const uint16_t message_matters[] = {
    BIT(FIELD_PAYLOAD) | BIT(FIELD_MARKET) | BIT(FIELD_TYPE) | BIT(FIELD_TIME) |
        MESSAGE_SIDES,
    BIT(FIELD_PAYLOAD) | BIT(FIELD_MARKET) | BIT(FIELD_TIMESTAMP) |
        MESSAGE_SIDES,
    BIT(FIELD_PAYLOAD) | BIT(FIELD_MARKET) | BIT(FIELD_EXECUTED_AT) |
        MESSAGE_NUMBERS,
    BIT(FIELD_PAYLOAD) | BIT(FIELD_TIMESTAMP)};

const char *mst_channel_name(enum mst_channel channel) {
    return text_nth(message_channels, channel);
}

/* Which of the three time fields each channel has. */
static const uint8_t message_times[] = {0, 1, 2, 1};

/* The code in said->text, or MST_CODE_NONE if none of these fields was set. */
static enum mst_code message_code(const struct mst_said *said, unsigned set) {
    uint8_t code = text_lookup(message_codes, said->text, strlen(said->text));

    return (enum mst_code)(set != 0 ? MST_CODE_UNKNOWN_ACTION + code
                                    : MST_CODE_NONE);
}

static bool message_is_data(const struct mst_decoder *d) {
    return d->channel < MST_CHANNEL_OTHER;
}

static bool message_is_response(const struct mst_decoder *d) {
    return !message_is_data(d) && d->action <= MST_SUBSCRIPTION_LIST;
}

/* False if a bad message, as far as it was read, cannot have had levels. */
static bool message_may_have_levels(const struct mst_decoder *d) {
    if ((d->taken & BIT(FIELD_CHANNEL)) != 0 && d->channel != MESSAGE_NONE) {
        return d->channel == MST_MARKET_DATA;
    }
    return (d->seen & BIT(FIELD_CHANNEL)) != 0 ||
           ((d->taken & BIT(FIELD_ACTION)) == 0 &&
            (d->seen & BIT(FIELD_ERROR)) == 0);
}

/* The fields that are known to matter at the current place. */
static unsigned message_relevant(const struct mst_decoder *d) {
    const unsigned always = BIT(FIELD_CHANNEL) | BIT(FIELD_ACTION);

    return d->place == MESSAGE_LEVEL ? MESSAGE_NUMBERS
           : message_is_data(d)      ? always | message_matters[d->channel]
           : message_is_response(d)  ? always | BIT(FIELD_ENTRIES)
                                     : always;
}

static void message_event(struct mst_event *event, enum mst_event_type type) {
    memset(event, 0, sizeof *event);
    event->type = type;
}

/* Makes a part event: the levels so far or, after an error, an aborted part. */
static int message_part(struct mst_decoder *d, struct mst_event *event) {
    const bool aborted = d->place == MESSAGE_FAILED;

    event->type = MST_EVENT_PART;
    event->as.part = (struct mst_part){
        .market = d->said.market,
        .time_ns = d->time.of[0],
        .levels = d->shared.levels,
        .count = aborted ? 0 : d->count,
        .snapshot = d->snapshot,
        .first = !d->parts_out,
        .last = d->place == MESSAGE_DONE,
        .aborted = aborted,
    };
    d->parts_out = true;
    d->count = 0;
    return 1;
}

/* Notes that the current field is stored. Returns 0. */
static int message_taken(struct mst_decoder *d) {
    d->taken |= (uint16_t)BIT(d->field);
    return 0;
}

/* Rejects this value of the current field. Returns the error if the field is
 * known to matter, else 0: then it is judged again on the second reading. */
static int message_fault(struct mst_decoder *d, int error, const char *text,
                         size_t len) {
    d->taken &= (uint16_t)~BIT(d->field);
    if ((message_relevant(d) & BIT(d->field)) == 0) {
        return 0;
    }
    text_copy(d->said.text, sizeof d->said.text, text, len);
    return error;
}

/* Reads a time; returns its end or NULL. Most have the last one's minute. */
static const char *message_time(struct mst_decoder *d, const char *at,
                                const char *end, int64_t *ns) {
    if (at == NULL || end - at < TIME_LEN_MIN) {
        return NULL;
    }
    if (!mem_equal(at, d->time.minute, MST_MINUTE_LEN)) {
        if (!time_minute(at, &d->time.minute_s)) {
            return NULL;
        }
        memcpy(d->time.minute, at, MST_MINUTE_LEN);
    }
    return time_rest(at, end, d->time.minute_s, ns);
}

/* Reads a price or an amount if it is exact; returns its end, or NULL. */
static const char *message_number_pass(const char *at, const char *end,
                                       struct mst_decimal *number) {
    number->inexact = false;
    return decimal_pass(at, end, &number->coefficient, &number->exponent);
}

/* Reads a price or an amount. Only other kinds of values begin beyond '9'. */
static int message_number(const struct mst_decoder *d, bool price,
                          const struct json_text *t, struct mst_decimal *out) {
    int rc = !t->string && t->at[0] > '9' ? MST_ERR_MESSAGE_SHAPE
             : t->cut                     ? MST_ERR_DECIMAL_WIDE
                      : mst_decimal_parse(t->at, t->len, out);

    return rc != 0                                ? rc
           : out->coefficient < 0                 ? MST_ERR_DECIMAL
           : out->inexact && (price || d->strict) ? MST_ERR_DECIMAL_WIDE
                                                  : 0;
}

/* Reads a scalar, the value of the current field. */
static int message_scalar(struct mst_decoder *d, const struct json_text *t) {
    const enum message_field field = (enum message_field)d->field;
    const char *end = t->at + t->len;
    int rc = 0;

    if (field == FIELD_PRICE || field == FIELD_AMOUNT) {
        rc = message_number(d, field == FIELD_PRICE, t,
                            &d->numbers[field - FIELD_PRICE]);
    } else if (!t->string) {
        rc = MST_ERR_MESSAGE_SHAPE;
    } else if (field == FIELD_CHANNEL) {
        d->channel = text_lookup(message_channels, t->at, t->len);
    } else if (field == FIELD_ACTION) {
        d->action = text_lookup(message_actions, t->at, t->len);
    } else if (field == FIELD_TYPE) {
        d->snapshot = !text_is(t->at, t->len, "UPDATE");
    } else if (field != FIELD_MARKET) {
        int64_t *ns = &d->time.of[field - FIELD_TIME];
        rc = message_time(d, t->at, end, ns) == end ? 0 : MST_ERR_TIME;
    } else if (t->cut || t->len > MST_MARKET_MAX) {
        rc = MST_ERR_MESSAGE_SIZE;
    } else {
        text_copy(d->said.market, sizeof d->said.market, t->at, t->len);
    }
    return rc != 0 ? message_fault(d, rc, t->at, t->len) : message_taken(d);
}

/* Returns the message's bytes from an offset in it up to here, an offset in the
 * current piece. Bytes of earlier pieces are in the buffer, to which the others
 * are then added. NULL if they do not fit or were not kept. */
static const char *message_text(struct mst_decoder *d, size_t from,
                                size_t here) {
    const size_t len = d->message_len - d->len + here - from;
    const size_t before = len - here; /* those of earlier pieces */
    char *buffer = (char *)d->kept.buffer;

    if (len > d->kept.buffer_len || (len > here && before > d->kept.len)) {
        return NULL;
    }
    if (len <= here) {
        return (const char *)d->data + (here - len);
    }
    if (here > d->kept.buffer_len - d->kept.len) {
        memmove(buffer, buffer + d->kept.len - before, before);
        d->kept.len = before;
    }
    memcpy(buffer + d->kept.len, d->data, here);
    return buffer + d->kept.len - before;
}

/* Reads an object into d->said; said.text becomes a text that does not fit. */
static int message_object(struct mst_decoder *d, struct object *o,
                          const char *text, size_t len) {
    int rc;

    memset(&d->said, 0, sizeof d->said);
    d->taken &= (uint16_t)~BIT(FIELD_MARKET);
    rc = object_read(o, text, len, &d->shared.tokens, &d->said);
    if (rc != 0) {
        d->said.text[0] = '\0';
    }
    if (rc == MST_ERR_MESSAGE_SIZE) {
        (void)object_text(d->said.text, sizeof d->said.text, o->item,
                          o->item_len, true);
    }
    return rc;
}

/* A code or a message: any scalar, because the specification shows no type. */
#define MESSAGE_SAYS(name, member, in, flags)                          \
    {                                                                  \
        name, OBJECT_AT(struct mst_said, member), (in), OBJECT_SCALAR, \
            OBJECT_LENIENT | (flags)                                   \
    }

static const struct object_field message_entry_fields[] = {
    {"success", OBJECT_AT(struct mst_said, success), 0, OBJECT_BOOL,
     OBJECT_LENIENT},
    MESSAGE_SAYS("error", text, 0, OBJECT_ENTERED),
    MESSAGE_SAYS("code", text, 2, 0),
    MESSAGE_SAYS("code", text, 0, 0),
    MESSAGE_SAYS("message", text, 2, 0),
    MESSAGE_SAYS("message", text, 0, 0),
    {"type", OBJECT_AT(struct mst_said, name), 0, OBJECT_LABEL, OBJECT_NEEDED},
    {"params", 0, 0, 0, OBJECT_OBJECT, OBJECT_ENTERED | OBJECT_LENIENT},
    {"market", OBJECT_AT(struct mst_said, market), 8, OBJECT_LABEL,
     OBJECT_WHOLE},
};

/* Makes an error event with the text in d->said. */
APART int message_error(const struct mst_decoder *d, struct mst_event *event,
                        int error, const char *market) {
    message_event(event, MST_EVENT_ERROR);
    event->as.failure.error = error;
    event->as.failure.stage = MST_STATE_OPEN;
    event->as.failure.text = d->said.text;
    event->as.failure.market = market;
    return 1;
}

/* Makes an event of a response's entry; text is NULL if it was too large. A bad
 * entry becomes an error event, and the others are still read. */
static int message_entry(struct mst_decoder *d, const char *text, size_t len,
                         struct mst_event *event) {
    struct object o = {.fields = message_entry_fields,
                       .count = COUNT_OF(message_entry_fields)};
    const int rc =
        text != NULL ? message_object(d, &o, text, len) : MST_ERR_MESSAGE_SIZE;
    /* Failed: "success" is false or, without that, there is an "error". */
    const bool failed =
        (o.set & BIT(0)) != 0 ? !d->said.success : (o.set & BIT(1)) != 0;

    d->response.entries++;
    d->response.failed += rc != 0 || failed ? 1 : 0;
    if (rc != 0) {
        return message_error(d, event, rc,
                             rc != MST_ERR_MESSAGE_SIZE ? d->said.market : "");
    }
    message_event(event, MST_EVENT_ENTRY);
    event->as.entry.action = (enum mst_action)d->action;
    event->as.entry.channel = (enum mst_channel)text_lookup(
        message_channels, d->said.name, strlen(d->said.name));
    event->as.entry.channel_name = d->said.name;
    event->as.entry.market = d->said.market;
    event->as.entry.success = !failed;
    event->as.entry.code = message_code(&d->said, o.set & (BIT(1) | BIT(3)));
    event->as.entry.text = d->said.text;
    return 1;
}

/* The code may be in any of the first three. */
static const struct object_field message_service_fields[] = {
    MESSAGE_SAYS("error", text, 0, OBJECT_ENTERED),
    MESSAGE_SAYS("code", text, 1, 0),
    MESSAGE_SAYS("code", text, 0, 0),
    MESSAGE_SAYS("message", message, 0, 0),
    MESSAGE_SAYS("message", message, 1, 0),
};

/* Makes an event of the service's error message. Returns 1, or an error. */
static int message_service_error(struct mst_decoder *d,
                                 struct mst_event *event) {
    struct object o = {.fields = message_service_fields,
                       .count = COUNT_OF(message_service_fields)};
    const char *text = message_text(d, 0, d->len);
    int rc = text != NULL ? message_object(d, &o, text, d->message_len)
                          : MST_ERR_MESSAGE_SIZE;

    if (rc != 0) {
        return rc;
    }
    message_event(event, MST_EVENT_SERVICE_ERROR);
    event->as.service_error.code =
        message_code(&d->said, o.set & (BIT(0) | BIT(1) | BIT(2)));
    event->as.service_error.code_text = d->said.text;
    event->as.service_error.message = d->said.message;
    return 1;
}

/* True if levels can be used now: it is known what they belong to, and nothing
 * that matters was skipped. A top of book, one event, may still lack some. */
static bool message_streams(const struct mst_decoder *d) {
    const unsigned known =
        d->seen | (d->channel == MST_MARKET_DATA ? ~MESSAGE_SIDES : 0u);

    return d->channel <= MST_TOP_OF_BOOK &&
           (message_matters[d->channel] & known & ~(unsigned)d->taken) == 0;
}

/* Steps into the array of a field: levels or entries. */
static int message_stream(struct mst_decoder *d, enum message_field field) {
    d->seen |= (uint16_t)BIT(field);
    d->taken |= (uint16_t)BIT(field);
    d->place = field == FIELD_ENTRIES ? MESSAGE_ENTRIES : MESSAGE_LEVELS;
    d->side = field == FIELD_ASKS ? MST_ASK : MST_BID;
    return json_open(&d->json, true);
}

/* Writes a request for all subscriptions that are in this state. */
static void message_request(struct out *o, enum mst_action action,
                            const struct mst_subscription *subscriptions,
                            unsigned count, uint8_t state) {
    const char *before = "{\"type\":\"";

    out_text(o, before);
    out_text(o, text_nth(message_actions, action));
    if (action == MST_SUBSCRIPTION_LIST) {
        out_text(o, "\"}");
        return;
    }
    out_text(o, "\",\"channels\":[");
    for (const struct mst_subscription *s = subscriptions;
         s < subscriptions + count; s++) {
        if (s->state == state) {
            out_text(o, before);
            out_text(o, text_nth(message_channels, s->channel));
            if (s->channel != MST_HEARTBEAT) {
                out_text(o, "\",\"params\":{\"market\":");
                json_write_string(o, s->market);
            }
            out_text(o, s->channel != MST_HEARTBEAT ? "}}" : "\"}");
            before = ",{\"type\":\"";
        }
    }
    out_text(o, "]}");
}

/* ------------------------------------------------------------------------
 * 6 message: fast lane
 *
 * A shortcut. The service writes all messages in one form, so message_fast()
 * compares long pieces of that form at once and reads only what varies. If the
 * input differs, it leaves the rest to the scanner. The events are the same.
 * ------------------------------------------------------------------------ */

/* MST_NO_FAST_LANE leaves it out. A unit test switches it while it runs. */
#ifdef MST_NO_FAST_LANE
#define MESSAGE_FAST false
#elif !defined MESSAGE_FAST
#define MESSAGE_FAST true
#endif

/* As message_pass(), if there may be white space around punctuation. */
COLD const char *message_pass_spaced(const char *at, const char *end,
                                     const char *text, size_t len) {
    static const char marks[] = ",:{}[]";

    for (size_t i = 0; i < len; i++, at++) {
        if (at < end && *at == text[i]) {
            continue;
        }
        if ((i > 0 && memchr(marks, text[i - 1], sizeof marks - 1) != NULL) ||
            memchr(marks, text[i], sizeof marks - 1) != NULL) {
            while (at < end && json_is_space((uint8_t)*at)) {
                at++;
            }
        }
        if (at == end || *at != text[i]) {
            return NULL;
        }
    }
    return at;
}

/* Returns the end of text if it is here, else NULL. at may be NULL. */
HOT const char *message_pass(const char *at, const char *end, const char *text,
                             size_t len) {
    if (at == NULL || (size_t)(end - at) < len) {
        return NULL;
    }
    if (mem_equal(at, text, len)) {
        return at + len;
    }
    return *at == *text || (uint8_t)*at <= ' '
               ? message_pass_spaced(at, end, text, len)
               : NULL;
}

#define MESSAGE_PASS(at, end, text) \
    message_pass((at), (end), (text), sizeof(text) - 1)

/* How the service writes a level; the amount may come first. */
#define MESSAGE_PRICE "{\"price\":\""
#define MESSAGE_AMOUNT "\",\"amount\":\""
#define MESSAGE_AMOUNT_FIRST "{\"amount\":\""
#define MESSAGE_PRICE_LAST "\",\"price\":\""
#define MESSAGE_SNAPSHOT "\",\"type\":\"SNAPSHOT\",\"time\":\""

#if WORDS
/* A number of a level and the text before it. shape is NULL if it varies. */
struct message_figure {
    const char *before;
    size_t before_len;
    struct decimal_shape *shape;
    int64_t *coefficient;
    int8_t *exponent;
};

/* Reads a number and the text before it; returns its end, or NULL. */
HOT const char *message_figure_pass(const char *at, const char *end,
                                    struct message_figure f) {
    if (at == NULL || (size_t)(end - at) < f.before_len + 9 ||
        !mem_equal(at, f.before, f.before_len)) {
        return NULL;
    }
    at += f.before_len;
    if (f.shape != NULL) {
        return decimal_word(at, end, f.shape, f.coefficient, f.exponent);
    }
    return end - at < DECIMAL_PARTS
               ? decimal_pass(at, end, f.coefficient, f.exponent)
               : decimal_parts(at, f.coefficient, f.exponent);
}

#define MESSAGE_FIGURE(text, level, name, shape)            \
    ((struct message_figure){text, sizeof(text) - 1, shape, \
                             &(level)->name##_coefficient,  \
                             &(level)->name##_exponent})

/* Reads a level whose numbers come in this order; returns its end, or NULL. */
HOT const char *message_level_words(const char *at, const char *end,
                                    struct message_figure first,
                                    struct message_figure second) {
    at = message_figure_pass(at, end, first);
    at = message_figure_pass(at, end, second);
    return at != NULL && end - at >= 2 && mem_equal(at, "\"}", 2) ? at + 2
                                                                  : NULL;
}
#endif

/* Fills in a level from the numbers and time that were read. */
WARM void message_level_set(const struct mst_decoder *d,
                            struct mst_level *level) {
    const struct mst_decimal *price = &d->numbers[0], *amount = &d->numbers[1];

    level->price_coefficient = price->coefficient;
    level->price_exponent = price->exponent;
    level->amount_coefficient = amount->coefficient;
    level->amount_exponent = amount->exponent;
    level->time_ns = d->time.of[0];
    level->side = d->side;
    level->flags = amount->inexact ? MST_LEVEL_INEXACT : 0;
}

/* Reads other levels: with white space, with unusual numbers, near the input's
 * end, or (only if WORDS) with the amount first. */
COLD const char *message_level_pass(struct mst_decoder *d, const char *at,
                                    const char *end, struct mst_level *level,
                                    struct decimal_shape shapes[2]) {
    const char *next;
    bool swapped;

#if WORDS
    next = message_level_words(
        at, end,
        MESSAGE_FIGURE(MESSAGE_AMOUNT_FIRST, level, amount, &shapes[1]),
        MESSAGE_FIGURE(MESSAGE_PRICE_LAST, level, price, &shapes[0]));
    if (next != NULL) {
        return next;
    }
#endif
    (void)shapes;
    next = MESSAGE_PASS(at, end, MESSAGE_PRICE);
    swapped = WORDS && next == NULL;
    next = swapped ? MESSAGE_PASS(at, end, MESSAGE_AMOUNT_FIRST) : next;
    next = message_number_pass(next, end, &d->numbers[swapped]);
    next = swapped ? MESSAGE_PASS(next, end, MESSAGE_PRICE_LAST)
                   : MESSAGE_PASS(next, end, MESSAGE_AMOUNT);
    next = message_number_pass(next, end, &d->numbers[!swapped]);
    message_level_set(d, level);
    return MESSAGE_PASS(next, end, "\"}");
}

/* Reads a market without escapes and control characters; its end, or NULL. */
static inline const char *message_fast_market(struct mst_decoder *d,
                                              const char *at, const char *end) {
    size_t len;

#if WORDS && MST_MARKET_MAX >= 7
    if ((size_t)(end - at) >= 8) {
        uint64_t word = word_load(at);
        uint64_t stops = json_stops(word) | word_zeros(word ^ WORD_OF(0x7F));
        if (stops != 0) {
            memcpy(d->said.market, at, 8);
            d->said.market[word_first(stops)] = '\0';
            return at + word_first(stops);
        }
    }
#endif
    len = json_plain((const uint8_t *)at, (size_t)(end - at));
    if (len > MST_MARKET_MAX || memchr(at, 0x7F, len) != NULL) {
        return NULL;
    }
    memcpy(d->said.market, at, len);
    d->said.market[len] = '\0';
    return at + len;
}

/* Reads a message up to its time. Returns begin if the form differs: then the
 * scanner sets again all that this function has set. */
static const char *message_fast_head(struct mst_decoder *d, const char *begin,
                                     const char *end) {
    const char *at = MESSAGE_PASS(begin, end, "{\"channel\":\""), *next;
    const size_t len =
        at != NULL ? json_plain((const uint8_t *)at, (size_t)(end - at)) : 0;
    const uint8_t channel = text_lookup(message_channels, at, len);

    if (channel >= MST_CHANNEL_OTHER) {
        return begin;
    }
    at += len;
    if (channel == MST_HEARTBEAT) {
        at = MESSAGE_PASS(at, end, "\",\"payload\":{\"timestamp\":\"");
    } else {
        at = MESSAGE_PASS(at, end, "\",\"payload\":{\"market\":\"");
        at = at != NULL ? message_fast_market(d, at, end) : NULL;
    }
    if (channel == MST_MARKET_DATA) {
        next = MESSAGE_PASS(at, end, "\",\"type\":\"UPDATE\",\"time\":\"");
        d->snapshot = next == NULL;
        at = next != NULL ? next : MESSAGE_PASS(at, end, MESSAGE_SNAPSHOT);
    } else if (channel == MST_EXECUTION_DATA) {
        at = MESSAGE_PASS(at, end, MESSAGE_PRICE_LAST);
        at = message_number_pass(at, end, &d->numbers[0]);
        at = MESSAGE_PASS(at, end, MESSAGE_AMOUNT);
        at = message_number_pass(at, end, &d->numbers[1]);
        at = MESSAGE_PASS(at, end, "\",\"executed_at\":\"");
    } else if (channel == MST_TOP_OF_BOOK) {
        at = MESSAGE_PASS(at, end,
                          "\",\"type\":\"TOP_OF_BOOK\",\"timestamp\":\"");
    }
    at = message_time(d, at, end, &d->time.of[message_times[channel]]);
    at = MESSAGE_PASS(at, end, "\"");
    if (at == NULL || (size_t)(at - begin) > d->kept.buffer_len) {
        return begin;
    }
    d->channel = channel;
    d->seen = message_matters[channel] & (uint16_t)~MESSAGE_SIDES;
    d->taken = d->seen |= BIT(FIELD_CHANNEL);
    d->place = MESSAGE_PAYLOAD;
    d->json.state = JSON_AT_COMMA;
    d->json.depth = d->json.deepest = 2;
    return at;
}

#if WORDS
/* From this d->variety on, amounts count as varying in format. */
#define MESSAGE_VARIES 64

/* Counts amounts whose format differs from the message's first. If they vary,
 * the next two hundred sides use the branch-free reader. */
COLD void message_variety(struct mst_decoder *d,
                          struct decimal_shape *amounts) {
    const unsigned sum = d->variety + amounts->odd;
    const bool more = amounts->odd > 0 && sum >= MESSAGE_VARIES;

    d->variety = (uint8_t)(more ? UINT8_MAX : sum - (sum > 0));
    amounts->odd = 0;
}
#endif

/* Reads levels and the end of their side; returns where it stopped. */
HOT const char *message_fast_levels(struct mst_decoder *d,
                                    struct decimal_shape shapes[2],
                                    const char *at, const char *end) {
    const bool top = d->channel == MST_TOP_OF_BOOK;
    struct mst_level *levels =
        top ? &d->shared.levels[d->side] : d->shared.levels;
    size_t count = top ? d->there[d->side] : d->count;
    const size_t most = top ? 1 : MST_PART_LEVELS;
    bool more = d->json.state != JSON_AT_COMMA && at < end && *at != ']';
#if WORDS
    const int64_t time_ns = d->time.of[0];
    const bool varies = d->variety >= MESSAGE_VARIES;
#endif

    while (more && count < most) {
        struct mst_level *level = &levels[count];
        const char *behind = NULL;
#if WORDS
        level->flags = 0;
        level->side = d->side;
        level->time_ns = time_ns;
        behind = message_level_words(
            at, end, MESSAGE_FIGURE(MESSAGE_PRICE, level, price, &shapes[0]),
            MESSAGE_FIGURE(MESSAGE_AMOUNT, level, amount,
                           varies ? NULL : &shapes[1]));
#endif
        if (behind == NULL) {
            behind = message_level_pass(d, at, end, level, shapes);
        }
        if (behind == NULL || (size_t)(behind - at) > d->kept.buffer_len) {
            break;
        }
        count++;
        more = behind < end && *behind == ',';
        at = more ? behind + 1 : behind;
        d->json.state = more ? JSON_AT_VALUE : JSON_AT_COMMA;
    }
    if (count > 0) {
        json_reach(&d->json, d->json.depth + 1U);
#if WORDS
        if ((d->variety | shapes[1].odd) != 0) {
            message_variety(d, &shapes[1]);
        }
#endif
    }
    if (top) {
        d->there[d->side] = count > 0 && levels->amount_coefficient != 0;
    } else {
        d->count = count;
    }
    if (d->json.state != JSON_AT_VALUE && at < end && *at == ']') {
        (void)json_close(&d->json, true);
        d->place = MESSAGE_PAYLOAD;
        at++;
    }
    return at;
}

/* Reads as much of the current piece as has the usual form. */
WARM void message_fast(struct mst_decoder *d) {
    const char *data = (const char *)d->data, *end = data + d->len;
    const char *at = data + d->at, *next;
    struct decimal_shape shapes[2] = {{0}};
    enum message_field field;
    unsigned left;

    if (d->place == MESSAGE_BEFORE && d->taken == 0 &&
        d->json.state == JSON_AT_VALUE) {
        at = message_fast_head(d, at, end);
    }
    for (;;) {
        if (d->place == MESSAGE_LEVELS) {
            at = message_fast_levels(d, shapes, at, end);
        }
        if (d->place != MESSAGE_PAYLOAD || d->json.state != JSON_AT_COMMA) {
            break;
        }
        /* The beginning of a side, unless it came before. */
        left = message_streams(d) ? ~(unsigned)d->seen : 0;
        field = FIELD_BIDS;
        next = (left & BIT(FIELD_BIDS)) != 0
                   ? MESSAGE_PASS(at, end, ",\"bids\":[")
                   : NULL;
        if (next == NULL && (left & BIT(FIELD_ASKS)) != 0) {
            field = FIELD_ASKS;
            next = MESSAGE_PASS(at, end, ",\"asks\":[");
        }
        if (next != NULL) {
            (void)message_stream(d, field);
            at = next;
            continue;
        }
        next = MESSAGE_PASS(at, end, "}}");
        if (next != NULL) {
            d->place = MESSAGE_ROOT;
            d->json.state = JSON_AT_END;
            d->json.depth = 0;
            at = next;
        }
        break;
    }
    d->at = (size_t)(at - data);
}

/* ------------------------------------------------------------------------
 * 7 message: reading
 *
 * Turns a message of any form, in any pieces, into events. The scanner stops at
 * each value, and the current place tells what that value means.
 *
 *   place          input                        next place
 *   BETWEEN        a piece                      BEFORE
 *   BEFORE         '{'                          ROOT
 *   ROOT           "payload" and '{'            PAYLOAD
 *                  "channels" and '['           ENTRIES, in a response
 *   PAYLOAD        "bids" or "asks", and '['    LEVELS
 *   LEVELS         '{'                          LEVEL
 *   all of these   the end of object or array   the place around it
 *                  an error                     FAILED, after its event DONE
 *                  the end of the message       DONE, then BETWEEN
 * ------------------------------------------------------------------------ */

/* The field that the current key names at this place, or FIELD_NONE. */
static enum message_field message_field(const struct mst_decoder *d) {
    const bool root = d->place == MESSAGE_ROOT;
    const unsigned end = root                        ? FIELD_PRICE
                         : d->place == MESSAGE_LEVEL ? FIELD_MARKET
                                                     : FIELD_NONE;
    const char *key = d->json.key;
    unsigned i = root ? FIELD_CHANNEL : FIELD_PRICE;

    while (i < end && (mem_word(key) != mem_word(message_fields[i]) ||
                       mem_word(key + 4) != mem_word(message_fields[i] + 4) ||
                       mem_word(key + 8) != mem_word(message_fields[i] + 8))) {
        i++;
    }
    return i < end ? (enum message_field)i : FIELD_NONE;
}

/* Takes the current value as a whole; message_item() comes after it. */
WARM int message_take(struct mst_decoder *d) {
    d->kept.item = d->message_len - d->len + d->at;
    return json_take(&d->json, JSON_TAKE);
}

/* The error for a value of a wrong type, or for what is no value at all. */
static int message_misfit(const struct mst_decoder *d) {
    struct mst_json j = {0};

    return json_begin(&j, d->data[d->at]) != 0 ? MST_ERR_JSON_SYNTAX
                                               : MST_ERR_MESSAGE_SHAPE;
}

/* Reads a scalar: a plain string of this piece at once, others when whole. */
static int message_read(struct mst_decoder *d) {
    const char *begin = (const char *)d->data + d->at + 1, *at = NULL;
    const char *end = (const char *)d->data + d->len;
    struct json_text t = {begin, 0, true, false};
    bool known;

    if (begin[-1] != '"') {
        return message_take(d);
    }
    if (d->field >= FIELD_TIME) {
        at = message_time(d, begin, end, &d->time.of[d->field - FIELD_TIME]);
    } else if (d->field == FIELD_PRICE || d->field == FIELD_AMOUNT) {
        at = message_number_pass(begin, end,
                                 &d->numbers[d->field - FIELD_PRICE]);
    }
    known = at != NULL && at < end && *at == '"';
    if (!known) {
        at = begin + json_plain((const uint8_t *)begin, (size_t)(end - begin));
    }
    if (at == end || *at != '"') {
        return message_take(d);
    }
    t.len = (size_t)(at - begin);
    d->at += t.len + 2;
    d->json.state = JSON_AT_COMMA;
    return t.len + 2 > d->kept.buffer_len
               ? message_fault(d, MST_ERR_MESSAGE_SIZE, "", 0)
           : known ? message_taken(d)
                   : message_scalar(d, &t);
}

/* Steps into an object or array that can be used now; null is an empty one. */
static int message_container(struct mst_decoder *d) {
    const enum message_field field = (enum message_field)d->field;
    const bool payload = field == FIELD_PAYLOAD;
    const uint8_t c = d->data[d->at];

    (void)message_taken(d);
    if (c != (payload ? '{' : '[')) {
        (void)json_take(&d->json, JSON_SKIP);
        return c == 'n' && !payload
                   ? 0
                   : message_fault(d, message_misfit(d), "", 0);
    }
    if (payload) {
        d->place = MESSAGE_PAYLOAD;
        d->at++;
        return json_open(&d->json, false);
    }
    if (field == FIELD_ENTRIES ? message_is_response(d) : message_streams(d)) {
        d->at++;
        return message_stream(d, field);
    }
    d->taken &= (uint16_t)~BIT(field);
    return json_take(&d->json, JSON_SKIP);
}

/* Reads the value of a member, or skips it. */
static int message_member(struct mst_decoder *d) {
    const enum message_field field = message_field(d);
    const bool known = message_is_data(d) || message_is_response(d);
    const unsigned bit = BIT(field);

    if (field == FIELD_ERROR && d->data[d->at] != 'n') {
        d->seen |= (uint16_t)bit; /* read at the message's end */
    }
    if (field == FIELD_NONE || field == FIELD_ERROR ||
        (known && (message_relevant(d) & bit) == 0)) {
        return json_take(&d->json, JSON_SKIP);
    }
    d->field = (uint8_t)field;
    if ((d->seen & bit) != 0) {
        (void)json_take(&d->json, JSON_SKIP);
        return message_fault(d, MST_ERR_MESSAGE_KEY, "", 0);
    }
    d->seen |= (uint16_t)bit;
    if (field <= FIELD_ACTION && d->data[d->at] != '"') {
        /* No string; the other one of "channel" and "type" may say more. */
        (void)message_taken(d);
        return json_take(&d->json, JSON_SKIP);
    }
    return (bit & MESSAGE_CONTAINERS) != 0 ? message_container(d)
                                           : message_read(d);
}

/* Decides about a value: 0 to continue, 1 with an event, or an error. */
static int message_value(struct mst_decoder *d, struct mst_event *event) {
    const uint8_t c = d->data[d->at];

    switch ((enum message_place)d->place) {
    case MESSAGE_BEFORE:
        if (c != '{') {
            return json_take(&d->json, JSON_SKIP);
        }
        d->place = MESSAGE_ROOT;
        break;
    case MESSAGE_LEVELS:
        if (c != '{') {
            return message_misfit(d);
        }
        if (d->channel == MST_TOP_OF_BOOK && d->there[d->side]) {
            return json_take(&d->json, JSON_SKIP);
        }
        if (d->count == MST_PART_LEVELS) {
            return message_part(d, event);
        }
        d->place = MESSAGE_LEVEL;
        d->seen &= (uint16_t)~MESSAGE_NUMBERS;
        break;
    case MESSAGE_ENTRIES: return message_take(d);
    default: return message_member(d);
    }
    d->at++;
    return json_open(&d->json, false);
}

/* Reads a scalar or an entry that was taken as a whole. */
static int message_item(struct mst_decoder *d, struct mst_event *event) {
    char scratch[MST_TEXT_MAX + 1];
    const size_t len = d->message_len - d->len + d->at - d->kept.item;
    const char *text = message_text(d, d->kept.item, d->at);
    struct json_text t;

    d->kept.item = 0;
    if (d->place == MESSAGE_ENTRIES) {
        return message_entry(d, text, len, event);
    }
    if (text == NULL) {
        return message_fault(d, MST_ERR_MESSAGE_SIZE, "", 0);
    }
    t = json_scalar(text, len, scratch, sizeof scratch);
    return message_scalar(d, &t);
}

/* Leaves an object or array. A level joins the part, or is its side's best. */
static int message_close(struct mst_decoder *d) {
    const bool top = d->channel == MST_TOP_OF_BOOK;
    struct mst_level *level;

    if (d->place != MESSAGE_LEVEL) {
        d->place = d->place == MESSAGE_LEVELS ? MESSAGE_PAYLOAD : MESSAGE_ROOT;
        return 0;
    }
    if ((d->seen & MESSAGE_NUMBERS) != MESSAGE_NUMBERS) {
        return MST_ERR_MESSAGE_SHAPE;
    }
    level = &d->shared.levels[top ? d->side : d->count];
    message_level_set(d, level);
    if (top) {
        d->there[d->side] = level->amount_coefficient != 0;
    } else {
        d->count++;
    }
    d->place = MESSAGE_LEVELS;
    return 0;
}

/* Keeps bytes of a used-up piece in the buffer: all if the message may be read
 * again, else those of the value being taken, unless it is too large. */
static void message_keep(struct mst_decoder *d) {
    const size_t end = d->message_len;
    const bool all = end <= d->kept.buffer_len && !message_streams(d) &&
                     d->kept.len == end - d->len;
    const size_t from = all ? 0 : d->kept.item != 0 ? d->kept.item : end;
    const char *text = message_text(d, from, d->len);

    d->kept.len = text != NULL ? end - from : 0;
    if (text != NULL && text != (const char *)d->kept.buffer) {
        memmove(d->kept.buffer, text, end - from);
    }
    d->at = d->len = 0;
}

/* Begins the second reading. What skipped fields belong to is known now. */
static int message_again(struct mst_decoder *d) {
    const char *text = message_text(d, 0, d->len);

    if (text == NULL) {
        return MST_ERR_MESSAGE_ORDER;
    }
    d->data = (const uint8_t *)text;
    d->len = d->message_len;
    d->at = d->kept.len = 0;
    d->seen = 0;
    d->place = MESSAGE_BEFORE;
    d->json.state = JSON_AT_VALUE;
    return 0;
}

/* Makes the last event of a data message. */
static int message_data(struct mst_decoder *d, struct mst_event *event) {
    const int64_t time_ns = d->time.of[message_times[d->channel]];
    struct mst_level *best = d->shared.levels;

    switch ((enum mst_channel)d->channel) {
    case MST_MARKET_DATA: return message_part(d, event);
    case MST_TOP_OF_BOOK:
        event->type = MST_EVENT_TOP;
        event->as.top = (struct mst_top){
            .market = d->said.market,
            .time_ns = time_ns,
            .has_bid = d->there[MST_BID],
            .has_ask = d->there[MST_ASK],
        };
        best[MST_BID].time_ns = best[MST_ASK].time_ns = time_ns;
        if (d->there[MST_BID]) {
            event->as.top.bid = best[MST_BID];
        }
        if (d->there[MST_ASK]) {
            event->as.top.ask = best[MST_ASK];
        }
        break;
    case MST_EXECUTION_DATA:
        event->type = MST_EVENT_EXECUTION;
        event->as.execution = (struct mst_execution){
            .market = d->said.market,
            .time_ns = time_ns,
            .price = d->numbers[0],
            .amount = d->numbers[1],
        };
        break;
    default:
        event->type = MST_EVENT_HEARTBEAT;
        event->as.heartbeat.time_ns = time_ns;
    }
    return 1;
}

/* Ends a message: returns 0 to read it again, 1 with an event, or an error. */
static int message_end(struct mst_decoder *d, struct mst_event *event) {
    const bool data = message_is_data(d), response = message_is_response(d);
    const bool error = (d->seen & BIT(FIELD_ERROR)) != 0;
    const unsigned missing =
        data ? message_matters[d->channel] & ~(MESSAGE_SIDES | d->seen) : 0u;

    if (d->place == MESSAGE_BEFORE || missing != 0 ||
        (data && d->action <= MESSAGE_ACTION_ERROR)) {
        return MST_ERR_MESSAGE_SHAPE;
    }
    if ((message_relevant(d) & d->seen & ~(unsigned)d->taken) != 0) {
        return message_again(d);
    }
    d->place = MESSAGE_DONE;
    if (data) {
        return message_data(d, event);
    }
    if (response && (d->seen & BIT(FIELD_ENTRIES)) != 0 &&
        (d->response.entries > 0 || !error)) {
        message_event(event, MST_EVENT_RESPONSE);
        event->as.response.action = (enum mst_action)d->action;
        event->as.response.entries = d->response.entries;
        event->as.response.failed = d->response.failed;
        return 1;
    }
    if (d->action == MESSAGE_ACTION_ERROR || error) {
        return message_service_error(d, event);
    }
    if (response) {
        return MST_ERR_MESSAGE_SHAPE;
    }
    message_event(event, MST_EVENT_UNKNOWN);
    event->as.unknown.len = d->message_len;
    event->as.unknown.text = message_text(d, 0, d->len);
    return 1;
}

/* Continues: 1 with an event, 0 when the piece is used up, or an error. */
static int message_scan(struct mst_decoder *d, struct mst_event *event) {
    int rc;

    do {
        if (MESSAGE_FAST && d->json.mode == JSON_STEP) {
            message_fast(d);
        }
        rc = d->at < d->len ? json_next(&d->json, d->data, d->len, &d->at)
                            : JSON_MORE;
        switch (rc) {
        case JSON_VALUE: rc = message_value(d, event); break;
        case JSON_ITEM: rc = message_item(d, event); break;
        case JSON_CLOSE: rc = message_close(d); break;
        case JSON_MORE:
            if (d->behind.len > 0) {
                message_keep(d);
                d->data = d->behind.data;
                d->len = d->behind.len;
                d->message_len += d->len;
                d->behind.len = 0;
            } else if (!d->final) {
                message_keep(d);
                return 0;
            } else {
                rc = json_whole(&d->json) ? message_end(d, event)
                                          : MST_ERR_JSON_SYNTAX;
            }
            break;
        default: break; /* an error */
        }
    } while (rc == 0);
    return rc;
}

int mst_decoder_init(struct mst_decoder *decoder, void *buffer, size_t len,
                     unsigned flags) {
    if (decoder == NULL || buffer == NULL || len < 256) {
        return MST_ERR_ARGUMENT;
    }
    memset(decoder, 0, sizeof *decoder);
    decoder->kept.buffer = buffer;
    decoder->kept.buffer_len = len;
    decoder->strict = (flags & MST_STRICT_AMOUNTS) != 0;
    /* A valid minute. With zeros, a text of zeros would count as known. */
    memcpy(decoder->time.minute, "1970-01-01T00:00:", MST_MINUTE_LEN);
    decoder->place = MESSAGE_BETWEEN;
    return 0;
}

void mst_decoder_feed(struct mst_decoder *decoder, const void *data, size_t len,
                      bool final) {
    if (decoder->place == MESSAGE_BETWEEN) {
        memset(decoder, 0, offsetof(struct mst_decoder, data));
        decoder->channel = decoder->action = MESSAGE_NONE;
        decoder->kept.len = decoder->kept.item = 0;
    }
    data = data != NULL ? data : decoder->kept.buffer;
    decoder->final = final;
    decoder->behind.len = 0;
    /* Collects a message's first pieces while they are small and the buffer has
     * room, because the fast lane needs whole levels. */
    if (WORDS && MESSAGE_FAST && decoder->message_len == 0 &&
        (!final || decoder->waiting > 0)) {
        const size_t room = decoder->kept.buffer_len - decoder->waiting;
        const bool small = len <= room / 4;
        if (small) {
            memcpy(decoder->kept.buffer + decoder->waiting, data, len);
            decoder->waiting += len;
        } else {
            decoder->behind.data = data;
            decoder->behind.len = len;
        }
        data = decoder->kept.buffer;
        len = small && !final ? 0 : decoder->waiting;
        decoder->waiting -= len;
    }
    decoder->data = data;
    decoder->len = len;
    decoder->at = 0;
    decoder->message_len += len;
}

int mst_decoder_next(struct mst_decoder *decoder, struct mst_event *event) {
    if (decoder->place <= MESSAGE_ENTRIES && decoder->waiting == 0) {
        decoder->said.text[0] = '\0';
        decoder->error = message_scan(decoder, event);
        if (decoder->error >= 0) {
            return decoder->error;
        }
        decoder->place = MESSAGE_FAILED;
        if (decoder->parts_out) {
            return message_part(decoder, event);
        }
    }
    if (decoder->place == MESSAGE_FAILED) {
        /* A market that came twice is left out. */
        const bool market = message_is_data(decoder) &&
                            (decoder->taken & BIT(FIELD_MARKET)) != 0;
        decoder->place = MESSAGE_DONE;
        return message_error(decoder, event, decoder->error,
                             market ? decoder->said.market : "");
    }
    if (decoder->final) {
        decoder->place = MESSAGE_BETWEEN;
    }
    return 0;
}

int mst_decoder_abort(struct mst_decoder *decoder, struct mst_event *event) {
    int rc = 0;

    if (decoder->place <= MESSAGE_ENTRIES && decoder->parts_out) {
        decoder->place = MESSAGE_FAILED;
        rc = message_part(decoder, event);
    }
    decoder->place = MESSAGE_BETWEEN;
    return rc;
}

/* ------------------------------------------------------------------------
 * 8 addresses
 *
 * Writes requests for crypto destination addresses as JSON, and reads the
 * replies: address records, or problems (RFC 9457).
 * ------------------------------------------------------------------------ */

/* What is wrong with a request: a field plus, in steps of 16, a broken rule. */
enum address_fault {
    ADDRESS_ID = 1,
    ADDRESS_NETWORK,
    ADDRESS_ADDRESS,
    ADDRESS_NICKNAME,
    ADDRESS_FIRST_NAME, /* from here on in the order of struct mst_travelrule */
    ADDRESS_LAST_NAME,
    ADDRESS_INSTITUTION,
    ADDRESS_VASP_ID,
    ADDRESS_CUSTODIAN_TYPE,
    ADDRESS_BOOKMARKED,
    ADDRESS_IDENTITY,
    ADDRESS_MISSING = 16,
    ADDRESS_EMPTY = 32,
    ADDRESS_LONG = 48,
    ADDRESS_UTF8 = 64,
    ADDRESS_CONTRADICTS = 80,
    ADDRESS_VALUE = 96
};

/* The fault of one text, or 0. */
static unsigned address_text_fault(unsigned field, const char *text) {
    size_t len = text != NULL ? strlen(text) : 0;
    bool word = field <= ADDRESS_NETWORK || field == ADDRESS_CUSTODIAN_TYPE;

    if (text != NULL && len == 0 &&
        (field < ADDRESS_NICKNAME || field > ADDRESS_INSTITUTION)) {
        return field + ADDRESS_EMPTY;
    }
    if (len > (word ? MST_ADDRESS_WORD_MAX : MST_ADDRESS_TEXT_MAX)) {
        return field + ADDRESS_LONG;
    }
    return utf8_is(text, len) ? 0 : field + ADDRESS_UTF8;
}

/* The fault of fields that exclude or need each other, or 0. */
static unsigned address_travelrule_fault(const struct mst_travelrule *t) {
    const char *wrong = t->vasp_id == NULL ? "VASP" : "PRIVATE";

    if (t->institution != NULL &&
        (t->first_name != NULL || t->last_name != NULL)) {
        return ADDRESS_INSTITUTION + ADDRESS_CONTRADICTS;
    }
    if (t->custodian_type == NULL || strcmp(t->custodian_type, wrong) != 0) {
        return 0;
    }
    return ADDRESS_VASP_ID +
           (t->vasp_id == NULL ? ADDRESS_MISSING : ADDRESS_CONTRADICTS);
}

/* The first fault, or 0. Checks identification, each text, contradictions. */
static unsigned address_fault(const struct mst_address_request *r) {
    const struct mst_travelrule none = {0};
    const struct mst_travelrule *t =
        r->travelrule != NULL ? r->travelrule : &none;
    const char *texts[ADDRESS_BOOKMARKED] = {NULL, r->id, r->network,
                                             r->address, r->nickname};
    unsigned fault = 0;

    if (r->id != NULL && (r->network != NULL || r->address != NULL)) {
        return ADDRESS_ID + ADDRESS_CONTRADICTS;
    }
    if (r->id == NULL && (r->network == NULL || r->address == NULL)) {
        return ADDRESS_MISSING + (r->address != NULL   ? ADDRESS_NETWORK
                                  : r->network != NULL ? ADDRESS_ADDRESS
                                                       : ADDRESS_IDENTITY);
    }
    memcpy(&texts[ADDRESS_FIRST_NAME], t, sizeof *t);
    for (unsigned i = ADDRESS_ID; fault == 0 && i < ADDRESS_BOOKMARKED; i++) {
        fault = address_text_fault(i, texts[i]);
    }
    if (fault == 0 && (unsigned)r->bookmarked > MST_BOOKMARK_TRUE) {
        fault = ADDRESS_BOOKMARKED + ADDRESS_VALUE;
    }
    return fault != 0 ? fault : address_travelrule_fault(t);
}

int mst_address_check(const struct mst_address_request *request,
                      char why[MST_TEXT_MAX + 1]) {
    static const char fields[] =
        "id\0network\0address\0nickname\0first_name\0last_name\0institution\0"
        "vasp_id\0custodian_type\0bookmarked\0id (or network and address)\0";
    static const char rules[] =
        " is missing\0 is empty\0 is too long\0 is not valid UTF-8\0"
        " contradicts another field\0 has no such value\0";
    struct out o = {(uint8_t *)why, MST_TEXT_MAX, 0, 0};
    unsigned fault = request != NULL ? address_fault(request) : 0;

    if (why != NULL) { /* both texts are "" if there is no fault */
        out_text(&o, text_nth(fields, fault % 16 - 1));
        out_text(&o, text_nth(rules, fault / 16 - 1));
        why[out_stored(&o)] = '\0';
    }
    return request == NULL ? MST_ERR_ARGUMENT
           : fault != 0    ? MST_ERR_ADDRESS
                           : 0;
}

/* Writes a member if it has a value; returns what comes before the next one. */
static const char *address_member_write(struct out *o, const char *before,
                                        const char *name, const char *value) {
    if (value == NULL) {
        return before;
    }
    out_text(o, before);
    json_write_string(o, name);
    out_byte(o, ':');
    json_write_string(o, value);
    return ",";
}

static void address_body_write(struct out *o,
                               const struct mst_address_request *r) {
    const struct mst_travelrule *t = r->travelrule;
    const char *before = address_member_write(o, "{", "id", r->id);

    before = address_member_write(o, before, "crypto_network", r->network);
    before = address_member_write(o, before, "address", r->address);
    (void)address_member_write(o, before, "nickname", r->nickname);
    if (r->bookmarked != MST_BOOKMARK_UNCHANGED) {
        out_text(o, ",\"bookmarked_status\":");
        out_text(o, r->bookmarked == MST_BOOKMARK_TRUE ? "true" : "false");
    }
    if (t != NULL) {
        out_text(o, ",\"travelrule_metadata\":{");
        before = t->institution != NULL /* never with a person */
                     ? "\"beneficiary\":{\"institution_details\":{"
                     : "\"beneficiary\":{\"person_details\":{";
        before = address_member_write(o, before, "first_name", t->first_name);
        before = address_member_write(o, before, "last_name", t->last_name);
        before = address_member_write(o, before, "name", t->institution);
        if (*before == ',') {
            out_byte(o, '}');
            out_byte(o, '}');
        } else {
            before = "";
        }
        if (t->vasp_id != NULL) {
            out_text(o, before);
            before = address_member_write(o, "\"vasp\":{", "id", t->vasp_id);
            out_byte(o, '}');
        }
        (void)address_member_write(o, before, "custodian_type",
                                   t->custodian_type);
        out_byte(o, '}');
    }
    out_byte(o, '}');
}

#define ADDRESS_AT(member) OBJECT_AT(struct mst_address, member)

static const struct object_field address_fields[] = {
    {"address", 0, 0, 0, OBJECT_OBJECT, OBJECT_ENTERED},
    {"id", ADDRESS_AT(id), 1, OBJECT_TEXT, OBJECT_WHOLE},
    {"crypto_network", ADDRESS_AT(network), 1, OBJECT_TEXT, OBJECT_WHOLE},
    {"address", ADDRESS_AT(address), 1, OBJECT_TEXT, OBJECT_WHOLE},
    {"nickname", ADDRESS_AT(nickname), 1, OBJECT_TEXT, OBJECT_WHOLE},
    {"status", ADDRESS_AT(status), 1, OBJECT_TEXT, OBJECT_WHOLE},
    {"created_at", ADDRESS_AT(created_ns), 1, OBJECT_TIME, 0},
    {"bookmarked", ADDRESS_AT(bookmarked), 1, OBJECT_BOOL, 0},
};

/* Stores a status or a time, for struct object. */
static int address_convert(const struct object_field *f, const char *item,
                           size_t len, void *to) {
    char scratch[64];
    const struct json_text t = json_scalar(item, len, scratch, sizeof scratch);
    uint32_t status = 0;

    if (f->kind == OBJECT_TIME) {
        return t.cut ? MST_ERR_TIME : mst_time_parse(t.at, t.len, to);
    }
    (void)decimal_count(t.at, t.len, &status);
    *(int *)to = status >= 100 && status < 600 ? (int)status : 0;
    return 0;
}

/* Reads a body into a struct, which is all zero after an error. */
static int address_body_read(const void *body, size_t len,
                             const struct object_field *fields, unsigned count,
                             struct mst_tokens *tokens, void *into,
                             size_t size) {
    struct object o = {
        .fields = fields, .count = count, .convert = address_convert};
    int rc = json_check(body, len);

    memset(into, 0, size);
    rc = rc != 0 ? rc : object_read(&o, body, len, tokens, into);
    if (rc != 0) {
        memset(into, 0, size);
    }
    return rc;
}

/* Reads the body of a 200 response. After an error, address is all zero. */
static int address_read(const void *body, size_t len, struct mst_tokens *tokens,
                        struct mst_address *address) {
    int rc =
        address_body_read(body, len, address_fields, COUNT_OF(address_fields),
                          tokens, address, sizeof *address);

    if (rc == 0 && address->id[0] == '\0') {
        memset(address, 0, sizeof *address);
        return MST_ERR_MESSAGE_SHAPE;
    }
    return rc;
}

#define PROBLEM_AT(member) OBJECT_AT(struct mst_problem, member)

static const struct object_field problem_fields[] = {
    {"title", PROBLEM_AT(title), 0, OBJECT_WORD, OBJECT_LENIENT},
    {"error", PROBLEM_AT(title), 0, OBJECT_WORD,
     OBJECT_LENIENT | OBJECT_ENTERED},
    {"code", PROBLEM_AT(title), 0, OBJECT_WORD, OBJECT_LENIENT},
    {"code", PROBLEM_AT(title), 2, OBJECT_WORD, OBJECT_LENIENT},
    {"detail", PROBLEM_AT(detail), 0, OBJECT_WORD, OBJECT_LENIENT},
    {"message", PROBLEM_AT(detail), 0, OBJECT_WORD, OBJECT_LENIENT},
    {"error_description", PROBLEM_AT(detail), 0, OBJECT_WORD, OBJECT_LENIENT},
    {"message", PROBLEM_AT(detail), 2, OBJECT_WORD, OBJECT_LENIENT},
    {"status", PROBLEM_AT(status), 0, OBJECT_STATUS, OBJECT_LENIENT},
};

/* Reads the body of an error response: application/problem+json (RFC 9457), the
 * errors of RFC 6749 or another usual form. Otherwise problem is all zero. */
static void address_problem_read(const void *body, size_t len,
                                 struct mst_tokens *tokens,
                                 struct mst_problem *problem) {
    (void)address_body_read(body, len, problem_fields, COUNT_OF(problem_fields),
                            tokens, problem, sizeof *problem);
}

/* ------------------------------------------------------------------------
 * 9 book: sides
 *
 * A snapshot has all levels of a book; updates then set or remove some.
 *
 * Each side is sorted from its worst level to its best, so that a change near
 * the top moves few bytes, and each level has the time that set it. Updates
 * that come before the snapshot are collected in the same way, removals as
 * levels of amount 0. When a snapshot begins, updates newer than it move to the
 * end of the array; its levels fill the front. If the array becomes full, the
 * front is made a heap with the worst level on top.
 *
 * A full side drops its worst level, or removal, and remembers the price as its
 * horizon: better prices are exact, the rest is unknown and not shown.
 *
 * Comparing decimals takes long, so each level also has a key: its price as a
 * number of 32 bits, in a unit that the side has chosen.
 * ------------------------------------------------------------------------ */

enum book_phase {
    BOOK_RESTART, /* the next message begins a new book */
    BOOK_COLLECT, /* collects updates until the snapshot comes */
    BOOK_FOLLOW,  /* applies updates to the snapshot */
    /* Inside a message: */
    BOOK_IN_EARLY, /* an update that is collected */
    BOOK_IN_SNAPSHOT,
    BOOK_IN_UPDATE,
    BOOK_IN_OLD /* an update that is older than the snapshot */
};
/* Closer times may be of one moment: some are only in milliseconds. */
#define BOOK_ALIKE_NS 1000000
/* A side's unit gives its best price nine digits, and changes once the price
 * has fewer units than the least, or as many as the most. */
#define BOOK_UNITS_DIGITS 9
#define BOOK_UNITS_LEAST 10000000
#define BOOK_UNITS_MOST (UINT32_MAX / 2)
/* Most changes are among the best levels, fewer than this many. */
#define BOOK_NEAR 128
/* How many levels of an update are searched for together. */
#define BOOK_BATCH 16

struct mst_decimal mst_level_price(const struct mst_level *level) {
    return (struct mst_decimal){level->price_coefficient, level->price_exponent,
                                false};
}

struct mst_decimal mst_level_amount(const struct mst_level *level) {
    return (struct mst_decimal){level->amount_coefficient,
                                level->amount_exponent,
                                (level->flags & MST_LEVEL_INEXACT) != 0};
}

/* True if a time is older by enough to be of another moment. */
static bool book_is_older(int64_t time_ns, int64_t than_ns) {
    return than_ns - time_ns >= BOOK_ALIKE_NS;
}

/* Positive if price a is better than b, negative if it is worse. */
static int book_better(enum mst_side side, struct mst_decimal a,
                       struct mst_decimal b) {
    int cmp = mst_decimal_cmp(a, b);

    return side == MST_BID ? cmp : -cmp;
}

static int book_compare(const struct mst_level *a, const struct mst_level *b) {
    return book_better((enum mst_side)a->side, mst_level_price(a),
                       mst_level_price(b));
}

static bool book_same(const struct mst_level *a, const struct mst_level *b) {
    return book_compare(a, b) == 0 &&
           mst_decimal_cmp(mst_level_amount(a), mst_level_amount(b)) == 0;
}

/* A bid's key for a price that is no whole number of units, or too many. */
COLD uint32_t book_key_rounded(int64_t coefficient, int shift) {
    uint64_t units = coefficient > 0 ? (uint64_t)coefficient : 0;
    bool whole = units > 0;

    for (; shift < 0 && units > 0; shift++) {
        whole &= units % 10 == 0;
        units /= 10;
    }
    return units >= BOOK_UNITS_MOST || (shift > 0 && units > 0)
               ? UINT32_MAX
               : 2 * (uint32_t)units + !whole;
}

/* Returns a price's key; a better price has a larger one. A bid's is twice the
 * price in units, rounded down, plus 1 if there is a remainder; an ask's is its
 * complement. Different prices share a key only if both have a remainder. */
HOT uint32_t book_key(const struct mst_book_side *s,
                      const struct mst_level *level) {
    int shift = level->price_exponent - s->unit;
    uint64_t units = (uint64_t)level->price_coefficient;
    uint32_t key;

    if ((unsigned)shift <= BOOK_UNITS_DIGITS && units - 1 < UINT32_MAX &&
        units * decimal_powers[shift] < BOOK_UNITS_MOST) {
        key = 2 * (uint32_t)(units * decimal_powers[shift]);
    } else {
        key = book_key_rounded(level->price_coefficient, shift);
    }
    return key ^ (0 - (uint32_t)level->side);
}

/* True if no other price has this key. */
static bool book_key_is_exact(uint32_t key, unsigned side) {
    return ((key ^ side) & 1) == 0;
}

/* As book_compare(), by keys of the same unit where these are enough. */
static int book_rank(const struct mst_level *a, const struct mst_level *b) {
    if (a->key != b->key) {
        return a->key > b->key ? 1 : -1;
    }
    return book_key_is_exact(a->key, a->side) ? 0 : book_compare(a, b);
}

/* Chooses another unit if it no longer suits the best price, which there is. */
static void book_measure(struct mst_book_side *s) {
    const struct mst_level *best = &s->levels[s->count - 1];
    uint32_t units = (best->key ^ (0 - (uint32_t)best->side)) / 2;

    if ((units >= BOOK_UNITS_LEAST && units < BOOK_UNITS_MOST) ||
        best->price_coefficient <= 0) {
        return;
    }
    s->unit = (int8_t)(decimal_len((uint64_t)best->price_coefficient) +
                       best->price_exponent - BOOK_UNITS_DIGITS);
    for (uint32_t i = 0; i < s->count; i++) {
        s->levels[i].key = book_key(s, &s->levels[i]);
    }
}

/* Steps of a search: of 2 * width - 1 levels, or 4 * width - 1, they leave
 * width - 1. They have no branches, which no processor could predict. */
HOT const struct mst_level *book_halve(const struct mst_level *at, size_t width,
                                       uint32_t key) {
    return at + (width & (0 - (size_t)(at[width - 1].key < key)));
}

#if WORDS
HOT const struct mst_level *book_quarter(const struct mst_level *at,
                                         size_t width, uint32_t key) {
    return at + width * ((size_t)(at[width - 1].key < key) +
                         (size_t)(at[2 * width - 1].key < key) +
                         (size_t)(at[3 * width - 1].key < key));
}
#endif

/* The index of the first of the sorted levels whose key is not less. */
HOT uint32_t book_place(const struct mst_level *levels, uint32_t count,
                        uint32_t key) {
    const struct mst_level *at = levels;
    size_t width = BOOK_NEAR, left = count, less = 0;

    if (count == 0) {
        return 0;
    }
    while (width > left) {
        width /= 2;
    }
    if (left < 2 * BOOK_NEAR) {
        at = book_halve(at, left - width + 1, key);
    } else if (at[left - width].key < key) {
        at += left - width + 1;
    } else { /* not near the best: find the right BOOK_NEAR levels */
        for (; left > 8 * (size_t)BOOK_NEAR; left -= left / 2) {
            at = book_halve(at, left / 2, key);
        }
        for (size_t i = BOOK_NEAR; i <= left; i += BOOK_NEAR) {
            less += at[i - 1].key < key;
        }
        at += less * BOOK_NEAR;
    }
#if WORDS
    if (width == BOOK_NEAR) {
        at = book_quarter(at, BOOK_NEAR / 4, key);
        at = book_quarter(at, BOOK_NEAR / 16, key);
        at = book_quarter(at, BOOK_NEAR / 64, key);
        at += (size_t)(at->key < key); /* in the loop, clang makes a branch */
        width = 1;
    } else if (width == BOOK_NEAR / 2) {
        at = book_quarter(at, BOOK_NEAR / 8, key);
        at = book_quarter(at, BOOK_NEAR / 32, key);
        at = book_quarter(at, BOOK_NEAR / 128, key);
        width = BOOK_NEAR / 128;
    }
#endif
    while ((width /= 2) > 0) {
        at = book_halve(at, width, key);
    }
    return (uint32_t)(at - levels);
}

/* A level to be found among others; place is the index of the first one that is
 * not worse, at first by its key, after book_search() also by its price. */
struct book_sought {
    const struct mst_level *level;
    uint32_t key, place;
};

/* Corrects the place by prices. Returns the level of this price, or NULL. */
static struct mst_level *book_search(struct mst_level *levels, uint32_t count,
                                     struct book_sought *sought) {
    uint32_t at = sought->place, high = count;

    if (at == count || levels[at].key != sought->key) {
        return NULL;
    }
    if (book_key_is_exact(sought->key, sought->level->side)) {
        return &levels[at];
    }
    while (at < high) {
        uint32_t middle = at + (high - at) / 2;
        if (book_compare(&levels[middle], sought->level) < 0) {
            at = middle + 1;
        } else {
            high = middle;
        }
    }
    sought->place = at;
    return at < count && book_compare(&levels[at], sought->level) == 0
               ? &levels[at]
               : NULL;
}

/* True if this price is not better than the side's horizon: it is unknown. */
static bool book_is_beyond(const struct mst_book_side *s,
                           const struct mst_level *level) {
    return s->cut && book_better((enum mst_side)level->side,
                                 mst_level_price(level), s->horizon) <= 0;
}

/* Drops a level that has no room: its price and worse ones are now unknown. */
static void book_cut(struct mst_book_side *s, const struct mst_level *level) {
    if (!book_is_beyond(s, level)) {
        s->horizon = mst_level_price(level);
    }
    if (!s->cut || level->time_ns > s->cut_ns) {
        s->cut_ns = level->time_ns;
    }
    s->cut = true;
}

/* As memmove(), which small C libraries do byte by byte. */
static void book_move(struct mst_level *to, const struct mst_level *from,
                      uint32_t count) {
#if WORDS
    memmove(to, from, count * sizeof *to);
#else
    if (to < from) {
        for (uint32_t i = 0; i < count; i++) {
            to[i] = from[i];
        }
    } else {
        while (count-- > 0) {
            to[count] = from[count];
        }
    }
#endif
}

/* Moves a side's levels to the beginning of its array. */
static void book_pack(struct mst_book_side *s) {
    book_move(s->levels - s->front, s->levels, s->count);
    s->levels -= s->front;
    s->front = 0;
}

/* Opens a gap at a place (by is 1), or removes the level there (-1). The worse
 * levels move if they are fewer and have room before them, else the better. */
static void book_shift(const struct mst_book *book, struct mst_book_side *s,
                       uint32_t at, int by) {
    uint32_t better = s->count - at - (by < 0);

    if (at < better && (by < 0 || s->front > 0)) {
        book_move(s->levels - by, s->levels, at);
        s->levels -= by;
        s->front -= (uint32_t)by;
    } else {
        if (by > 0 && s->front + s->count == book->capacity) {
            book_pack(s);
        }
        book_move(s->levels + at + (by > 0), s->levels + at + (by < 0), better);
    }
    s->count += (uint32_t)by;
}

/* Inserts a level. A full side first drops some of its worst levels, so that
 * not each new level moves all others. */
static void book_insert(const struct mst_book *book, struct mst_book_side *s,
                        const struct book_sought *new) {
    uint32_t at = new->place;

    if (s->count == book->capacity) {
        if (at == 0) {
            book_cut(s, new->level);
            return;
        }
        for (uint32_t n = book->capacity / 64 + 1; n > 0 && at > 0; n--, at--) {
            book_cut(s, s->levels);
            book_shift(book, s, 0, -1);
        }
    }
    book_shift(book, s, at, 1);
    s->levels[at] = *new->level;
    s->levels[at].key = new->key;
}

/* Applies a level of an update, unless its price has a newer time. A level
 * keeps its newest time, as later ones of a moment may have fewer digits. */
static void book_change(struct mst_book *book, struct book_sought *late) {
    const struct mst_level *level = late->level;
    struct mst_book_side *s = &book->sides[level->side];
    uint32_t at = late->place < s->count ? late->place : s->count;
    bool forget =
        level->amount_coefficient == 0 && book->phase != BOOK_IN_EARLY;
    struct mst_level *here;

    /* Earlier changes may have moved the place. */
    while (at > 0 && s->levels[at - 1].key >= late->key) {
        at--;
    }
    while (at < s->count && s->levels[at].key < late->key) {
        at++;
    }
    late->place = at;
    here = book_search(s->levels, s->count, late);
    if (here == NULL) {
        if (late->place == 0 && book_is_beyond(s, level)) {
            book_cut(s, level);
        } else if (!forget) {
            book_insert(book, s, late);
        }
    } else if (book_is_older(level->time_ns, here->time_ns)) {
        return;
    } else if (forget) {
        book_shift(book, s, late->place, -1);
    } else {
        int64_t known_ns = here->time_ns;
        *here = *level;
        here->key = late->key;
        here->time_ns = level->time_ns > known_ns ? level->time_ns : known_ns;
    }
}

/* Sets the amount of a level if that is all there is to do, else returns false.
 * Has no branch: a level that is not to change is replaced by a dummy. */
HOT bool book_set(struct mst_level *here, const struct mst_level *level,
                  uint32_t key) {
    struct mst_level none;
    bool is = (here->key == key) & book_key_is_exact(key, level->side) &
              (level->amount_coefficient != 0) &
              (level->time_ns >= here->time_ns);
    struct mst_level *to = is ? here : &none;

    to->amount_coefficient = level->amount_coefficient;
    to->amount_exponent = level->amount_exponent;
    to->flags = level->flags;
    to->time_ns = level->time_ns;
    return is;
}

/* Applies some levels of an update; returns how many. Most set an amount, which
 * moves no other level: these go first, so that no search waits for another. A
 * removal is the last, because its price may be set again later. */
static size_t book_update(struct mst_book *book, const struct mst_level *levels,
                          size_t count) {
    struct book_sought late[BOOK_BATCH], *last = late;
    size_t n = 0;

    do {
        const struct mst_level *level = &levels[n++];
        struct mst_book_side *s = &book->sides[level->side];
        uint32_t key = book_key(s, level);
        *last = (struct book_sought){level, key, s->count};
        if (s->count == 0 || s->levels[s->count - 1].key < key) {
            last++;
        } else {
            last->place = book_place(s->levels, s->count, key);
            last += !book_set(&s->levels[last->place], level, key);
        }
    } while (n < count && n < BOOK_BATCH &&
             levels[n - 1].amount_coefficient != 0);
    for (struct book_sought *l = late; l < last; l++) {
        book_change(book, l);
    }
    return n;
}

static void book_swap(struct mst_level *a, struct mst_level *b) {
    struct mst_level level = *a;

    *a = *b;
    *b = level;
}

static void book_sift_down(struct mst_level *heap, uint32_t count,
                           uint32_t at) {
    uint32_t child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count &&
            book_rank(&heap[child + 1], &heap[child]) < 0) {
            child++;
        }
        if (book_rank(&heap[at], &heap[child]) <= 0) {
            return;
        }
        book_swap(&heap[at], &heap[child]);
        at = child;
    }
}

static void book_sift_up(struct mst_level *heap, uint32_t at) {
    while (at > 0 && book_rank(&heap[at], &heap[(at - 1) / 2]) < 0) {
        book_swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

/* Makes a heap. Levels that are sorted best first need only be reversed. */
static void book_heap(struct mst_level *levels, uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        book_swap(&levels[i], &levels[count - 1 - i]);
    }
    for (uint32_t at = count / 2; at-- > 0;) {
        book_sift_down(levels, count, at);
    }
}

/* Moves newer updates to the end of the array and forgets the others: if only
 * these lacked room, nothing is missing. */
static void book_begin_snapshot(struct mst_book *book, int64_t time_ns) {
    for (struct mst_book_side *s = book->sides; s < book->sides + 2; s++) {
        struct mst_level *newer = s->levels - s->front + book->capacity;
        book_pack(s);
        for (uint32_t i = s->count; i-- > 0;) {
            if (s->levels[i].time_ns > time_ns) {
                *--newer = s->levels[i];
            }
        }
        s->newer = book->capacity - (uint32_t)(newer - s->levels);
        s->count = 0;
        s->cut &= s->cut_ns > time_ns;
    }
}

/* Adds a level of the snapshot, unless a newer update has set its price. */
static void book_add(struct mst_book *book, const struct mst_level *from) {
    struct mst_book_side *s = &book->sides[from->side];
    struct mst_level *newer = s->levels + book->capacity - s->newer;
    struct mst_level level = *from, *worst = s->levels;
    struct book_sought sought = {&level, 0, 0};

    level.key = sought.key = book_key(s, &level);
    sought.place = book_place(newer, s->newer, level.key);
    if (level.amount_coefficient == 0 || book_is_beyond(s, &level) ||
        book_search(newer, s->newer, &sought) != NULL) {
        return;
    }
    if (s->count + s->newer < book->capacity) {
        s->levels[s->count++] = level;
        if (s->count + s->newer == 1) {
            book_measure(s);
        }
        if (s->count + s->newer == book->capacity) {
            book_heap(s->levels, s->count);
        }
        return;
    }
    if (s->count == 0 || (s->newer > 0 && book_rank(newer, worst) < 0)) {
        worst = newer;
    }
    if (book_rank(&level, worst) <= 0) {
        book_cut(s, &level);
        return;
    }
    book_cut(s, worst);
    *worst = level;
    if (worst == newer) { /* its place is the heap's next */
        s->newer--;
        book_sift_up(s->levels, s->count++);
    } else {
        book_sift_down(s->levels, s->count, 0);
    }
}

/* Sorts a side; false if a price came with two amounts. */
static bool book_end_snapshot(struct mst_book *book, struct mst_book_side *s) {
    struct mst_level *levels = s->levels;
    uint32_t sorted = 1, kept = 0;

    if (s->count + s->newer < book->capacity) {
        book_heap(levels, s->count);
    }
    for (; s->newer > 0; s->newer--) {
        levels[s->count] = levels[book->capacity - s->newer];
        if (levels[s->count].amount_coefficient != 0) {
            book_sift_up(levels, s->count++);
        }
    }
    while (sorted < s->count &&
           book_rank(&levels[sorted], &levels[sorted - 1]) >= 0) {
        sorted++;
    }
    if (sorted < s->count) {
        for (uint32_t n = s->count; n-- > 1;) {
            book_swap(&levels[0], &levels[n]);
            book_sift_down(levels, n, 0);
        }
        book_heap(levels, s->count); /* reverses them: the best last */
    }
    /* A dropped level may have given the horizon's price another amount. */
    while (s->count > 0 && book_is_beyond(s, &s->levels[0])) {
        book_shift(book, s, 0, -1);
    }
    /* Of levels with the same price and amount, one is kept. */
    for (uint32_t i = 0; i < s->count; i++) {
        const struct mst_level *level = &s->levels[i];
        if (kept == 0 || book_rank(level, &s->levels[kept - 1]) != 0) {
            s->levels[kept++] = *level;
        } else if (!book_same(level, &s->levels[kept - 1])) {
            return false;
        }
    }
    s->count = kept;
    return true;
}

/* ------------------------------------------------------------------------
 * 10 book: messages
 *
 * What messages do to both sides. If one may be missing, the book is stale: it
 * shows what it knew, until the next message begins a new book.
 *
 *   phase        message                      during it     after it
 *   RESTART      an update                    IN_EARLY      COLLECT
 *   COLLECT      an update                    IN_EARLY      COLLECT
 *   FOLLOW       an update                    IN_UPDATE     FOLLOW
 *                one older than the snapshot  IN_OLD        FOLLOW
 *   any of them  a snapshot                   IN_SNAPSHOT   FOLLOW
 *   any          lost, cut off, out of order                RESTART
 * ------------------------------------------------------------------------ */

/* Updates from before a snapshot, or of its moment, come within this time. */
#define BOOK_LATE_NS 2000000000

static void book_clear(struct mst_book *book) {
    for (struct mst_book_side *s = book->sides; s < book->sides + 2; s++) {
        s->count = 0;
        s->cut = false;
        book_pack(s);
    }
}

void mst_book_stale(struct mst_book *book, enum mst_book_reason reason) {
    if (book->state == MST_BOOK_BUILDING) {
        book_clear(book);
    }
    if (book->state != MST_BOOK_EMPTY) {
        book->state = MST_BOOK_STALE;
    }
    if (reason != MST_BOOK_RECONNECT || book->reason != MST_BOOK_NO_SNAPSHOT) {
        book->reason = (uint8_t)reason;
    }
    if (reason == MST_BOOK_RECONNECT) {
        book->last_ns = 0; /* the next message is of another connection */
    }
    book->phase = BOOK_RESTART;
    book->flags = 0;
    book->disagreements = 0;
}

enum mst_book_state mst_book_state(const struct mst_book *book) {
    return (enum mst_book_state)book->state;
}

enum mst_book_reason mst_book_reason(const struct mst_book *book) {
    return (enum mst_book_reason)book->reason;
}

unsigned mst_book_flags(const struct mst_book *book) {
    return book->flags;
}

int64_t mst_book_time(const struct mst_book *book) {
    return book->time_ns;
}

size_t mst_book_depth(const struct mst_book *book, enum mst_side side) {
    return book->state == MST_BOOK_BUILDING ? 0 : book->sides[side].count;
}

const struct mst_level *mst_book_level(const struct mst_book *book,
                                       enum mst_side side, size_t rank) {
    size_t depth = mst_book_depth(book, side);

    return rank < depth ? &book->sides[side].levels[depth - 1 - rank] : NULL;
}

const struct mst_level *mst_book_find(const struct mst_book *book,
                                      enum mst_side side,
                                      struct mst_decimal price) {
    const struct mst_book_side *s = &book->sides[side];
    uint32_t depth = (uint32_t)mst_book_depth(book, side);
    const struct mst_level level = {.price_coefficient = price.coefficient,
                                    .price_exponent = price.exponent,
                                    .side = (uint8_t)side};
    struct book_sought sought = {&level, book_key(s, &level), 0};

    sought.place = book_place(s->levels, depth, sought.key);
    return book_search(s->levels, depth, &sought);
}

bool mst_book_horizon(const struct mst_book *book, enum mst_side side,
                      struct mst_decimal *price) {
    const struct mst_book_side *s = &book->sides[side];
    bool known = s->cut && book->state != MST_BOOK_BUILDING;

    if (known) {
        *price = s->horizon;
    }
    return known;
}

int mst_book_amount(const struct mst_book *book, enum mst_side side,
                    struct mst_decimal price, struct mst_decimal *sum) {
    const struct mst_book_side *s = &book->sides[side];

    memset(sum, 0, sizeof *sum);
    /* A stale book without a level may have been without one all the time. */
    if (book->state != MST_BOOK_LIVE &&
        mst_book_depth(book, MST_BID) + mst_book_depth(book, MST_ASK) == 0) {
        return MST_ERR_NO_LEVELS;
    }
    for (size_t i = mst_book_depth(book, side); i-- > 0;) {
        if (book_better(side, mst_level_price(&s->levels[i]), price) < 0) {
            return 0;
        }
        *sum = mst_decimal_add(*sum, mst_level_amount(&s->levels[i]));
    }
    return s->cut && book_better(side, s->horizon, price) >= 0 ? MST_ERR_HORIZON
                                                               : 0;
}

int mst_book_spread(const struct mst_book *book, struct mst_decimal *spread) {
    const struct mst_level *bid = mst_book_level(book, MST_BID, 0);
    const struct mst_level *ask = mst_book_level(book, MST_ASK, 0);
    bool cut = mst_book_horizon(book, bid == NULL ? MST_BID : MST_ASK, spread);

    memset(spread, 0, sizeof *spread);
    if (bid == NULL || ask == NULL) {
        return cut ? MST_ERR_HORIZON : MST_ERR_NO_LEVELS;
    }
    *spread = mst_decimal_sub(mst_level_price(ask), mst_level_price(bid));
    return 0;
}

int mst_book_mid(const struct mst_book *book, struct mst_decimal *mid) {
    int rc = mst_book_spread(book, mid);

    if (rc == 0) {
        /* The sum of both prices may take one digit more than the mid. */
        *mid =
            mst_decimal_add(mst_level_price(mst_book_level(book, MST_BID, 0)),
                            decimal_half(*mid));
    }
    return rc;
}

/* A whole message was applied: the book is live, perhaps crossed or thin. */
static void book_live(struct mst_book *book) {
    const struct mst_level *bid, *ask;
    unsigned flags = book->flags & ~(MST_BOOK_CROSSED | MST_BOOK_THIN);

    book->state = MST_BOOK_LIVE;
    book->reason = MST_BOOK_OK;
    book->phase = BOOK_FOLLOW;
    for (struct mst_book_side *s = book->sides; s < book->sides + 2; s++) {
        if (s->count > 0) {
            book_measure(s);
        }
        flags |= s->cut && s->count < book->thin ? MST_BOOK_THIN : 0;
    }
    bid = mst_book_level(book, MST_BID, 0);
    ask = mst_book_level(book, MST_ASK, 0);
    /* With one unit, keys mostly make it unnecessary to compare decimals. */
    if (bid != NULL && ask != NULL &&
        (book->sides[MST_BID].unit != book->sides[MST_ASK].unit ||
         bid->key >= ~ask->key) &&
        mst_decimal_cmp(mst_level_price(bid), mst_level_price(ask)) >= 0) {
        flags |= MST_BOOK_CROSSED;
    }
    book->flags = (uint8_t)flags;
}

/* Begins a message, with its first part. */
static void book_open(struct mst_book *book, const struct mst_part *part,
                      uint64_t received_ns) {
    int64_t time_ns = part->time_ns;
    bool again = part->snapshot && book->phase == BOOK_FOLLOW;

    if (again && time_ns < book->time_ns) {
        /* It is not known what was removed since this older snapshot. */
        mst_book_stale(book, MST_BOOK_DISORDER);
        return;
    }
    if (again || book->phase == BOOK_RESTART) {
        book_clear(book);
        book->state = MST_BOOK_BUILDING;
        book->time_ns = book->phase == BOOK_RESTART ? 0 : book->time_ns;
        book->phase = BOOK_COLLECT;
    }
    if (part->snapshot) {
        bool back = book->time_ns - time_ns > BOOK_LATE_NS ||
                    book->last_ns - time_ns > BOOK_LATE_NS;
        book->reason = MST_BOOK_IN_MESSAGE;
        book_begin_snapshot(book, time_ns);
        book->phase = BOOK_IN_SNAPSHOT;
        book->flags = back ? MST_BOOK_TIME_STEP : 0;
        book->disagreements = 0;
        book->snapshot_ns = time_ns;
    } else if (book->phase == BOOK_COLLECT) {
        book->phase = BOOK_IN_EARLY;
    } else if (!book_is_older(time_ns, book->snapshot_ns)) {
        book->phase = BOOK_IN_UPDATE;
        if (!part->last) {
            book->state = MST_BOOK_BUILDING;
            book->reason = MST_BOOK_IN_MESSAGE;
        }
    } else {
        book->phase = BOOK_IN_OLD;
        if (received_ns - book->snapshot_received_ns >= BOOK_LATE_NS) {
            book->flags |= MST_BOOK_TIME_STEP;
        }
    }
}

/* Ends a message, after its last part. */
static void book_end(struct mst_book *book, const struct mst_part *part,
                     uint64_t received_ns) {
    bool backward = book_is_older(part->time_ns, book->time_ns);

    if (part->time_ns > book->time_ns) {
        book->time_ns = part->time_ns;
    }
    if (!part->snapshot) {
        book->last_ns = part->time_ns;
    }
    if (book->phase == BOOK_IN_OLD) {
        book->phase = BOOK_FOLLOW;
        return;
    }
    book->received_ns = received_ns;
    if (book->phase == BOOK_IN_EARLY) {
        book->phase = BOOK_COLLECT;
    } else if (book->phase == BOOK_IN_UPDATE) {
        book_live(book);
        book->flags |= backward ? MST_BOOK_BACKWARD : 0;
    } else {
        bool bids = book_end_snapshot(book, &book->sides[MST_BID]);
        bool asks = book_end_snapshot(book, &book->sides[MST_ASK]);
        book->snapshot_received_ns = received_ns;
        if (bids && asks) {
            book_live(book);
        } else {
            mst_book_stale(book, MST_BOOK_DISORDER);
        }
    }
}

void mst_book_apply(struct mst_book *book, const struct mst_part *part,
                    uint64_t received_ns) {
    bool midway = book->phase >= BOOK_IN_EARLY;
    bool begun = midway || book->phase == BOOK_RESTART;
    bool torn = part->first ? midway : !begun;

    /* Torn: a message begins inside another, or lacks its beginning. */
    if (part->aborted || torn) {
        mst_book_stale(book, MST_BOOK_ABORTED);
    }
    if (part->first && !part->aborted) {
        book_open(book, part, received_ns);
    }
    if (book->phase == BOOK_RESTART) {
        return; /* the rest of a message that was given up */
    }
    for (size_t i = 0; i < part->count && book->phase != BOOK_IN_OLD;) {
        if (book->phase == BOOK_IN_SNAPSHOT) {
            book_add(book, &part->levels[i++]);
        } else {
            i += book_update(book, &part->levels[i], part->count - i);
        }
    }
    if (part->last) {
        book_end(book, part, received_ns);
    }
}

/* True if one side of a top of book matches the book. */
static bool book_agrees(const struct mst_book *book, enum mst_side side,
                        bool has, const struct mst_level *best) {
    const struct mst_level *level = mst_book_level(book, side, 0);

    return level == NULL ? !has || book_is_beyond(&book->sides[side], best)
                         : has && book_same(level, best);
}

void mst_book_check(struct mst_book *book, const struct mst_top *top,
                    uint64_t received_ns) {
    if (book_is_older(top->time_ns, book->time_ns) &&
        received_ns - book->received_ns < BOOK_LATE_NS) {
        return; /* older than the book */
    }
    if (book->state != MST_BOOK_LIVE ||
        (book_agrees(book, MST_BID, top->has_bid, &top->bid) &&
         book_agrees(book, MST_ASK, top->has_ask, &top->ask))) {
        book->disagreements = 0;
        book->flags &= (uint8_t)~MST_BOOK_DISAGREES;
        return;
    }
    if (book->disagreements == 0 || top->time_ns < book->disagrees_ns) {
        book->disagrees_ns = top->time_ns;
    }
    if (book->disagreements < MST_DISAGREEMENTS) {
        book->disagreements++;
    }
    if (book->disagreements == MST_DISAGREEMENTS &&
        top->time_ns - book->disagrees_ns >=
            (int64_t)MST_DISAGREEMENT_MS * 1000000) {
        book->flags |= MST_BOOK_DISAGREES;
    }
}

const char *mst_book_state_name(enum mst_book_state state) {
    static const char words[] = "empty\0building\0live\0stale\0";

    return text_nth(words, (unsigned)state);
}

const char *mst_book_reason_name(enum mst_book_reason reason) {
    static const char words[] =
        "no snapshot yet\0inside of a message\0connection lost\0"
        "subscribed anew\0message cut off\0message lost\0"
        "number that cannot be kept\0snapshot out of order\0"
        "not subscribed\0";

    return reason > 0 ? text_nth(words, (unsigned)reason - 1) : "";
}

/* What a client calls of a book. Only mst_book_init() refers to this table, so
 * a program that does not call it is linked without the code of books. */
struct mst_book_calls {
    void (*apply)(struct mst_book *book, const struct mst_part *part,
                  uint64_t received_ns);
    void (*check)(struct mst_book *book, const struct mst_top *top,
                  uint64_t received_ns);
    void (*stale)(struct mst_book *book, enum mst_book_reason reason);
};

static const struct mst_book_calls book_calls = {
    .apply = mst_book_apply,
    .check = mst_book_check,
    .stale = mst_book_stale,
};

int mst_book_init(struct mst_book *book, struct mst_level *levels,
                  size_t capacity) {
    if (book == NULL || levels == NULL || capacity == 0 ||
        capacity > UINT32_MAX / 4) {
        return MST_ERR_ARGUMENT;
    }
    memset(book, 0, sizeof *book);
    book->sides[MST_BID].levels = levels;
    book->sides[MST_ASK].levels = levels + capacity;
    book->calls = &book_calls;
    book->capacity = (uint32_t)capacity;
    book->reason = MST_BOOK_NO_SNAPSHOT;
    return 0;
}

void mst_book_set_thin(struct mst_book *book, size_t levels) {
    /* The levels that a full side drops at once do not make it thin. */
    uint32_t most = book->capacity - book->capacity / 64;

    book->thin = levels < most ? (uint32_t)levels : most;
}

/* ------------------------------------------------------------------------
 * 11 ws
 *
 * WebSocket (RFC 6455) carries messages in frames: a header, then a payload. A
 * message may take several frames; control frames (ping, pong, close) may come
 * in between. Payload of messages is not copied: pieces of it point into the
 * input. Only control frames, of at most 125 bytes, are put together.
 *
 *   header_len         what is read                 then
 *   0, 1               the header's first 2 bytes   header_need is known
 *   < header_need      the payload's length         the frame is checked
 *   == header_need     frame_left bytes of payload  header_len is 0 again
 * ------------------------------------------------------------------------ */

#define WS_FIN 0x80u
#define WS_RESERVED 0x70u
#define WS_OPCODE 0x0Fu
#define WS_MASK 0x80u
#define WS_LENGTH 0x7Fu

void mst_ws_init(struct mst_ws *ws) {
    memset(ws, 0, sizeof *ws);
}

uint16_t mst_ws_error_code(int error) {
    return error == MST_ERR_WS_UTF8 ? 1007 : 1002;
}

static bool ws_is_control(uint8_t opcode) {
    return (opcode & 0x8u) != 0;
}

/* Checks a frame's header, once it is whole (RFC 6455, section 5.2). */
APART int ws_frame_begin(struct mst_ws *ws) {
    uint8_t opcode = ws->header[0] & WS_OPCODE;
    uint64_t len = ws->frame_left;

    if ((ws->header[0] & WS_RESERVED) != 0 || (opcode & 0x7u) > 2) {
        return MST_ERR_WS_RESERVED;
    }
    if ((ws->header[1] & WS_MASK) != 0) {
        return MST_ERR_WS_MASKED;
    }
    if (ws_is_control(opcode)) {
        if ((ws->header[0] & WS_FIN) == 0 || len > MST_WS_CONTROL_MAX) {
            return MST_ERR_WS_CONTROL;
        }
    } else if ((opcode == MST_WS_CONTINUATION) != (ws->message_opcode != 0)) {
        return MST_ERR_WS_FRAGMENT;
    } else if (opcode != MST_WS_CONTINUATION) {
        ws->message_opcode = opcode;
        ws->first = true;
        ws->utf8 = 0;
    }
    /* A length must take as few bytes as possible. */
    return ws->header_need > 2 &&
                   (len < (ws->header_need == 4 ? 126u : 65536u) ||
                    len >> 63 != 0)
               ? MST_ERR_WS_LENGTH
               : 0;
}

/* Appends the next bytes of a length to n. */
static uint64_t ws_length(uint64_t n, const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        n = n * 256 + bytes[i];
    }
    return n;
}

/* Continues a header; sets *len to how much of data belongs to it. */
static int ws_read_header(struct mst_ws *ws, const uint8_t *data, size_t *len) {
    size_t at = 0, have = ws->header_len, n;

    if (have == 0) {
        ws->header[have++] = data[at++];
    }
    if (have == 1 && at < *len) {
        uint8_t code = data[at] & WS_LENGTH;
        ws->header[have++] = data[at++];
        ws->header_need = code == 126 ? 4 : code == 127 ? 10 : 2;
        ws->frame_left = ws->header_need > 2 ? 0 : code;
    }
    n = have < 2 ? 0 : ws->header_need - have;
    n = n < *len - at ? n : *len - at;
    ws->frame_left = ws_length(ws->frame_left, data + at, n);
    ws->header_len = (uint8_t)(have + n);
    *len = at + n;
    return ws->header_len == ws->header_need ? ws_frame_begin(ws) : 0;
}

/* Reads payload of a data frame. Sets *len to what was taken: of a text, valid
 * UTF-8. Returns 1 with a piece if it has bytes or ends the message. */
static int ws_read_data(struct mst_ws *ws, const uint8_t *data, size_t *len,
                        struct mst_ws_piece *piece) {
    size_t good = ws->message_opcode == MST_WS_TEXT
                      ? utf8_check(&ws->utf8, data, *len)
                      : *len;
    bool ends, bad;

    ws->frame_left -= good;
    ends = ws->frame_left == 0 && (ws->header[0] & WS_FIN) != 0;
    bad = good < *len || (ends && ws->utf8 != 0);
    *len = good;
    if (bad) {
        if (good == 0) {
            return MST_ERR_WS_UTF8;
        }
        ends = false; /* first the valid bytes, next time the error */
    } else if (ws->frame_left == 0) {
        ws->header_len = 0;
    }
    if (good == 0 && !ends) {
        return 0;
    }
    *piece = (struct mst_ws_piece){
        (enum mst_ws_opcode)ws->message_opcode, data, good, ws->first, ends, 0};
    ws->first = false;
    ws->message_opcode = ends ? 0 : ws->message_opcode;
    return 1;
}

/* Codes of a close frame (RFC 6455, section 7.4, and its registry). */
static bool ws_is_close_code(uint16_t code) {
    return (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
           (code >= 3000 && code <= 4999);
}

/* Checks the payload of a close frame: a code and a reason, or nothing. */
static int ws_close_piece(struct mst_ws_piece *piece) {
    const uint8_t *data = piece->data;
    uint16_t code =
        piece->len < 2 ? 0 : (uint16_t)((unsigned)data[0] << 8 | data[1]);

    piece->close_code = 1005;
    if (piece->len == 0) {
        return 1;
    }
    if (!ws_is_close_code(code)) {
        return MST_ERR_WS_CLOSE;
    }
    piece->close_code = code;
    piece->data += 2;
    piece->len -= 2;
    return utf8_is((const char *)piece->data, piece->len) ? 1 : MST_ERR_WS_UTF8;
}

/* Collects the payload of a control frame; returns 1 when it is whole. */
static int ws_read_control(struct mst_ws *ws, const uint8_t *data, size_t len,
                           struct mst_ws_piece *piece) {
    size_t have = (ws->header[1] & WS_LENGTH) - (size_t)ws->frame_left;

    if (NEVER(have > sizeof ws->control || len > sizeof ws->control - have)) {
        return MST_ERR_WS_CONTROL;
    }
    if (len > 0) {
        memcpy(ws->control + have, data, len);
    }
    have += len;
    ws->frame_left -= len;
    if (ws->frame_left > 0) {
        return 0;
    }
    ws->header_len = 0;
    *piece = (struct mst_ws_piece){
        .opcode = (enum mst_ws_opcode)(ws->header[0] & WS_OPCODE),
        .data = ws->control,
        .len = have,
        .first = true,
        .last = true};
    return piece->opcode == MST_WS_CLOSE ? ws_close_piece(piece) : 1;
}

int mst_ws_read(struct mst_ws *ws, const uint8_t *data, size_t len,
                size_t *used, struct mst_ws_piece *piece) {
    size_t at = 0;
    int rc = ws->error;

    while (rc == 0) {
        size_t n = at < len ? len - at : 0;
        if (ws->header_len < 2 || ws->header_len < ws->header_need) {
            if (n == 0) {
                break;
            }
            rc = ws_read_header(ws, data + at, &n);
        } else {
            n = n < ws->frame_left ? n : (size_t)ws->frame_left;
            if (n == 0 && ws->frame_left > 0) {
                break;
            }
            rc = ws_is_control(ws->header[0])
                     ? ws_read_control(ws, data + at, n, piece)
                     : ws_read_data(ws, data + at, &n, piece);
        }
        at += n;
    }
    if (rc < 0) {
        ws->error = (int16_t)rc;
    }
    *used = at;
    return rc;
}

size_t mst_ws_header(uint8_t *out, enum mst_ws_opcode opcode, bool fin,
                     uint64_t payload_len, const uint8_t mask[4]) {
    size_t bytes = payload_len < 126 ? 0 : payload_len < 65536 ? 2 : 8;

    out[0] = (uint8_t)((fin ? WS_FIN : 0u) + (unsigned)opcode);
    out[1] = (uint8_t)(WS_MASK + (bytes == 0   ? (unsigned)payload_len
                                  : bytes == 2 ? 126u
                                               : 127u));
    for (size_t i = bytes; i > 0; i--) {
        out[1 + i] = (uint8_t)(payload_len % 256);
        payload_len /= 256;
    }
    for (size_t i = 0; i < 4; i++) {
        out[2 + bytes + i] = mask[i];
    }
    return 6 + bytes;
}

void mst_ws_mask(uint8_t *data, size_t len, const uint8_t mask[4],
                 uint64_t offset) {
    for (size_t i = 0; i < len; i++) {
        data[i] ^= mask[(offset + i) & 3u];
    }
}

void mst_ws_key(const uint8_t random[16], char key[MST_WS_KEY_LEN + 1]) {
    base64_write(key, random, 16);
}

/* ------------------------------------------------------------------------
 * 12 http
 *
 * Writes requests and reads responses (RFC 9112) that arrive in pieces of any
 * length. The first MST_LINE_MAX bytes of a line are kept; a body is passed on.
 *
 *    state        this comes                    next
 *    -----------  ----------------------------  -------------------------------
 *    STATUS_LINE  the status line               HEADER_LINE
 *    HEADER_LINE  empty line: a 1xx, not 101    STATUS_LINE
 *    HEADER_LINE  empty line: a body follows    CHUNK_SIZE, BODY_SIZED, _TO_END
 *    HEADER_LINE  empty line: no body           OVER
 *    CHUNK_SIZE   a blank; a semicolon          CHUNK_BLANKS; CHUNK_EXTENSION
 *    CHUNK_SIZE   end of the line, also later   CHUNK_DATA; if it is 0: TRAILER
 *    CHUNK_DATA   the chunk; end of the line    CHUNK_END; CHUNK_SIZE
 *    TRAILER      empty line                    OVER
 *    BODY_SIZED   the last byte of the body     OVER
 * ------------------------------------------------------------------------ */

enum http_state {
    /* Read in lines. MST_HEADERS_MAX bounds the bytes up to HTTP_CHUNK_BLANKS,
     * and the digits of a chunk's size beyond HTTP_SIZE_DIGITS. */
    HTTP_STATUS_LINE,
    HTTP_HEADER_LINE,
    HTTP_TRAILER,
    HTTP_CHUNK_EXTENSION,
    HTTP_CHUNK_BLANKS,
    HTTP_CHUNK_SIZE,
    HTTP_CHUNK_END,
    /* Not read in lines. */
    HTTP_CHUNK_DATA,
    HTTP_BODY_SIZED,
    HTTP_BODY_TO_END,
    HTTP_OVER
};

#define HTTP_SIZE_DIGITS 8
#define HTTP_RETRY_S 300u /* to wait, if a service does not say how long */
#define HTTP_USER_AGENT "\r\nUser-Agent: mini_stream/" MST_VERSION "\r\n"

/* Result of http_read(), unless it is a negative mst_error. */
enum http_found {
    HTTP_MORE, /* more input is needed */
    HTTP_HEAD, /* status and headers are known */
    HTTP_BODY, /* a piece of the body */
    HTTP_END   /* the response is complete */
};

/* True for an ASCII letter, a digit, or one of marks. */
static bool http_is_word(char c, const char *marks) {
    char lower = text_lower(c);

    return (lower >= 'a' && lower <= 'z') || decimal_is_digit(c) ||
           (c != '\0' && strchr(marks, c) != NULL);
}

/* Returns the length without blanks at the end. */
APART size_t http_trimmed(const char *text, size_t len) {
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t')) {
        len--;
    }
    return len;
}

/* True if a comma-separated list has this word, in upper or lower case. */
static bool http_list_has(const char *list, const char *word) {
    const char *at = list;

    while (*at != '\0') {
        size_t n = strcspn(at, ",");
        if (text_is_nocase(at, http_trimmed(at, n), word)) {
            return true;
        }
        at += n;
        at += strspn(at, ", \t");
    }
    return false;
}

/* Reads the status line (RFC 9112, section 4): HTTP_MORE or an error. */
static int http_status_line(struct mst_http *h) {
    const char *line = h->line;
    uint32_t status;

    if (strncmp(line, "HTTP/1.", 7) != 0 ||
        (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
        !decimal_count(line + 9, 3, &status) || status < 100 || status > 599 ||
        (line[12] != '\0' && line[12] != ' ')) {
        return MST_ERR_HTTP_SYNTAX;
    }
    h->status = (uint16_t)status;
    h->close = h->old = line[7] == '0';
    h->state = HTTP_HEADER_LINE;
    /* HTTP/1.0 has no upgrade (RFC 9110, section 7.8). */
    return status == 101 && h->close ? (int)MST_ERR_HTTP_SYNTAX : HTTP_MORE;
}

/* The headers that matter, in the order of http_headers[]. */
enum http_header {
    HTTP_CONTENT_LENGTH,
    HTTP_TRANSFER_ENCODING,
    HTTP_CONTENT_ENCODING,
    HTTP_CONNECTION,
    HTTP_UPGRADE,
    HTTP_ACCEPT,
    HTTP_EXTENSIONS,
    HTTP_PROTOCOL,
    HTTP_RETRY_AFTER,
    HTTP_OTHER
};

static const char http_headers[] =
    "content-length\0transfer-encoding\0content-encoding\0connection\0"
    "upgrade\0sec-websocket-accept\0sec-websocket-extensions\0"
    "sec-websocket-protocol\0retry-after\0";

static bool http_has(const struct mst_http *h, enum http_header header) {
    return (h->has & BIT(header)) != 0;
}

/* Checks a header about the body, or one that confirms the upgrade in a 101. */
APART int http_value(struct mst_http *h, enum http_header header,
                     const char *value, size_t len) {
    const bool again = http_has(h, header);

    switch (header) {
    case HTTP_CONTENT_LENGTH:
        return again || !decimal_count(value, len, &h->left)
                   ? MST_ERR_HTTP_LENGTH
                   : 0;
    case HTTP_TRANSFER_ENCODING: /* 1.0 has none (RFC 9112, section 6.1) */
        return again || h->old || !text_is_nocase(value, len, "chunked")
                   ? MST_ERR_HTTP_CODING
                   : 0;
    case HTTP_CONTENT_ENCODING:
        return text_is_nocase(value, len, "identity") ? 0 : MST_ERR_HTTP_CODING;
    case HTTP_UPGRADE:
        return text_is_nocase(value, len, "websocket") ? 0 : MST_ERR_WS_UPGRADE;
    case HTTP_ACCEPT:
        return again || !text_is(value, len, h->accept) ? MST_ERR_WS_ACCEPT : 0;
    case HTTP_EXTENSIONS:
    case HTTP_PROTOCOL: return MST_ERR_WS_EXTENSION;
    default: return 0;
    }
}

/* Takes in a header that matters. Returns 0 or an error. */
static int http_header(struct mst_http *h, enum http_header header,
                       const char *value, size_t len) {
    const bool framing = header <= HTTP_CONTENT_ENCODING;

    if (framing && h->upgrading) {
        return 0; /* the body of a refusal is not read */
    }
    if (header != HTTP_CONTENT_LENGTH && value[strspn(value, ", \t")] == '\0') {
        return 0; /* an empty list names nothing (RFC 9110, section 5.6.1) */
    }
    if (framing || (h->upgrading && h->status == 101)) {
        int rc = http_value(h, header, value, len);
        if (rc != 0) {
            return rc;
        }
    }
    if (header == HTTP_CONNECTION) {
        h->close |= http_list_has(value, "close");
        if (!http_list_has(value, "upgrade")) {
            return 0;
        }
    } else if (header == HTTP_RETRY_AFTER &&
               !decimal_count(value, len, &h->retry_after_s)) {
        h->retry_after_s = HTTP_RETRY_S; /* it may be a date */
    }
    h->has |= (uint16_t)BIT(header);
    return 0;
}

/* Reads a header, or checks a trailer. An error in a value is reported only
 * after the last header: a later one may say when to retry. */
static int http_header_line(struct mst_http *h, size_t len) {
    const bool cut = len > MST_LINE_MAX;
    const char *value;
    size_t name_len = 0;
    uint8_t header;
    int rc;

    while (http_is_word(h->line[name_len], "!#$%&'*+-.^_`|~")) {
        h->line[name_len] = text_lower(h->line[name_len]);
        name_len++;
    }
    if (name_len == MST_LINE_MAX) {
        return MST_ERR_HTTP_HEADER;
    }
    if (name_len == 0 || h->line[name_len] != ':') {
        return MST_ERR_HTTP_SYNTAX;
    }
    header = text_lookup(http_headers, h->line, name_len);
    if (header == HTTP_OTHER || h->state == HTTP_TRAILER) {
        return HTTP_MORE;
    }
    value = h->line + name_len + 1;
    value += strspn(value, " \t");
    len = http_trimmed(value, strlen(value));
    rc = cut ? (int)MST_ERR_HTTP_HEADER
             : http_header(h, (enum http_header)header, value, len);
    h->error = h->error != 0 ? h->error : (int16_t)rc;
    return HTTP_MORE;
}

/* Decides from the headers how the body ends (RFC 9112, section 6.3). */
static int http_body_begin(struct mst_http *h) {
    bool sized = http_has(h, HTTP_CONTENT_LENGTH);
    bool chunked = http_has(h, HTTP_TRANSFER_ENCODING);

    if (sized && chunked) {
        return MST_ERR_HTTP_LENGTH;
    }
    if (sized && h->left > MST_BODY_MAX) {
        return MST_ERR_HTTP_BODY;
    }
    h->state = chunked ? HTTP_CHUNK_SIZE
               : sized ? HTTP_BODY_SIZED
                       : HTTP_BODY_TO_END;
    if (h->status == 101 || h->status == 204 || h->status == 304 ||
        (sized && h->left == 0)) {
        h->state = HTTP_OVER;
    } else if (h->state == HTTP_BODY_TO_END) {
        h->left = UINT32_MAX;
        h->close = true;
    }
    return HTTP_HEAD;
}

/* Resets what belongs to one response, after an interim one (1xx). */
static void http_forget(struct mst_http *h) {
    memset(h, 0, offsetof(struct mst_http, upgrading));
}

/* Ends the headers: returns an error, skips a 1xx, or begins the body. */
static int http_head(struct mst_http *h) {
    if (h->error != 0) {
        return h->error;
    }
    if (h->status == 101 && !h->upgrading) {
        return MST_ERR_HTTP_STATUS;
    }
    if (h->status < 200 && h->status != 101) {
        http_forget(h);
        return HTTP_MORE;
    }
    return http_body_begin(h);
}

/* Takes in a whole line. Returns HTTP_MORE, HTTP_HEAD or an error. */
static int http_line_end(struct mst_http *h) {
    uint16_t len = h->line_len;

    h->line_len = 0;
    if (h->state == HTTP_CHUNK_END) {
        h->state = HTTP_CHUNK_SIZE;
        return HTTP_MORE;
    }
    if (h->state > HTTP_TRAILER) {
        if (len == 0) {
            return MST_ERR_HTTP_LENGTH;
        }
        if (h->left > MST_BODY_MAX - h->body_len) {
            return MST_ERR_HTTP_BODY;
        }
        h->state = h->left > 0 ? HTTP_CHUNK_DATA : HTTP_TRAILER;
        return HTTP_MORE;
    }
    h->longest = len > h->longest ? len : h->longest;
    h->line[len < MST_LINE_MAX ? len : MST_LINE_MAX] = '\0';
    if (h->state == HTTP_STATUS_LINE) {
        return http_status_line(h);
    }
    if (len > 0) {
        return http_header_line(h, len);
    }
    if (h->state == HTTP_HEADER_LINE) {
        return http_head(h);
    }
    h->state = HTTP_OVER;
    return HTTP_MORE;
}

/* Continues a chunk's size, or the blanks after it; false if malformed. After a
 * chunk, all is: that line is empty. */
static bool http_chunk_size(struct mst_http *h, char c) {
    int digit = json_hex((uint8_t)c);

    if (h->state == HTTP_CHUNK_SIZE && digit >= 0) {
        h->left = h->left <= UINT32_MAX >> 4 ? h->left << 4 | (uint32_t)digit
                                             : UINT32_MAX; /* too large */
        return true;
    }
    h->state = c == ';' ? HTTP_CHUNK_EXTENSION : HTTP_CHUNK_BLANKS;
    return h->line_len > 0 && (c == ';' || c == ' ' || c == '\t');
}

/* True if the current byte counts towards MST_HEADERS_MAX. */
static bool http_is_counted(const struct mst_http *h) {
    return h->state <= HTTP_CHUNK_BLANKS || h->line_len >= HTTP_SIZE_DIGITS;
}

/* Adds a byte to a line; skips chunk extensions. Returns as http_line_end(). */
static int http_line(struct mst_http *h, char c) {
    if (http_is_counted(h) && ++h->headers_len > MST_HEADERS_MAX) {
        return MST_ERR_HTTP_HEADER;
    }
    if (c == (h->cr ? '\n' : '\r')) {
        h->cr = !h->cr;
        return h->cr ? HTTP_MORE : http_line_end(h);
    }
    if (h->cr || (text_is_control(c) && c != '\t') ||
        (h->state >= HTTP_CHUNK_BLANKS && !http_chunk_size(h, c))) {
        return h->state < HTTP_CHUNK_EXTENSION ? MST_ERR_HTTP_SYNTAX
                                               : MST_ERR_HTTP_LENGTH;
    }
    if (h->state <= HTTP_TRAILER && h->line_len < MST_LINE_MAX) {
        h->line[h->line_len] = c;
    }
    if (h->line_len <= MST_LINE_MAX) {
        h->line_len++;
    }
    return HTTP_MORE;
}

/* Takes up to len bytes of the body: *piece is how many. */
static int http_body(struct mst_http *h, size_t len, size_t *piece) {
    *piece = len < h->left ? len : h->left;
    if (*piece > MST_BODY_MAX - h->body_len) {
        return MST_ERR_HTTP_BODY;
    }
    h->body_len += (uint32_t)*piece;
    h->left -= (uint32_t)*piece;
    if (h->left == 0) {
        h->state = h->state == HTTP_CHUNK_DATA ? HTTP_CHUNK_END : HTTP_OVER;
    }
    return HTTP_BODY;
}

/* Continues at data[*used]. The *piece bytes before the new *used are body. */
static int http_read(struct mst_http *h, const uint8_t *data, size_t len,
                     size_t *used, size_t *piece) {
    int rc = HTTP_MORE;

    while (rc == HTTP_MORE && h->state != HTTP_OVER && *used < len) {
        if (h->state <= HTTP_CHUNK_END) {
            rc = http_line(h, (char)data[(*used)++]);
        } else {
            rc = http_body(h, len - *used, piece);
            *used += *piece;
        }
    }
    return rc == HTTP_MORE && h->state == HTTP_OVER ? HTTP_END : rc;
}

/* True if the end of the connection is the end of the body. */
static bool http_ends(const struct mst_http *h) {
    return h->state == HTTP_BODY_TO_END;
}

int mst_http_status(const struct mst_http *http) {
    return http->status;
}

/* Writes the last header, and the empty line after it. */
APART void http_length_write(struct out *o, size_t len) {
    out_text(o, "Content-Length: ");
    out_number(o, len);
    out_text(o, "\r\n\r\n");
}

/* Writes a request up to "Host: ", for the path base, to which path is added
 * unless NULL. method has a space at its end. */
static void http_line_write(struct out *o, const char *method, const char *base,
                            size_t base_len, const char *path) {
    out_text(o, method);
    out_bytes(o, base, base_len);
    out_text(o, path != NULL ? path : base_len == 0 ? "/" : "");
    out_text(o, " HTTP/1.1\r\nHost: ");
}

static void http_upgrade_write(struct out *o, const char *key) {
    out_text(o, "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Key: ");
    out_text(o, key);
    out_text(o, "\r\nSec-WebSocket-Version: 13\r\n");
}

/* True if a request line may have this path: no controls, spaces or #. */
static bool http_is_path(const char *path) {
    return text_is_field(path) && path[strcspn(path, " #")] == '\0';
}

int mst_ws_upgrade_write(char *out, size_t len, const char *host,
                         const char *path, const char *key,
                         const char *authorization) {
    struct out o = {(uint8_t *)out, len < INT32_MAX ? len : INT32_MAX, 0, 0};

    if (path[0] != '\0' && path[0] != '/') {
        return MST_ERR_ARGUMENT;
    }
    if (!http_is_path(path) || !text_is_field(host) ||
        strchr(host, ' ') != NULL || !text_is_field(key) ||
        (authorization != NULL && !text_is_field(authorization))) {
        return MST_ERR_HEADER_VALUE;
    }
    http_line_write(&o, "GET ", path, strlen(path), NULL);
    out_text(&o, host);
    out_text(&o, HTTP_USER_AGENT);
    http_upgrade_write(&o, key);
    if (authorization != NULL) {
        out_text(&o, "Authorization: ");
        out_text(&o, authorization);
        out_text(&o, "\r\n");
    }
    out_text(&o, "\r\n");
    return o.len <= o.cap ? (int)o.len : MST_ERR_ARGUMENT;
}

void mst_ws_upgrade_init(struct mst_http *http, const char *key) {
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    uint8_t digest[br_sha1_SIZE];
    br_sha1_context sha1;

    *http = (struct mst_http){.upgrading = true};
    /* Sec-WebSocket-Accept for the key (RFC 6455, section 4.2.2). */
    br_sha1_init(&sha1);
    br_sha1_update(&sha1, key, strlen(key));
    br_sha1_update(&sha1, guid, sizeof guid - 1);
    br_sha1_out(&sha1, digest);
    base64_write(http->accept, digest, sizeof digest);
}

static int http_status_error(int status, int otherwise) {
    return status == 401   ? MST_ERR_UNAUTHORIZED
           : status == 403 ? MST_ERR_FORBIDDEN
           : status == 429 ? MST_ERR_THROTTLED
                           : otherwise;
}

int mst_ws_upgrade_read(struct mst_http *http, const uint8_t *data, size_t len,
                        size_t *used) {
    size_t piece;
    int rc;

    *used = 0;
    rc = http_read(http, data, len, used, &piece);
    if (rc == HTTP_MORE || (rc < 0 && http->status < 300)) {
        return rc;
    }
    if (http->status != 101) { /* the status says more than rc */
        return http_status_error(http->status, MST_ERR_WS_UPGRADE);
    }
    if (!http_has(http, HTTP_UPGRADE) || !http_has(http, HTTP_CONNECTION)) {
        return MST_ERR_WS_UPGRADE;
    }
    return http_has(http, HTTP_ACCEPT) ? 1 : MST_ERR_WS_ACCEPT;
}

/* Reads a URL's host. Returns the rest of the URL, or NULL if malformed. Labels
 * are not empty: a check of certificates may give an extra dot a meaning. */
APART const char *http_url_host(const char *url, char host[MST_HOST_MAX + 1]) {
    const bool bracket = *url == '[';
    size_t len = 0;

    url += bracket;
    while (http_is_word(*url, bracket ? "-._:" : "-._")) {
        if (len == MST_HOST_MAX ||
            (*url == '.' && (len == 0 || host[len - 1] == '.'))) {
            return NULL;
        }
        host[len++] = *url++;
    }
    if (bracket && (*url != ']' || memchr(host, ':', len) == NULL)) {
        return NULL; /* brackets are for IPv6 */
    }
    return len == 0 || host[len - 1] == '.' ? NULL : url + bracket;
}

/* Reads a URL's port, if any. Returns the rest, or NULL if malformed. */
static const char *http_url_port(const char *url, uint16_t *port) {
    uint32_t value;
    size_t len;

    if (*url != ':') {
        return url;
    }
    len = strspn(++url, "0123456789");
    if (!decimal_count(url, len, &value) || value < 1 || value > 65535) {
        return NULL;
    }
    *port = (uint16_t)value;
    return url + len;
}

/* Reads a URL of this scheme ("ws") or the secure one ("wss"). */
static int http_url(const char *url, const char *scheme,
                    struct mst_endpoint *out) {
    size_t len = strlen(scheme);
    const char *at;

    memset(out, 0, sizeof *out);
    if (strncmp(url, scheme, len) != 0) {
        return MST_ERR_URL;
    }
    out->tls = url[len] == 's';
    at = url + len + out->tls;
    if (strncmp(at, "://", 3) != 0) {
        return MST_ERR_URL;
    }
    out->port = out->tls ? 443 : 80;
    at = http_url_host(at + 3, out->host);
    at = at != NULL ? http_url_port(at, &out->port) : NULL;
    len = at != NULL ? strlen(at) : SIZE_MAX;
    if (len > MST_PATH_MAX || (*at != '\0' && *at != '/') ||
        !http_is_path(at)) {
        return MST_ERR_URL;
    }
    memcpy(out->path, at, len);
    return 0;
}

/* Begins a request for the URL's path, to which path is added unless NULL. */
static void http_request_begin(struct out *o, const char *method,
                               const struct mst_endpoint *endpoint,
                               const char *path) {
    size_t bracket = strchr(endpoint->host, ':') != NULL ? 1 : 0;
    size_t n = strlen(endpoint->path);

    while (path != NULL && n > 0 && endpoint->path[n - 1] == '/') {
        n--;
    }
    http_line_write(o, method, endpoint->path, n, path);
    out_bytes(o, "[", bracket);
    out_text(o, endpoint->host);
    out_bytes(o, "]", bracket);
    if (endpoint->port != (endpoint->tls ? 443 : 80)) {
        out_byte(o, ':');
        out_number(o, endpoint->port);
    }
    out_text(o, HTTP_USER_AGENT);
}

/* Adds name=value to a form, with a percent-encoded value. */
static void http_form_write(struct out *o, const char *name,
                            const char *value) {
    out_text(o, name);
    out_byte(o, '=');
    for (; *value != '\0'; value++) {
        uint8_t c = (uint8_t)*value;
        if (http_is_word(*value, "-._~")) {
            out_byte(o, *value);
        } else {
            out_byte(o, '%');
            out_byte(o, text_hex[c >> 4]);
            out_byte(o, text_hex[c & 15]);
        }
    }
}

/* ------------------------------------------------------------------------
 * 13 transport
 *
 * Turns bytes of the connection ("the wire") into plaintext and back, by
 * BearSSL's TLS engine; without TLS both are the same. There is no I/O here. Of
 * each pair of functions, one gives a buffer, the other says how much was used:
 *
 *               plaintext                 wire
 *    receiving  received(), took()        room(), got()
 *    sending    space(), wrote()          wire_out(), wire_sent()
 * ------------------------------------------------------------------------ */

#define TLS_RSA_MIN 256     /* bytes of the shortest RSA key accepted */
#define TLS_HANDSHAKE 22    /* record type (RFC 5246, section 6.2.1) */
#define TLS_FRAGMENT_ANY 14 /* log2 of the longest fragment of TLS */
#define TLS_OUT_OVERHEAD (MST_RECORD_OUT_MIN - 512u) /* around a payload */
#define TLS_ALERT(name) (BR_ERR_RECV_FATAL_ALERT + BR_ALERT_##name)

#ifndef MST_NO_TLS
/* An extended key usage (RFC 5280, section 4.2.1.12) in a certificate must name
 * servers, which BearSSL does not check. So certificates are also read here,
 * byte by byte, entering those elements (DER, X.690) that BearSSL enters. */
#define DER_CONSTRUCTED 0x20
#define DER_SEQUENCE 0x30
#define DER_OCTET_STRING 0x04
#define DER_OBJECT_IDENTIFIER 0x06
#define DER_EXT_KEY_USAGE 0x551D25
#define DER_SERVER_AUTH 0x2B06010505070301
#define DER_EXTENSIONS 0xA3 /* [3], of a TBSCertificate */
#define DER_LONG 0x80       /* the other bits count the bytes of the length */
#define DER_TBS_DEPTH 2     /* nesting depth of the parts of a TBSCertificate */

/* The part of an element that is read next; DER_BEYOND: none is. */
enum { DER_TAG, DER_LENGTH, DER_LENGTH_LONG, DER_CONTENTS, DER_BEYOND };
/* What was read of the usage so far: the extension's name, the octet string
 * with its value, the list in that, and there the name for servers. */
enum { EKU_NONE, EKU_NAMED, EKU_VALUE, EKU_LIST, EKU_SERVER };

/* An element's tag and length were read: enters it, or skips its contents. */
static void transport_element_begin(struct mst_validator *v) {
    bool entered = (v->tag & DER_CONSTRUCTED) != 0 && v->eku < EKU_LIST &&
                   (v->depth != DER_TBS_DEPTH || v->tag == DER_EXTENSIONS);
    bool usage = v->tag == DER_OCTET_STRING && v->eku == EKU_NAMED;

    v->len = v->left = (uint32_t)v->value;
    v->value = 0;
    if (entered) {
        v->depth = v->depth <= DER_TBS_DEPTH ? v->depth + 1 : v->depth;
        v->unfit |= v->eku == EKU_VALUE &&
                    (v->len != v->usage || v->tag != DER_SEQUENCE);
        v->eku = v->eku == EKU_VALUE ? EKU_LIST : EKU_NONE;
    } else if (usage) {
        v->unfit |= v->len - 1u > UINT16_MAX; /* none, or not to be counted */
        v->usage = (uint16_t)(v->len - 1u);
        v->eku = EKU_VALUE;
    }
    v->part = entered || usage || v->len == 0 ? DER_TAG : DER_CONTENTS;
}

/* The contents of an element that is not entered were read. */
static void transport_element_end(struct mst_validator *v) {
    bool name = v->tag == DER_OBJECT_IDENTIFIER;

    v->part = DER_TAG; /* of the next element */
    if (name && v->eku == EKU_NONE && v->len == 3 &&
        v->value == DER_EXT_KEY_USAGE) {
        v->eku = EKU_NAMED;
    } else if (name && v->eku == EKU_LIST && v->len == 8 &&
               v->value == DER_SERVER_AUTH) {
        v->eku = EKU_SERVER;
    }
}

APART void transport_certificate_byte(struct mst_validator *v, uint8_t byte) {
    bool in_usage = v->eku >= EKU_VALUE;

    v->value = v->value << 8 | byte;
    v->left--;
    if (v->part == DER_TAG) {
        v->tag = byte;
        v->part = DER_LENGTH;
        v->value = 0;
    } else if (v->part == DER_LENGTH && byte >= DER_LONG) {
        v->part = DER_LENGTH_LONG;
        v->left = byte - DER_LONG;
        v->value = 0;
    } else if (v->part == DER_LENGTH ||
               (v->part == DER_LENGTH_LONG && v->left == 0)) {
        transport_element_begin(v);
    } else if (v->part == DER_CONTENTS && v->left == 0) {
        transport_element_end(v);
    }
    if (in_usage && v->usage-- == 0) {
        v->unfit |= v->part != DER_TAG || v->eku != EKU_SERVER;
        v->eku = EKU_NONE;
    }
}

/* BearSSL calls the functions below: they add this check to its validator. */
static struct mst_validator *
transport_validator_of(const br_x509_class **context) {
    return (void *)((char *)context - offsetof(struct mst_validator, minimal));
}

/* Once BearSSL has trusted or rejected a chain, it ignores what follows. */
static void transport_start_cert(const br_x509_class **context, uint32_t len) {
    struct mst_validator *v = transport_validator_of(context);

    v->part = v->minimal.err != 0 ? DER_BEYOND : DER_TAG;
    v->eku = EKU_NONE;
    v->depth = 0;
    br_x509_minimal_vtable.start_cert(context, len);
}

static void transport_append(const br_x509_class **context,
                             const unsigned char *data, size_t len) {
    struct mst_validator *v = transport_validator_of(context);

    for (size_t i = 0; i < len; i++) {
        transport_certificate_byte(v, data[i]);
    }
    br_x509_minimal_vtable.append(context, data, len);
}

static unsigned transport_end_chain(const br_x509_class **context) {
    unsigned error = br_x509_minimal_vtable.end_chain(context);

    return error == 0 && transport_validator_of(context)->unfit
               ? BR_ERR_X509_FORBIDDEN_KEY_USAGE
               : error;
}

/* Sets up the check of the server's chain, and the hashes of TLS. */
static void transport_validator(struct mst_transport *t,
                                const struct mst_access *access,
                                int64_t unix_s) {
    static const br_hash_class *const hashes[] = {
        &br_sha256_vtable, &br_sha384_vtable, &br_sha512_vtable};
    struct mst_validator *v = t->validator;
    br_x509_minimal_context *x509 = &v->minimal;

    v->unfit = false;
    v->checks = br_x509_minimal_vtable;
    v->checks.context_size = sizeof *v;
    v->checks.start_cert = transport_start_cert;
    v->checks.append = transport_append;
    v->checks.end_chain = transport_end_chain;
    br_x509_minimal_init(x509, &br_sha256_vtable, access->anchors,
                         access->anchors_len);
    br_x509_minimal_set_minrsa(x509, TLS_RSA_MIN);
    br_x509_minimal_set_rsa(x509, br_rsa_pkcs1_vrfy_get_default());
    br_x509_minimal_set_ecdsa(x509, br_ec_get_default(),
                              br_ecdsa_vrfy_asn1_get_default());
    for (int i = 0; i < 3; i++) {
        br_x509_minimal_set_hash(x509, br_sha256_ID + i, hashes[i]);
        br_ssl_engine_set_hash(&t->tls->eng, br_sha256_ID + i, hashes[i]);
    }
    /* BearSSL counts days from the year 0. */
    br_x509_minimal_set_time(x509, (uint32_t)(unix_s / 86400) + 719528u,
                             (uint32_t)(unix_s % 86400));
    x509->vtable = &v->checks;
    br_ssl_engine_set_x509(&t->tls->eng, &x509->vtable);
}

/* Prepares a handshake with TLS 1.2, ECDHE and AEAD only:
 * br_ssl_client_init_full() would offer TLS 1.0 and CBC, too. It offers the
 * first six suites, or the last six if the processor has instructions for AES.
 * Without entropy (32 bytes), Debian's BearSSL has only the system's. */
static void transport_prepare(struct mst_transport *t,
                              const struct mst_access *access, int64_t unix_s,
                              const uint8_t *entropy) {
    static const uint16_t suites[] = {
        BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256};
    br_ssl_engine_context *engine = &t->tls->eng;

    br_ssl_client_zero(t->tls);
    if (t->aes == NULL) {
        /* Only once: asking a processor for its instructions can take 10 us. */
        br_ssl_engine_set_default_aes_gcm(engine);
        t->aes = engine->iaes_ctr;
        t->ghash = engine->ighash;
        t->aes_first = br_aes_x86ni_ctr_get_vtable() != NULL ||
                       br_aes_pwr8_ctr_get_vtable() != NULL;
    }
    br_ssl_engine_set_versions(engine, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_suites(engine, suites + (t->aes_first ? 2 : 0), 6);
    br_ssl_engine_add_flags(engine, BR_OPT_NO_RENEGOTIATION);
    br_ssl_engine_set_default_ecdsa(engine);
    br_ssl_engine_set_default_rsavrfy(engine);
    br_ssl_engine_set_aes_ctr(engine, t->aes);
    br_ssl_engine_set_ghash(engine, t->ghash);
    br_ssl_engine_set_gcm(engine, &br_sslrec_in_gcm_vtable,
                          &br_sslrec_out_gcm_vtable);
    br_ssl_engine_set_default_chapol(engine);
    br_ssl_engine_set_prf_sha256(engine, &br_tls12_sha256_prf);
    br_ssl_engine_set_prf_sha384(engine, &br_tls12_sha384_prf);
    transport_validator(t, access, unix_s);
    br_ssl_engine_set_buffers_bidi(engine, t->in, t->in_size, t->out,
                                   t->out_size);
    if (t->in_size >= MST_RECORD_IN_ANY) {
        /* If a buffer is small, BearSSL asks the server for short records
         * (max_fragment_length). As the input holds any, do not ask. Records to
         * send stay limited, by max_frag_len and the output's length. */
        engine->log_max_frag_len = TLS_FRAGMENT_ANY;
    }
    br_ssl_engine_inject_entropy(engine, entropy, 32);
}

/* Keeps the TLS session. True if it was resumed, without a certificate. */
static bool transport_keep(const struct mst_transport *t,
                           struct mst_resume *resume) {
    const br_ssl_session_parameters *session = &t->tls->eng.session;
    bool resumed = session->session_id_len > 0 &&
                   session->session_id_len == resume->session.session_id_len &&
                   memcmp(session->session_id, resume->session.session_id,
                          session->session_id_len) == 0;

    br_ssl_engine_get_session_parameters(&t->tls->eng, &resume->session);
    return resumed;
}

/* If TLS is in use; its engine. With MST_NO_TLS, compilers drop calls of it. */
#define TLS_USED(t) ((t)->secured)
#define TLS_ENGINE(t) (&(t)->tls->eng)
#else
#define TLS_USED(t) ((void)(t), false)
#define TLS_ENGINE(t) ((br_ssl_engine_context *)NULL)
#endif

/* The engine's state, a set of BearSSL's bits; 0 without TLS. */
static unsigned transport_state(const struct mst_transport *t) {
    return TLS_USED(t) ? br_ssl_engine_current_state(TLS_ENGINE(t)) : 0;
}

/* BearSSL's number of the engine's error, or BR_ERR_OK (0). */
static int transport_detail(const struct mst_transport *t) {
    return TLS_USED(t) ? br_ssl_engine_last_error(TLS_ENGINE(t)) : BR_ERR_OK;
}

/* The engine's error as an mst_error, or 0. */
static int transport_error(const struct mst_transport *t) {
    int detail = transport_detail(t);

    switch (detail) {
    case BR_ERR_OK: return 0;
    case BR_ERR_X509_NOT_TRUSTED: return MST_ERR_TLS_ISSUER;
    case BR_ERR_X509_BAD_SERVER_NAME: return MST_ERR_TLS_NAME;
    case BR_ERR_X509_EXPIRED: return MST_ERR_TLS_TIME;
    case BR_ERR_WRONG_KEY_USAGE: return MST_ERR_TLS_CERTIFICATE;
    case TLS_ALERT(PROTOCOL_VERSION): return MST_ERR_TLS_VERSION;
    case BR_ERR_BAD_CIPHER_SUITE:
    case TLS_ALERT(HANDSHAKE_FAILURE):
    case TLS_ALERT(INSUFFICIENT_SECURITY): return MST_ERR_TLS_HANDSHAKE;
    case BR_ERR_UNSUPPORTED_VERSION: /* or bytes that are not TLS */
        return TLS_ENGINE(t)->record_type_in == TLS_HANDSHAKE
                   ? MST_ERR_TLS_VERSION
                   : MST_ERR_TLS_PROTOCOL;
    default:
        return detail >= BR_ERR_RECV_FATAL_ALERT ? MST_ERR_TLS_ALERT
               : detail > BR_ERR_X509_OK         ? MST_ERR_TLS_CERTIFICATE
                                                 : MST_ERR_TLS_PROTOCOL;
    }
}

/* Returns plaintext that was received and not read yet: *len bytes. */
static const uint8_t *transport_received(const struct mst_transport *t,
                                         size_t *len) {
    const uint8_t *data = t->in + t->ahead_at;

    *len = t->ahead_len - t->ahead_at;
    if (TLS_USED(t)) {
        data = br_ssl_engine_recvapp_buf(TLS_ENGINE(t), len);
    }
    return *len > 0 ? data : t->in;
}

/* len bytes of plaintext were read. They stay valid until more is received. */
static void transport_took(struct mst_transport *t, size_t len) {
    if (TLS_USED(t)) {
        br_ssl_engine_recvapp_ack(TLS_ENGINE(t), len);
    } else {
        t->ahead_at += len;
    }
}

/* Why there is no room to receive: TLS has ended (MST_ERR_EOF: by close_notify)
 * or needs to send and cannot. Returns 0 if plaintext must be read first. */
static int transport_ended(const struct mst_transport *t) {
    int error = transport_error(t);
    size_t unread;

    (void)transport_received(t, &unread);
    return error != 0                            ? error
           : transport_state(t) == BR_SSL_CLOSED ? (int)MST_ERR_EOF
           : unread == 0                         ? t->send_error
                                                 : 0;
}

/* Returns *len bytes of room for plaintext to send; 0 if there is none now. */
static uint8_t *transport_space(const struct mst_transport *t, size_t *len) {
    if (TLS_USED(t)) {
        return br_ssl_engine_sendapp_buf(TLS_ENGINE(t), len);
    }
    /* No longer than with TLS: a replay, without TLS, sends the same pieces. */
    *len = t->out_len == 0 ? t->out_size - TLS_OUT_OVERHEAD : 0;
    return t->out;
}

/* len bytes were written there. flush: the record is complete. */
static void transport_wrote(struct mst_transport *t, size_t len, bool flush) {
    if (!TLS_USED(t)) {
        t->out_len += len;
        return;
    }
    br_ssl_engine_sendapp_ack(TLS_ENGINE(t), len);
    if (flush) {
        br_ssl_engine_flush(TLS_ENGINE(t), 0);
    }
}

static const uint8_t *transport_wire_out(const struct mst_transport *t,
                                         size_t *len) {
    if (TLS_USED(t)) {
        return br_ssl_engine_sendrec_buf(TLS_ENGINE(t), len);
    }
    *len = t->out_len;
    return t->out;
}

static void transport_wire_sent(struct mst_transport *t, size_t len) {
    if (!TLS_USED(t)) {
        t->out_len -= len;
        memmove(t->out, t->out + len, t->out_len);
        mem_wipe(t->out + t->out_len, len); /* it may have held a secret */
    } else {
        br_ssl_engine_sendrec_ack(TLS_ENGINE(t), len);
    }
}

/* Closes TLS, if it is in use. Returns its close_notify, to be sent. */
static const uint8_t *transport_goodbye(const struct mst_transport *t,
                                        size_t *len) {
    *len = 0;
    if (!TLS_USED(t) || t->end != 0 || t->send_error != 0) {
        return NULL;
    }
    /* The engine cannot close as long as there is unread plaintext. */
    while (br_ssl_engine_recvapp_buf(TLS_ENGINE(t), len) != NULL) {
        br_ssl_engine_recvapp_ack(TLS_ENGINE(t), *len);
    }
    br_ssl_engine_close(TLS_ENGINE(t));
    return br_ssl_engine_sendrec_buf(TLS_ENGINE(t), len);
}

/* Passes on bytes read ahead, until TLS has plaintext. True if it did. */
static bool transport_feed(struct mst_transport *t) {
    size_t before = t->ahead_at;

    while (TLS_USED(t) && t->ahead_at < t->ahead_len) {
        size_t ahead = t->ahead_len - t->ahead_at, len;
        uint8_t *to = br_ssl_engine_recvrec_buf(TLS_ENGINE(t), &len);
        if (len == 0) {
            break;
        }
        len = ahead < len ? ahead : len;
        memcpy(to, t->ahead + t->ahead_at, len);
        t->ahead_at += len;
        br_ssl_engine_recvrec_ack(TLS_ENGINE(t), len);
    }
    return t->ahead_at != before;
}

/* Returns room for bytes from the wire: the buffer for plaintext or, with TLS,
 * the one for reading ahead or the engine's. None if plaintext is unread. */
static uint8_t *transport_room(const struct mst_transport *t, size_t *len) {
    uint8_t *to;

    if (!TLS_USED(t)) {
        *len = t->ahead_at == t->ahead_len ? t->in_size : 0;
        return t->in;
    }
    to = br_ssl_engine_recvrec_buf(TLS_ENGINE(t), len);
    if (*len > 0 && t->ahead_size > 0) {
        *len = t->ahead_size;
        to = t->ahead;
    }
    return to;
}

static void transport_got(struct mst_transport *t, size_t len) {
    if (TLS_USED(t) && t->ahead_size == 0) {
        br_ssl_engine_recvrec_ack(TLS_ENGINE(t), len);
    } else {
        t->ahead_at = 0;
        t->ahead_len = len;
        (void)transport_feed(t);
    }
}

/* ------------------------------------------------------------------------
 * 14 access
 *
 * Timers, and what objects may share: credentials, trust anchors, tokens, TLS
 * sessions, and until when the service wants no requests. Times are in ms, and
 * wrap: a timer that is found due is disarmed, so that no past instant is ever
 * compared. An access looks at all its timers when the first is due.
 * ------------------------------------------------------------------------ */

#define TIMER_NONE UINT32_MAX                /* ms: never */
#define ACCESS_TIME_MAX_MS (24u * 86400000u) /* longest timer, as times wrap */
#define ACCESS_STEP_BACK_MS 86400000u /* longest step back that is noticed */
/* A link that fetches a token for all and is this late counts as abandoned. */
#define ACCESS_FETCH_MS 10000u

/* What the service can refuse for a time: tokens, a stream and addresses, each
 * with its host; and requests on a stream, which the client spaces. */
enum access_purpose {
    ACCESS_TOKEN,
    ACCESS_STREAM,
    ACCESS_ADDRESS,
    ACCESS_REQUEST
};

#define ACCESS_MARGIN_MS 30000u /* before its end, a token is too old for use */
#define ACCESS_LIFE_MAX_S 86400u /* a longer life counts as this */
/* A token is renewed when a tenth of its life is left, or this if that is less;
 * one with a shorter life than the minimum, only once it has ended. */
#define ACCESS_RENEW_MS 300000u
#define ACCESS_RENEW_LIFE_MIN_MS 120000u

/* Arms a timer, due in ms from now; TIMER_NONE disarms it. */
APART void timer_set(struct mst_timer *t, uint32_t now, uint32_t ms) {
    t->at = now + ms;
    t->armed = ms != TIMER_NONE;
}

/* Time left, ms: 0 if the timer is due, TIMER_NONE if it is not armed. */
static uint32_t timer_left(const struct mst_timer *t, uint32_t now) {
    return !t->armed                     ? TIMER_NONE
           : (int32_t)(t->at - now) <= 0 ? 0
                                         : t->at - now;
}

/* Time left, ms: 0 if the timer is due or not armed. */
static uint32_t timer_rest(const struct mst_timer *t, uint32_t now) {
    return t->armed ? timer_left(t, now) : 0;
}

/* Returns true if the timer is due, once: it is then disarmed. */
static bool timer_ends(struct mst_timer *t, uint32_t now) {
    bool ends = timer_left(t, now) == 0;

    t->armed &= !ends;
    return ends;
}

static uint32_t timer_sooner(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* How long a token may still be used, ms: weeks if it has no end. */
static uint32_t access_use_left(const struct mst_access *a,
                                const struct mst_token *t) {
    uint32_t left = timer_left(&t->end, a->now);

    return left - timer_sooner(left, ACCESS_MARGIN_MS);
}

/* True if a connection may begin with the token. Any new one serves once. */
static bool access_is_good(const struct mst_access *a,
                           const struct mst_token *t) {
    return t->len > 0 && (t->unused || access_use_left(a, t) > 0);
}

/* True if a token is in this storage, or is being fetched into it. */
static bool access_is_used(const struct mst_access *a, const char *storage) {
    return storage == a->tokens[0].text || storage == a->tokens[1].text ||
           (a->fetching != NULL && storage == a->fetching->reply.text);
}

/* Returns storage for one more token: the link's, another link's, or NULL. As
 * each link has storage for one token, a scope's first token finds some. */
static char *access_storage(const struct mst_access *a,
                            const struct mst_link *own) {
    const struct mst_link *l = access_is_used(a, own->storage) ? a->links : own;

    while (l != NULL && access_is_used(a, l->storage)) {
        l = l->next;
    }
    return l != NULL ? l->storage : NULL;
}

/* A token due for renewal, or NULL. If it is good, this needs free storage. */
static struct mst_token *access_ageing(struct mst_access *a,
                                       const struct mst_link *own) {
    struct mst_token *t = &a->tokens[a->tokens[0].renew_due ? 0 : 1];

    return t->renew_due &&
                   (!access_is_good(a, t) || access_storage(a, own) != NULL)
               ? t
               : NULL;
}

/* Forgets a token. Its new serial number tells links that it is gone. */
static void access_clear(struct mst_token *t) {
    if (t->len > 0) {
        mem_wipe(t->text, MST_TOKEN_ROOM);
    }
    t->text = NULL;
    t->len = 0;
    t->end.armed = t->renew.armed = false;
    t->serial++;
}

/* Forgets a token that is useless, also in the port's store. */
static void access_drop(struct mst_access *a, struct mst_token *t) {
    if (t->len > 0) {
        t->save_due = a->save_due = true;
        access_clear(t);
    }
}

/* Handles all timers that are due, and finds out when the next one is. */
static void access_look(struct mst_access *a) {
    uint32_t next = TIMER_NONE;

    for (unsigned i = 0; i < COUNT_OF(a->holds); i++) {
        (void)timer_ends(&a->holds[i], a->now);
        next = timer_sooner(next, timer_left(&a->holds[i], a->now));
    }
#ifndef MST_NO_TLS
    for (unsigned i = 0; i < MST_RESUMES; i++) {
        if (timer_ends(&a->resume[i].age, a->now)) {
            mem_wipe(&a->resume[i], sizeof a->resume[i]);
        }
        next = timer_sooner(next, timer_left(&a->resume[i].age, a->now));
    }
#endif
    for (unsigned i = 0; i < MST_SCOPES_MAX; i++) {
        struct mst_token *t = &a->tokens[i];
        t->renew_due |= timer_ends(&t->renew, a->now);
        if (timer_ends(&t->end, a->now)) {
            access_drop(a, t);
        }
        next = timer_sooner(next, timer_left(&t->renew, a->now));
        next = timer_sooner(next, timer_left(&t->end, a->now));
    }
    timer_set(&a->due, a->now, next);
}

/* ms since the clock was last read. A step back of up to a day counts as 0. */
static uint32_t access_passed(const struct mst_access *a, uint32_t port_ms) {
    uint32_t passed = port_ms - a->port_ms;

    return passed > UINT32_MAX - ACCESS_STEP_BACK_MS ? 0 : passed;
}

/* Advances the time, only here: by at most a timer's longest time. */
static void access_tick(struct mst_access *a, uint32_t port_ms) {
    a->now += timer_sooner(access_passed(a, port_ms), ACCESS_TIME_MAX_MS);
    a->port_ms = port_ms;
    if (timer_left(&a->due, a->now) == 0) {
        access_look(a);
    }
}

/* Holds back all that objects want for this purpose, for ms. */
static void access_hold(struct mst_access *a, unsigned purpose, uint32_t ms) {
    timer_set(&a->holds[purpose], a->now, ms);
    access_look(a);
}

/* Replaces a token by a new one, stored at text. life_ms may be TIMER_NONE. */
static void access_take(struct mst_access *a, struct mst_token *t, char *text,
                        size_t len, uint32_t life_ms) {
    access_clear(t); /* the new one is stored in its place */
    t->text = text;
    t->len = (uint32_t)len;
    t->unused = t->save_due = a->save_due = true;
    t->loaded = t->renew_due = false;
    if (life_ms != TIMER_NONE && life_ms >= ACCESS_RENEW_LIFE_MIN_MS) {
        timer_set(&t->renew, a->now,
                  life_ms - timer_sooner(life_ms / 10, ACCESS_RENEW_MS));
    }
    timer_set(&t->end, a->now,
              life_ms < ACCESS_MARGIN_MS ? ACCESS_MARGIN_MS : life_ms);
    access_look(a);
}

#ifndef MST_NO_TLS
/* True if text is a URL with the host and port of url, a valid one or NULL. */
static bool access_is_server(const char *text, const char *url) {
    size_t len;

    text = text != NULL ? strchr(text, ':') : NULL;
    if (text == NULL || url == NULL) {
        return false;
    }
    url = strchr(url, ':');
    len = strcspn(url + 3, "/") + 3; /* "://" comes before the host */
    return strncmp(text, url, len) == 0 &&
           (text[len] == '\0' || text[len] == '/');
}

/* The TLS session kept for a URL's server, or else an empty place for one. */
static struct mst_resume *access_resume(struct mst_access *a, const char *url) {
    struct mst_resume *r = NULL;

    for (unsigned i = 0; i < MST_RESUMES; i++) {
        if (access_is_server(url, a->resume[i].url)) {
            return &a->resume[i];
        }
        r = a->resume[i].session.session_id_len == 0 ? &a->resume[i] : r;
    }
    if (r == NULL) {
        r = &a->resume[a->next_resume];
        a->next_resume = (uint8_t)((a->next_resume + 1u) % MST_RESUMES);
    }
    mem_wipe(r, sizeof *r);
    r->url = url;
    return r;
}

int mst_access_set_anchors(struct mst_access *access,
                           const br_x509_trust_anchor *anchors,
                           size_t anchors_len) {
    if (anchors == NULL || anchors_len == 0) {
        return MST_ERR_ANCHORS;
    }
    access->anchors = anchors;
    access->anchors_len = anchors_len;
    access->renewals++;
    mem_wipe(access->resume, sizeof access->resume);
    return 0;
}
#endif

int mst_access_set_credentials(struct mst_access *access, const char *client_id,
                               const char *client_secret) {
    if (client_id == NULL || client_id[0] == '\0' || client_secret == NULL ||
        client_secret[0] == '\0') {
        return MST_ERR_CREDENTIALS;
    }
    access->client_id = client_id;
    access->client_secret = client_secret;
    access->renewals++;
    access_drop(access, &access->tokens[0]);
    access_drop(access, &access->tokens[1]);
    return 0;
}

int mst_access_init(struct mst_access *access,
                    const struct mst_config *config) {
    if (access == NULL || config == NULL) {
        return MST_ERR_ARGUMENT;
    }
    memset(access, 0, sizeof *access);
#ifndef MST_NO_TLS
    access->anchors = config->anchors;
    access->anchors_len = config->anchors_len;
#endif
    return mst_access_set_credentials(access, config->client_id,
                                      config->client_secret);
}

/* ------------------------------------------------------------------------
 * 15 link
 *
 * A link makes one authorised connection after another: to the token endpoint
 * while it has no token, then to the host of its user, a client or a transfer.
 * The user is a table of functions that write requests and read responses. Each
 * state has a deadline, and each attempt one error: its first.
 * (test/session/states.c tests this table, the users' and that of the pair.)
 *
 *    in state              this comes                               next
 *    --------------------  ---------------------------------------  --------
 *    OFF                   init                                     WAIT
 *    WAIT                  its time is up                           RESOLVE
 *    RESOLVE               the port has addresses                   CONNECT
 *    CONNECT               the port is connected                    TLS
 *    CONNECT TLS           ready for plaintext, to fetch a token    TOKEN
 *    CONNECT TLS           its token has ended, or it shall wait    WAIT
 *    TOKEN                 the reply is complete                    WAIT
 *    WAIT                  error: no clock, no random bytes         WAIT
 *    CONNECT               error, but there is another address      CONNECT
 *    RESOLVE CONNECT TLS   error, or its deadline                   WAIT
 *    TOKEN                 error, or its deadline                   WAIT
 *    RESOLVE CONNECT TLS   credentials or anchors are replaced      WAIT
 *    TOKEN                 credentials or anchors are replaced      WAIT
 *    WAIT RESOLVE CONNECT  the caller closes                        OFF
 *    TLS TOKEN             the caller closes                        OFF
 * ------------------------------------------------------------------------ */

#define LINK_TOKEN_PATH "/oauth2/token"
#define LINK_LOCAL_MS 1000u     /* to wait after an error of this machine */
#define LINK_RETRY_MAX_S 86400u /* longest wait that a service may ask for */
/* Most rounds of a poll: input may never end. A recording gets enough for all,
 * as its replay, without TLS records, needs a different number. */
#define LINK_ROUNDS_MAX 64u
#define LINK_ROUNDS_RECORDED 16384u
#define LINK_BURST 16u /* events in a row, from input that was received */
#define LINK_READ_FIRST_MS 1000u /* for input, before a timer judges the peer */
#define LINK_SLOW_CALLER_MS 100u /* longer: do not blame the peer */
#define LINK_SLEEP_MAX_MS ACCESS_TIME_MAX_MS
#define LINK_LEN_MAX ((size_t)1 << 28) /* of a buffer: sums stay in range */
#ifdef MST_NO_PLAIN
#define LINK_PLAIN 0u
#else
#define LINK_PLAIN MST_ALLOW_PLAIN
#endif

enum link_sending { SEND_NOTHING, SEND_HTTP, SEND_FRAME };

/* The functions of a user: client_NAME() and transfer_NAME() implement NAME. */
struct mst_link_user {
    uint8_t purpose;                   /* enum access_purpose */
    enum mst_state request;            /* state of its first exchange */
    const char *scope;                 /* unless another is configured */
    void (*begin)(struct mst_link *l); /* prepares that exchange; or NULL */
    /* Writes what l->sending says; masked: for the trace, without secrets. */
    void (*write)(const struct mst_link *l, struct out *o, bool masked);
    void (*choose)(struct mst_link *l); /* sets what to write next; or NULL */
    /* Reads plaintext in the user's states. Returns 1 with an event, or 0. */
    int (*read)(struct mst_link *l, struct mst_event *event);
    /* The connection or the state's time is over: true if that is no error. */
    bool (*finish)(struct mst_link *l);
    /* An open stream ends with an error; NULL for a user without streams. */
    void (*ended)(struct mst_link *l, int error);
    void (*expire)(struct mst_link *l, enum mst_link_timer timer); /* is due */
    /* True with an event to return before the link's own next one. */
    bool (*tell)(struct mst_link *l, struct mst_event *event);
};

static bool link_traces(const struct mst_link *l, enum mst_trace_kind kind) {
    return l->config.trace != NULL &&
           (kind < MST_TRACE_OPEN || (l->config.flags & MST_TRACE_ALL) != 0);
}

static void link_trace(const struct mst_link *l, struct mst_trace *trace) {
    if (link_traces(l, trace->kind)) {
        trace->link = l->config.link;
        trace->state = l->state;
        trace->received_ns = l->received_ns;
        l->config.trace(l->config.trace_context, trace);
    }
}

static void link_trace_text(const struct mst_link *l, enum mst_trace_kind kind,
                            const char *text, uint32_t value) {
    link_trace(l,
               &(struct mst_trace){.kind = kind, .text = text, .value = value});
}

/* Traces bytes, but no plaintext of a token exchange. */
static void link_trace_data(const struct mst_link *l, enum mst_trace_kind kind,
                            const void *data, size_t len) {
    if (link_traces(l, kind) && /* first, as this is called often */
        (l->purpose != ACCESS_TOKEN || kind == MST_TRACE_RANDOM)) {
        struct mst_trace trace = {.kind = kind, .data = data, .len = len};
        link_trace(l, &trace);
    }
}

static void link_trace_token(const struct mst_link *l,
                             const struct mst_token *token, const char *text,
                             int64_t life_s) {
    link_trace(l, &(struct mst_trace){.kind = MST_TRACE_TOKEN,
                                      .text = text,
                                      .value = life_s,
                                      .value2 = token->len,
                                      .data = token->scope,
                                      .len = strlen(token->scope)});
}

/* Raises a high-water mark to value. */
APART void link_high(uint32_t *mark, size_t value) {
    if (value > *mark) {
        *mark = (uint32_t)value;
    }
}

/* The time on a timer's clock. That of timers that judge the peer stops while
 * the caller is away; it is later_ms behind, so that input is read first. */
static uint32_t link_time(const struct mst_link *l, unsigned timer,
                          uint32_t later_ms) {
    bool judges = timer == MST_TIMER_USER
                      ? l->user->purpose == ACCESS_ADDRESS
                      : timer <= MST_TIMER_ANSWER && l->state > MST_STATE_WAIT;

    return judges ? l->clock.patient - later_ms : l->clock.now;
}

APART void link_arm(struct mst_link *l, enum mst_link_timer timer,
                    uint32_t ms) {
    timer_set(&l->timers[timer], link_time(l, timer, 0), ms);
}

static const char *link_scope(const struct mst_link *l) {
    return l->config.scope != NULL ? l->config.scope : l->user->scope;
}

/* Takes len random bytes from the stock; false if it has too few. */
static bool link_draw(struct mst_link *l, void *to, size_t len) {
    struct mst_random *r = &l->random;

    if (r->len < len) {
        return false;
    }
    r->len = (uint8_t)(r->len - len);
    memcpy(to, r->bytes + r->len, len);
    mem_wipe(r->bytes + r->len, len);
    return true;
}

/* Changes the state, only here, and arms its deadline. */
static void link_enter(struct mst_link *l, enum mst_state state,
                       uint32_t limit_ms) {
    struct mst_trace trace = {.kind = MST_TRACE_STATE, .from = l->state};

    if (state <= MST_STATE_WAIT) {
        memset(l->timers, 0, MST_TIMER_USER * sizeof l->timers[0]);
    }
    if (state == MST_STATE_WAIT && l->closing) {
        state = MST_STATE_OFF;
        limit_ms = TIMER_NONE;
    }
    l->state = state;
    if (state != trace.from) {
        link_trace(l, &trace);
    }
    link_arm(l, MST_TIMER_STAGE, limit_ms);
    if (l->access->fetching == l) {
        timer_set(&l->access->fetch, l->clock.now, limit_ms + ACCESS_FETCH_MS);
    }
}

/* True if the current exchange's token was since replaced or dropped. */
static bool link_lost_token(const struct mst_link *l) {
    return l->token->serial != l->grant.serial;
}

static void link_drop_token(struct mst_link *l) {
    if (!link_lost_token(l)) {
        link_trace_token(l, l->token, "dropped", -1);
        access_drop(l->access, l->token);
    }
}

/* True during an HTTP exchange: l->http is its response. */
static bool link_is_http(const struct mst_link *l) {
    return l->state == MST_STATE_TOKEN || l->state == l->user->request;
}

/* The shortest wait before a retry that the service asks for, ms, or 0. */
APART uint32_t link_retry_after(const struct mst_link *l, int error) {
    const struct mst_http *h = &l->http;
    const uint32_t s = !link_is_http(l)                ? 0
                       : http_has(h, HTTP_RETRY_AFTER) ? h->retry_after_s
                       : error == MST_ERR_THROTTLED    ? HTTP_RETRY_S
                                                       : 0;

    return (s < LINK_RETRY_MAX_S ? s : LINK_RETRY_MAX_S) * 1000;
}

static void link_note_http(struct mst_link *l) {
    struct mst_high_water *high = &l->stats.high;

    link_high(&high->headers, l->http.headers_len);
    link_high(&high->body, l->http.body_len);
    link_high(&high->line,
              l->http.longest < MST_LINE_MAX ? l->http.longest : MST_LINE_MAX);
}

/* Counts the failure that was noted. least: what link_retry_after() returns. */
static void link_count_failure(struct mst_link *l, uint32_t least) {
    const int error = l->failure.error;
    struct mst_trace trace = {.kind = MST_TRACE_ERROR,
                              .error = error,
                              .value = least,
                              .failure = &l->failure};
    unsigned band = (0 - (unsigned)error) / 100;

    l->stats.failures++;
    if (band < MST_BANDS) {
        l->stats.errors[band] += 1; /* clang's sanitizer does not look at ++ */
    }
    l->stats.last_error = error;
    link_trace(l, &trace);
}

/* How long to wait before the next attempt, ms: least or longer. */
APART uint32_t link_backoff(struct mst_link *l, uint32_t least) {
    const struct mst_config *g = &l->config;
    const int error = l->failure.error;
    /* Repeating a handover that timed out costs all books a snapshot again. */
    const bool slow = l->failure.permanent ||
                      (error == MST_ERR_TIMEOUT && l->state == MST_STATE_OPEN);
    uint32_t longest = g->backoff_ms, jitter, wait;
    uint8_t drawn[4] = {0}; /* bytes: a replay may have another byte order */

    if (error == MST_ERR_UNAUTHORIZED) {
        l->grant.refused = l->grant.refused == 0 ? 1 : 2;
        if (l->grant.refused == 1) {
            return 0; /* once, with a new token */
        }
    }
    for (uint32_t i = 0; i < l->attempts && longest < g->backoff_max_ms; i++) {
        longest *= 2; /* no overflow: both are 24 days at most */
    }
    l->attempts++;
    longest = timer_sooner(longest, g->backoff_max_ms);
    longest = slow ? g->backoff_slow_ms : longest;
    (void)link_draw(l, drawn, sizeof drawn);
    jitter = drawn[0] | (uint32_t)drawn[1] << 8 | (uint32_t)drawn[2] << 16 |
             (uint32_t)drawn[3] << 24;
    wait = (uint32_t)((uint64_t)longest * jitter >> 32) + 1;
    if (slow) {
        wait = longest - wait / 4; /* not all objects at the same time */
    }
    return least > wait ? least : wait;
}

/* True for errors that come with a text of the service. */
static bool link_has_text(int error) {
    return error == MST_ERR_TOKEN_REFUSED || error == MST_ERR_TOKEN_SCOPE ||
           error == MST_ERR_WS_CLOSED || error == MST_ERR_SERVICE;
}

/* The number that TLS, or else the port, has for the error. */
static int link_detail(const struct mst_link *l, int error) {
    return transport_error(&l->transport) == error
               ? transport_detail(&l->transport)
               : l->port_detail;
}

/* Notes a failure, whose event is returned next. Returns it, to add details. */
static struct mst_failure *link_note(struct mst_link *l,
                                     enum mst_event_type type, int error) {
    l->failure =
        (struct mst_failure){.error = error,
                             .stage = l->state,
                             .detail = link_detail(l, error),
                             .market = "",
                             .text = link_has_text(error) ? l->text : ""};
    l->report = (uint8_t)type;
    return &l->failure;
}

/* What a waiting link does next: its user's purpose, or fetching a token. */
static unsigned link_purpose(const struct mst_link *l) {
    return l->wanted && access_is_good(l->access, l->token) ? l->user->purpose
                                                            : ACCESS_TOKEN;
}

/* How long the link's next step is held back, ms; TIMER_NONE: it has none. */
static uint32_t link_held(const struct mst_link *l) {
    const struct mst_access *a = l->access;
    const unsigned purpose = link_purpose(l);
    uint32_t held = timer_rest(&a->holds[purpose], l->clock.now), fetch = 0;

    if (!l->wanted && (a == &l->own || access_ageing(l->access, l) == NULL)) {
        return TIMER_NONE;
    }
    if (purpose == ACCESS_TOKEN && a->fetching != NULL) {
        fetch = timer_rest(&a->fetch, l->clock.now);
    }
    return fetch > held ? fetch : held;
}

/* Time until the next attempt, ms; TIMER_NONE if none is needed. */
static uint32_t link_wait(const struct mst_link *l) {
    uint32_t wait = timer_rest(&l->timers[MST_TIMER_STAGE], l->clock.now);
    uint32_t held = link_held(l);

    return held > wait ? held : wait;
}

/* If the link was fetching a token, it no longer is: another one may. */
static void link_fetched(struct mst_link *l) {
    if (l->access->fetching == l) {
        l->access->fetching = NULL;
        if (l->reply.text != NULL) { /* what came is no token */
            mem_wipe(l->reply.text, MST_TOKEN_ROOM);
        }
    }
}

/* Ends the attempt or connection. The next one begins after wait_ms. */
static void link_stop(struct mst_link *l, int error, uint32_t wait_ms) {
    link_fetched(l);
    if (l->state > MST_STATE_WAIT) {
        struct mst_trace trace = {.kind = MST_TRACE_END, .error = error};
        link_trace(l, &trace);
    }
    l->port_detail = 0;
    link_enter(l, MST_STATE_WAIT, wait_ms);
}

/* Ends the attempt or connection without an error; the next begins at once. */
static void link_restart(struct mst_link *l) {
    link_stop(l, 0, 0);
}

APART const char *link_url(const struct mst_link *l, unsigned purpose) {
    return purpose == ACCESS_TOKEN    ? l->config.auth_url
           : purpose == ACCESS_STREAM ? l->config.ws_url
                                      : l->config.base_url;
}

#ifndef MST_NO_TLS
/* The TLS session kept for the current server. */
static struct mst_resume *link_resume(const struct mst_link *l) {
    return access_resume(l->access, link_url(l, l->purpose));
}
#endif

/* Notes why the attempt or connection ends. Returns the error to report. */
static int link_note_end(struct mst_link *l, int error) {
    struct mst_failure *f;

    if (l->state == MST_STATE_PUT && l->http.status >= 300) {
        /* The status says more than an error in the body. */
        error = http_status_error(l->http.status, MST_ERR_HTTP_STATUS);
    }
    if (error == MST_ERR_FORBIDDEN && l->state == l->user->request &&
        l->token->loaded) {
        error = MST_ERR_UNAUTHORIZED; /* a new token may have other rights */
    }
    f = link_note(l, MST_EVENT_CLOSED, error);
    f->stage = l->state == MST_STATE_CLOSING ? MST_STATE_OPEN : l->state;
    f->permanent = mst_error_is_permanent(error);
    if (error == MST_ERR_TOKEN_REFUSED) {
        f->permanent = text_lookup("invalid_client\0invalid_scope\0"
                                   "unauthorized_client\0"
                                   "unsupported_grant_type\0"
                                   "invalid_request\0",
                                   l->text, strlen(l->text)) < 5;
    }
    f->clock_s = error == MST_ERR_TLS_TIME ? l->clock.unix_s : 0;
    if (link_is_http(l)) {
        f->http_status = l->http.status;
        link_note_http(l);
    }
    if (l->state >= MST_STATE_OPEN) {
        l->user->ended(l, error);
    }
    return error;
}

/* Drops what the error spoils: the TLS session, or a token that was refused. */
static void link_forget(struct mst_link *l, int error) {
#ifndef MST_NO_TLS
    if (transport_error(&l->transport) != 0 || l->state == MST_STATE_TLS) {
        mem_wipe(link_resume(l), sizeof(struct mst_resume));
    }
#endif
    if (l->state == l->user->request &&
        (error == MST_ERR_UNAUTHORIZED || error == MST_ERR_FORBIDDEN)) {
        link_drop_token(l);
    }
}

/* Ends the attempt or connection with an error, and decides when to retry. */
static void link_fail(struct mst_link *l, int error) {
    const bool local = error == MST_ERR_CLOCK || error == MST_ERR_ENTROPY;
    uint32_t least, wait, retry_ms = 0;
    bool lasting;

    error = link_note_end(l, error);
    least = link_retry_after(l, error);
    link_count_failure(l, least);
    link_forget(l, error);
    if (local) {
        retry_ms = LINK_LOCAL_MS;
    } else if (l->state < MST_STATE_OPEN || l->timers[MST_TIMER_TOKEN].armed ||
               l->timers[MST_TIMER_STABLE].armed) {
        retry_ms = link_backoff(l, least);
    } /* else: it was stable until its token ended, so do not wait */
    if (least > 0) { /* for all objects that share the access */
        access_hold(l->access, l->purpose, least);
    }
    lasting = local || l->failure.permanent;
    if (lasting && l->reported_error == error) {
        l->report = MST_EVENT_NONE; /* report a lasting error once */
    }
    l->reported_error = lasting ? error : 0;
    link_stop(l, error, retry_ms);
    if (!l->closing) {
        /* How long another link takes to fetch a token is unknown. */
        wait = l->access->fetching == NULL ? link_wait(l) : TIMER_NONE;
        l->failure.retry_ms = wait == TIMER_NONE ? retry_ms : wait;
    }
}

/* Continues with the host's next address; false if there is none. */
static bool link_next_address(struct mst_link *l) {
    if (++l->connection.tried >= l->connection.addresses) {
        return false;
    }
    link_enter(l, MST_STATE_CONNECT, l->config.connect_ms);
    return true;
}

/* Begins an exchange on the connection. Restarts if it lacks a good token, or
 * if the service has just asked another link to wait. */
static void link_exchange(struct mst_link *l) {
    const struct mst_config *g = &l->config;
    struct mst_token *token = l->token;

    memset(&l->http, 0, sizeof l->http);
    if (l->purpose == ACCESS_TOKEN) {
        memset(&l->reply.json, 0, sizeof l->reply.json);
        l->reply.utf8 = l->reply.len = 0;
        link_enter(l, MST_STATE_TOKEN, g->token_ms);
    } else if (!access_is_good(l->access, token) ||
               l->access->holds[l->purpose].armed) {
        link_restart(l);
        return;
    } else {
        token->unused = false;
        l->grant.serial = token->serial;
        if (l->user->begin != NULL) {
            l->user->begin(l);
        }
        /* A token without an end outlasts any connection. */
        link_arm(
            l, MST_TIMER_TOKEN,
            timer_sooner(access_use_left(l->access, token), LINK_SLEEP_MAX_MS));
        link_enter(l, l->user->request,
                   l->purpose == ACCESS_STREAM ? g->upgrade_ms : g->answer_ms);
    }
    l->sending = SEND_HTTP;
}

/* The connection is ready for plaintext: begins its first exchange. */
static void link_connected(struct mst_link *l) {
    link_trace_text(l, MST_TRACE_OPENED, NULL, 0);
#ifndef MST_NO_TLS
    if (l->transport.secured) {
        struct mst_resume *r = link_resume(l);
        if (transport_keep(&l->transport, r)) {
            l->stats.resumed++;
        } else {
            r->unix_s = l->clock.unix_s;
            timer_set(&r->age, l->clock.now, l->config.resume_ms);
            access_look(l->access);
        }
    }
#endif
    link_exchange(l);
}

/* ------------------------------------------------------------------------
 * 16 link: exchanges
 *
 * Sends requests and reads the token endpoint's response. A text to send is not
 * stored: for each piece, all of it is written again, into a window (struct
 * out) that keeps only this piece.
 * ------------------------------------------------------------------------ */

static void link_write_form(const struct mst_link *l, struct out *o) {
    out_text(o, "grant_type=client_credentials");
    http_form_write(o, "&client_id", l->access->client_id);
    http_form_write(o, "&client_secret", l->access->client_secret);
    http_form_write(o, "&scope", l->reply.token->scope);
}

static void link_write_bearer(const struct mst_link *l, struct out *o,
                              bool masked) {
    out_text(o, "Authorization: Bearer ");
    out_bytes(o, masked ? NULL : l->token->text, l->token->len);
    out_text(o, "\r\n");
}

/* Writes what is being sent into the window: first masked, for the trace. */
static void link_write(const struct mst_link *l, struct out *o) {
    if (l->state == MST_STATE_TOKEN) {
        struct out form = {NULL, 0, 0, 0};
        http_request_begin(o, "POST ", &l->endpoint, LINK_TOKEN_PATH);
        out_text(o, "Content-Type: application/x-www-form-urlencoded\r\n"
                    "Accept: application/json\r\n");
        link_write_form(l, &form);
        http_length_write(o, form.len);
        link_write_form(l, o);
        return;
    }
    if (link_traces(l, MST_TRACE_OUT)) {
        struct out shown = *o;
        l->user->write(l, &shown, true);
        link_trace_data(l, MST_TRACE_OUT, shown.data, out_stored(&shown));
    }
    l->user->write(l, o, false);
}

/* Writes as much as fits of what is to be sent. Returns true for progress. */
static bool link_send(struct mst_link *l) {
    struct out o = {.skip = l->send_at};
    size_t n;

    if (l->sending == SEND_NOTHING && l->user->choose != NULL) {
        l->user->choose(l);
    }
    if (l->sending == SEND_NOTHING) {
        return false;
    }
    if (l->state == l->user->request && link_lost_token(l)) {
        link_restart(l);
        return true;
    }
    o.data = transport_space(&l->transport, &o.cap);
    if (o.cap == 0) {
        return false;
    }
    link_write(l, &o);
    n = out_stored(&o);
    l->send_at += n;
    l->stats.bytes_out += n;
    transport_wrote(&l->transport, n, l->send_at == o.len);
    if (l->send_at == o.len) {
        l->sending = SEND_NOTHING;
        l->send_at = 0;
    }
    return true;
}

/* Plaintext was read. */
static void link_took(struct mst_link *l, const uint8_t *data, size_t len) {
    if (len > 0) {
        transport_took(&l->transport, len);
        l->stats.bytes_in += len;
        link_trace_data(l, MST_TRACE_IN, data, len);
    }
}

/* Members that matter in the token endpoint's response. If its status is not
 * 200, only error does; some services send that with 200, too. */
#define REPLY_NAMES "access_token\0expires_in\0token_type\0scope\0error\0"
#define REPLY_ERROR 4 /* the last */

struct link_reply {
    struct json_text token, expires, type, scope, error;
};

/* Appends to what is kept of the response, in the storage for the token. */
static int link_reply_keep(struct mst_link *l, const void *data, size_t len) {
    if (len > MST_TOKEN_ROOM - 1 - l->reply.len) { /* a NUL follows */
        return MST_ERR_TOKEN_TOO_LARGE;
    }
    memcpy(l->reply.text + l->reply.len, data, len);
    l->reply.len += (uint32_t)len;
    return 0;
}

/* Reads a piece of the response's body. Keeps each value that matters after a
 * NUL and its member's number; all others may have any length. */
static int link_reply_sink(struct mst_link *l, const uint8_t *data,
                           size_t len) {
    struct mst_json *j = &l->reply.json;
    uint8_t mark[2] = {0};
    size_t at = 0;
    int rc = 0, stop = JSON_VALUE;
    bool counts;

    if (utf8_check(&l->reply.utf8, data, len) < len) {
        return MST_ERR_TOKEN_SHAPE;
    }
    while (rc == 0 && stop > JSON_MORE) {
        const bool keep = j->mode == JSON_TAKE;
        const size_t from = at;
        stop = json_next(j, data, len, &at);
        if (keep) {
            rc = link_reply_keep(l, data + from, at - from);
        }
        if (stop == JSON_VALUE && j->depth == 0) {
            rc = data[at++] == '{' ? json_open(j, false) : MST_ERR_TOKEN_SHAPE;
        } else if (stop == JSON_VALUE) {
            mark[1] = text_lookup(REPLY_NAMES, j->key, j->key_len);
            counts = l->http.status == 200 ? mark[1] <= REPLY_ERROR
                                           : mark[1] == REPLY_ERROR;
            (void)json_take(j, counts ? JSON_TAKE : JSON_SKIP);
            rc = counts ? link_reply_keep(l, mark, sizeof mark) : 0;
        }
    }
    return rc != 0                      ? rc
           : stop == MST_ERR_JSON_DEPTH ? stop
           : stop < 0                   ? (int)MST_ERR_TOKEN_SHAPE
                                        : 0;
}

/* Finds the kept values. Strings are unescaped in place, and end with a NUL. */
static int link_reply_read(const struct mst_link *l, struct link_reply *r) {
    struct json_text *const members[] = {&r->token, &r->expires, &r->type,
                                         &r->scope, &r->error};
    char *at = l->reply.text, *const end = at + l->reply.len;
    unsigned seen = 0;

    memset(r, 0, sizeof *r);
    if (!json_whole(&l->reply.json)) {
        return MST_ERR_TOKEN_SHAPE;
    }
    *end = '\0';
    while (at < end) {
        const unsigned member = (unsigned)at[1];
        const size_t len = strlen(at + 2);
        struct json_text t = json_scalar(at + 2, len, at + 2, len);
        if ((seen & BIT(member)) != 0) {
            return MST_ERR_TOKEN_SHAPE;
        }
        seen |= BIT(member);
        if (at[2] != 'n') { /* null counts as absent */
            at[(size_t)(t.at - at) + t.len] = '\0';
            *members[member] = t;
        }
        at += 2 + len;
    }
    return 0;
}

/* Points to the first word of scope that list lacks, or to "". */
static const char *link_lacks(const char *list, const char *scope) {
    const char *at = list;

    scope += strspn(scope, " ");
    while (*scope != '\0' && *at != '\0') {
        size_t len = strcspn(scope, " "), n = strcspn(at, " ");
        bool found = n == len && memcmp(at, scope, len) == 0;
        at = found ? list : at + n + strspn(at + n, " ");
        scope += found ? len + strspn(scope + len, " ") : 0;
    }
    return scope;
}

/* True if a header can carry it: printable ASCII without spaces. */
static bool link_is_token(const char *token, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (token[i] <= 0x20 || token[i] >= 0x7F) {
            return false;
        }
    }
    return len > 0;
}

/* Checks a response and moves its token to the front of the storage. A lifetime
 * is put into *life_ms: whole seconds, at most a day, 0 if it is negative. */
static int link_reply_take(struct mst_link *l, const struct link_reply *r,
                           uint32_t *life_ms) {
    char *text = l->reply.text;
    const char *expires = r->expires.at;
    const char *missing =
        r->scope.string ? link_lacks(r->scope.at, l->reply.token->scope) : "";

    if (r->type.string && !text_is_nocase(r->type.at, r->type.len, "bearer")) {
        return MST_ERR_TOKEN_TYPE;
    }
    if (*missing != '\0') {
        text_copy(l->text, sizeof l->text, missing, strcspn(missing, " "));
        return MST_ERR_TOKEN_SCOPE;
    }
    if (r->token.len > MST_TOKEN_MAX) {
        return MST_ERR_TOKEN_TOO_LARGE;
    }
    if (!r->token.string || !link_is_token(r->token.at, r->token.len) ||
        !r->type.string || r->scope.string != (r->scope.at != NULL) ||
        (expires != NULL &&
         (expires[strspn(expires, "+-.0123456789eE")] != '\0' ||
          json_check(expires, r->expires.len) != 0))) {
        return MST_ERR_TOKEN_SHAPE;
    }
    if (expires != NULL) {
        *life_ms = decimal_whole(expires, ACCESS_LIFE_MAX_S) * 1000u;
    }
    memmove(text, r->token.at, r->token.len);
    mem_wipe(text + r->token.len, l->reply.len - r->token.len);
    return 0;
}

/* The key to store a token under: a SHA-256 of service, client and scope. */
static void link_token_key(const struct mst_link *l, const char *scope,
                           uint8_t key[MST_TOKEN_KEY_LEN]) {
    const char *texts[] = {l->config.auth_url, l->access->client_id, scope};
    uint8_t digest[br_sha256_SIZE];
    br_sha256_context sha256;

    br_sha256_init(&sha256);
    for (unsigned i = 0; i < COUNT_OF(texts); i++) {
        br_sha256_update(&sha256, texts[i], strlen(texts[i]) + 1);
    }
    br_sha256_out(&sha256, digest);
    memcpy(key, digest, MST_TOKEN_KEY_LEN);
}

/* Takes a token into use, as access_take(). how: for the trace. */
static void link_take_token(struct mst_link *l, struct mst_token *t, char *text,
                            size_t len, uint32_t life_ms, const char *how) {
    access_take(l->access, t, text, len, life_ms);
    link_token_key(l, t->scope, t->key);
    link_high(&l->stats.high.token, len);
    link_trace_token(l, t, how,
                     life_ms != TIMER_NONE ? (int64_t)(life_ms / 1000) : -1);
}

/* Takes in the whole response. If it has a token, the next attempt uses it. */
static int link_reply_done(struct mst_link *l) {
    struct link_reply r;
    uint32_t life_ms = TIMER_NONE;
    int rc = link_reply_read(l, &r);

    if (rc == 0 && r.error.string && r.token.at == NULL) {
        text_copy(l->text, sizeof l->text, r.error.at, r.error.len);
        return MST_ERR_TOKEN_REFUSED;
    }
    if (l->http.status != 200) {
        return http_status_error(l->http.status, MST_ERR_HTTP_STATUS);
    }
    rc = rc != 0 ? rc : link_reply_take(l, &r, &life_ms);
    if (rc != 0) {
        return rc;
    }
    link_take_token(l, l->reply.token, l->reply.text, r.token.len, life_ms,
                    "obtained");
    l->reply.text = NULL;
    l->stats.tokens++;
    link_note_http(l);
    if (!l->wanted) { /* this was all there was to do */
        l->attempts = 0;
        l->reported_error = 0;
    }
    link_restart(l);
    return 0;
}

/* Reads a response, its body by sink: 0 for more, 1 at its end, or an error. */
static int link_read_http(struct mst_link *l,
                          int (*sink)(struct mst_link *l, const uint8_t *data,
                                      size_t len)) {
    size_t len, used = 0, piece = 0;
    const uint8_t *data = transport_received(&l->transport, &len);
    int rc = 0, found;

    do {
        found = http_read(&l->http, data, len, &used, &piece);
        if (found == HTTP_BODY) {
            rc = sink(l, data + used - piece, piece);
        }
    } while (rc == 0 && (found == HTTP_HEAD || found == HTTP_BODY));
    link_took(l, data, used);
    if (found == HTTP_MORE && l->transport.end == MST_ERR_EOF &&
        http_ends(&l->http)) {
        found = HTTP_END;
    }
    return rc != 0 ? rc : found == HTTP_END ? 1 : found;
}

static void link_read_token(struct mst_link *l) {
    int rc = link_read_http(l, link_reply_sink), status = l->http.status;
    bool head = l->http.state > HTTP_HEADER_LINE;

    if (status != 200 && status != 0 &&
        (rc < 0 || (head && status != 400 && status != 401))) {
        /* The status says more than the body, or an error in it. */
        rc = http_status_error(status, MST_ERR_HTTP_STATUS);
    }
    rc = rc == 1 ? link_reply_done(l) : rc;
    if (rc < 0) { /* a 401 is about the credentials, as no token was sent */
        link_fail(l, rc == MST_ERR_UNAUTHORIZED ? MST_ERR_TOKEN_REFUSED : rc);
    }
}

/* Handles plaintext, then the connection's end: 1 with an event, or 0. */
static int link_step(struct mst_link *l, struct mst_event *event) {
    const struct mst_transport *t = &l->transport;

    if (l->state == MST_STATE_TLS) {
        if ((transport_state(t) & BR_SSL_SENDAPP) != 0) {
            link_connected(l);
        }
    } else if (l->state == MST_STATE_TOKEN) {
        link_read_token(l);
    } else if (l->user->read(l, event) == 1) {
        return 1;
    }
    if (t->end != 0 && l->state >= MST_STATE_TLS && !l->user->finish(l)) {
        bool cut =
            t->end == MST_ERR_EOF && l->http.headers_len > 0 && link_is_http(l);
        link_fail(l, cut ? (int)MST_ERR_HTTP_TRUNCATED : t->end);
    }
    return 0;
}

/* ------------------------------------------------------------------------
 * 17 link: pump
 *
 * Connects, sends, receives, reads clocks: no other section calls the port.
 * ------------------------------------------------------------------------ */

/* True if the port does TLS itself. */
static bool link_is_secure(const struct mst_link *l) {
    return (l->port->flags & MST_PORT_SECURE) != 0;
}

static uint32_t link_now(const struct mst_link *l) {
    return l->port->now_ms(l->port->context);
}

/* Reads the port's clock and advances the link's clocks. */
static void link_clock(struct mst_link *l) {
    uint32_t port_ms = link_now(l), passed;

    access_tick(l->access, port_ms);
    passed = l->access->now - l->clock.now;
    l->clock.now += passed;
    l->clock.patient += passed;
    l->clock.elapsed_ms += passed;
    if (passed > 0) {
        l->connection.drained = false;
        l->burst = 0;
    }
    link_trace_text(l, MST_TRACE_CLOCK, NULL, port_ms);
}

/* A handshake, if there is one, has computed: that time is not the peer's. */
static void link_computed(struct mst_link *l) {
    uint32_t before = l->clock.patient;

    if (l->state == MST_STATE_TLS) {
        link_clock(l);
        l->clock.patient = before;
    }
}

/* Fills the stock of random bytes, for all except TLS; false on failure. */
static bool link_stock(struct mst_link *l) {
    struct mst_random *r = &l->random;

    r->len = 0; /* a call that fails may overwrite the rest */
    if (l->port->entropy(l->port->context, r->bytes, sizeof r->bytes) >= 0) {
        r->len = sizeof r->bytes;
        link_trace_data(l, MST_TRACE_RANDOM, r->bytes, sizeof r->bytes);
    }
    return r->len > 0;
}

/* Keeps the port's number for its last error. */
static void link_take_detail(struct mst_link *l) {
    l->port_detail = l->port->detail != NULL
                         ? l->port->detail(l->port->context, l->config.link)
                         : 0;
}

/* Loads the token from the port's store, once, if the link needs one. */
static void link_load_token(struct mst_link *l) {
    const struct mst_port *port = l->port;
    char *text = access_storage(l->access, l);
    uint8_t key[MST_TOKEN_KEY_LEN];
    int64_t until_s = 0;
    uint64_t life_s;
    int len;

    if (!l->wanted || l->grant.store_tried || port->token_load == NULL ||
        text == NULL || l->clock.unix_s < MST_CLOCK_MIN ||
        access_is_good(l->access, l->token)) {
        return;
    }
    l->grant.store_tried = true;
    link_token_key(l, l->token->scope, key);
    len = port->token_load(port->context, key, text, MST_TOKEN_MAX, &until_s);
    /* This wraps to a huge number if its life is over. */
    life_s = (uint64_t)until_s - (uint64_t)l->clock.unix_s;
    if (len <= 0 || len > MST_TOKEN_MAX || life_s == 0 ||
        life_s > ACCESS_LIFE_MAX_S || !link_is_token(text, (size_t)len)) {
        mem_wipe(text, MST_TOKEN_ROOM);
        return;
    }
    link_take_token(l, l->token, text, (size_t)len, (uint32_t)life_s * 1000,
                    "loaded");
    l->token->unused = l->token->save_due = false;
    l->token->loaded = true;
}

/* Saves new tokens in the port's store, and removes dropped ones from it. */
APART void link_save_tokens(const struct mst_link *l) {
    const struct mst_port *port = l->port;
    struct mst_access *a = l->access;
    int64_t unix_s = l->clock.unix_s;

    if (!a->save_due) {
        return;
    }
    a->save_due = false;
    unix_s += (int64_t)((l->clock.elapsed_ms - l->clock.unix_ms) / 1000);
    for (unsigned i = 0; i < MST_SCOPES_MAX; i++) {
        struct mst_token *t = &a->tokens[i];
        bool good = t->end.armed && access_use_left(a, t) > 0 &&
                    unix_s >= MST_CLOCK_MIN;
        if (t->save_due && port->token_save != NULL) {
            port->token_save(port->context, t->key, t->text, good ? t->len : 0,
                             unix_s + timer_rest(&t->end, a->now) / 1000);
        }
        t->save_due = false;
    }
}

/* Reads the URL for this purpose. Checks it, and what its security needs. */
static int link_set_endpoint(struct mst_link *l, unsigned purpose) {
    const char *url = link_url(l, purpose), *host = l->endpoint.host;
    const char *scheme = purpose == ACCESS_STREAM ? "ws" : "http";
    int rc = url != NULL ? http_url(url, scheme, &l->endpoint) : MST_ERR_URL;

    if (rc != 0 || (l->endpoint.tls && link_is_secure(l))) {
        return rc;
    }
    if (!l->endpoint.tls) {
        return (l->config.flags & LINK_PLAIN) != 0 ? 0 : MST_ERR_PLAIN;
    }
    if (strchr(host, ':') != NULL ||
        host[strspn(host, "0123456789.")] == '\0') {
        return MST_ERR_IP_HOST;
    }
#ifdef MST_NO_TLS
    return MST_ERR_BUILD;
#else
    return l->access->anchors == NULL || l->access->anchors_len == 0
               ? MST_ERR_ANCHORS
               : 0;
#endif
}

/* Begins an attempt, if the clock is set and there are random bytes. */
static void link_try(struct mst_link *l) {
    int64_t ns = 0;
    bool set = l->port->unix_ns(l->port->context, &ns) >= 0;
    struct mst_trace trace = {
        .kind = MST_TRACE_CLOCK, .value = set ? ns : -1, .value2 = 1};
    bool dated;

    link_trace(l, &trace);
    l->clock.unix_s = set ? ns / 1000000000 : 0;
    l->clock.unix_ms = l->clock.elapsed_ms;
    dated = link_is_secure(l) || l->clock.unix_s >= MST_CLOCK_MIN;
    if (!dated || !link_stock(l)) {
        link_fail(l, dated ? MST_ERR_ENTROPY : MST_ERR_CLOCK);
        return;
    }
    link_load_token(l);
    l->purpose = (uint8_t)link_purpose(l);
    if (l->purpose == ACCESS_TOKEN) {
        struct mst_token *t =
            l->wanted ? l->token : access_ageing(l->access, l);
        if (l->access->fetching != NULL) {
            link_restart(l->access->fetching); /* it is not polled any more */
        }
        if (!access_is_good(l->access, t)) {
            access_clear(t);
        }
        l->reply.token = t;
        l->reply.text = access_storage(l->access, l);
        l->access->fetching = l;
    } else {
        l->generation++;
    }
    /* The URL was checked when the object was initialised. */
    (void)link_set_endpoint(l, l->purpose);
    l->sending = SEND_NOTHING;
    l->send_at = 0;
    l->text[0] = '\0';
    l->connection = (struct mst_connection){.up = true};
    link_trace_text(l, MST_TRACE_OPEN, l->endpoint.host, l->endpoint.port);
    link_enter(l, MST_STATE_RESOLVE, l->config.resolve_ms);
}

/* The port is connected. Begins TLS, if it is needed and the port has none. */
static void link_secure(struct mst_link *l) {
#ifndef MST_NO_TLS
    const struct mst_port *port = l->port;
    struct mst_transport *t = &l->transport;
    uint8_t entropy[32];

    if (l->endpoint.tls && !link_is_secure(l)) {
        struct mst_resume *r = link_resume(l);
        if (port->entropy(port->context, entropy, sizeof entropy) < 0) {
            link_fail(l, MST_ERR_ENTROPY);
            return;
        }
        transport_prepare(t, l->access, l->clock.unix_s, entropy);
        mem_wipe(entropy, sizeof entropy);
        if (port->tls_setup != NULL) {
            port->tls_setup(port->tls_context, l->config.link, t->tls,
                            &t->validator->minimal.vtable);
        }
        if ((uint64_t)l->clock.unix_s - (uint64_t)r->unix_s >
            l->config.resume_ms / 1000) {
            /* Too old, or from the future: the machine may have slept. */
            mem_wipe(&r->session, sizeof r->session);
        }
        /* If the session is empty, this asks the server for a new one. */
        br_ssl_engine_set_session_parameters(&t->tls->eng, &r->session);
        (void)br_ssl_client_reset(t->tls, l->endpoint.host, 1);
        t->secured = true;
        link_enter(l, MST_STATE_TLS, l->config.tls_ms);
        return;
    }
#endif
    link_connected(l);
}

/* Continues to resolve and connect. Returns true for progress. */
static bool link_connect(struct mst_link *l) {
    struct mst_connection *c = &l->connection;
    int rc;

    if (l->state == MST_STATE_RESOLVE) {
        rc = l->port->resolve(l->port->context, l->config.link, &l->endpoint);
        if (rc > 0) {
            c->addresses = (uint32_t)rc;
            link_enter(l, MST_STATE_CONNECT, l->config.connect_ms);
        }
    } else {
        /* Begins with another address at each attempt: the last one may be bad.
         * A proxy that refuses a login refuses it at all its addresses. */
        rc = l->port->connect(l->port->context, l->config.link,
                              (int)((l->attempts + c->tried) % c->addresses));
        link_computed(l);
        if (rc == MST_PORT_IN_TLS && l->state == MST_STATE_TLS) {
            rc = 0; /* no news */
        } else if (rc == MST_PORT_IN_TLS) {
            link_enter(l, MST_STATE_TLS, l->config.tls_ms);
        } else if (rc > 0) {
            link_secure(l);
        } else if (rc < 0 && rc != MST_ERR_PROXY_LOGIN &&
                   l->state == MST_STATE_CONNECT && link_next_address(l)) {
            return true;
        }
    }
    if (rc < 0) {
        link_take_detail(l);
        link_fail(l, rc);
    }
    return rc != 0;
}

/* Traces an error n of receiving or sending, or a send of only n bytes. */
static void link_trace_port(const struct mst_link *l, bool sending, int n) {
    link_trace(l, &(struct mst_trace){.kind = MST_TRACE_PORT,
                                      .error = n < 0 ? n : 0,
                                      .value = n < 0 ? link_detail(l, n) : n,
                                      .value2 = sending});
}

/* Ends receiving for the reason end, unless that is 0. True if it ends. */
APART bool link_ends(struct mst_link *l, int end) {
    l->transport.end = end;
    if (end != 0) {
        link_trace_port(l, false, end);
    }
    return end != 0;
}

/* Writes and sends what is to be sent. Returns true for progress. */
static bool link_flush(struct mst_link *l) {
    struct mst_transport *t = &l->transport;
    const uint8_t *data;
    bool wrote = l->state >= MST_STATE_TLS && link_send(l);
    size_t len;
    int n;

    if (l->state < MST_STATE_TLS) {
        return wrote; /* link_send() has ended it */
    }
    /* At once, so that a replay does it in the same poll. It may fail. */
    if (l->random.len < sizeof l->random.bytes / 2) {
        (void)link_stock(l);
    }
    data = transport_wire_out(t, &len);
    if (len == 0 || t->send_error != 0) {
        return wrote;
    }
    link_high(&l->stats.high.unsent, len);
    n = l->port->send(l->port->context, l->config.link, data, len);
    if (n > 0) {
        transport_wire_sent(t, (size_t)n);
        l->connection.drained = false; /* it may be answered at once */
    } else if (n < 0) {
        /* What the peer sent before is still to be read. */
        t->send_error = n;
        link_take_detail(l);
    }
    if (n < 0 || (size_t)n < len) {
        link_trace_port(l, true, n);
    }
    if (n == 0 && l->state > MST_STATE_TLS &&
        transport_state(t) == BR_SSL_SENDREC) {
        /* TLS is closed: do not wait to answer (RFC 5246, section 7.2.1). */
        return link_ends(l, MST_ERR_EOF);
    }
    return wrote || n != 0;
}

/* Time until the link does something by itself, ms. Without its next attempt if
 * that awaits what another link does: to be late keeps no peer waiting. */
static uint32_t link_left(const struct mst_link *l, bool without_attempt) {
    uint32_t left = TIMER_NONE;

    if (l->state == MST_STATE_WAIT && !without_attempt) {
        left = link_wait(l);
    } else if (l->state == MST_STATE_IDLE && l->wanted) {
        left = link_held(l);
    }
    for (unsigned i = l->state == MST_STATE_WAIT ? MST_TIMER_USER : 0;
         i < MST_TIMER_OWNER; i++) {
        left =
            timer_sooner(left, timer_left(&l->timers[i], link_time(l, i, 0)));
    }
    return left;
}

/* Bytes were read at ns. Only plaintext counts as received. */
static void link_got(struct mst_link *l, uint64_t ns) {
    size_t len;
    const uint8_t *data = transport_received(&l->transport, &len);

    link_high(&l->stats.high.received, len);
    link_computed(l);
    if (len > 0) {
        l->received_ns = ns;
        link_trace_data(l, MST_TRACE_READ, data, len);
    }
}

/* Nothing was received. n: 0, or why. Returns true if receiving has ended. */
static bool link_got_none(struct mst_link *l, int n) {
    if (l->transport.send_error != 0 && (n == 0 || n == MST_ERR_EOF)) {
        n = l->transport.send_error;
    } else if (n < 0) {
        link_take_detail(l);
        if (n == MST_ERR_EOF && l->transport.secured) {
            n = MST_ERR_TLS_TRUNCATED;
        }
    }
    return link_ends(l, n);
}

/* Receives bytes. Returns true if there were any, or their end. */
static bool link_receive(struct mst_link *l) {
    struct mst_transport *t = &l->transport;
    const struct mst_port *port = l->port;
    size_t len;
    uint8_t *to;
    int n;

    if (t->end != 0) {
        return false;
    }
    if (transport_feed(t)) {
        link_got(l, l->received_ns);
        return true;
    }
    to = transport_room(t, &len);
    if (len == 0) {
        return link_ends(l, transport_ended(t));
    }
    if (l->connection.drained && t->send_error == 0 &&
        l->state != MST_STATE_IDLE && link_left(l, false) > 0) {
        /* The port has just said that it has no more. It is asked again if it
         * may have ended, as sending failed or an idle connection is reused;
         * and before a timer that is due: the port may have read long ago. */
        return false;
    }
    n = port->recv(port->context, l->config.link, to, len);
    l->connection.drained = n == 0 || (n > 0 && (size_t)n < len &&
                                       (port->flags & MST_PORT_DRAINS) != 0);
    if (n > 0) {
        uint64_t ns = port->now_ns != NULL ? port->now_ns(port->context)
                                           : l->clock.elapsed_ms * 1000000;
        transport_got(t, (size_t)n);
        link_high(&l->stats.high.staged, t->secured ? t->ahead_len : 0);
        link_got(l, ns);
        return true;
    }
    return link_got_none(l, n);
}

/* Closes the connection, with a close_notify if it can be sent at once. */
static void link_drop(struct mst_link *l) {
    struct mst_transport *t = &l->transport;
    const uint8_t *data;
    size_t len;

    if (!l->connection.up) {
        return;
    }
    data = transport_goodbye(t, &len);
    if (len > 0) {
        (void)l->port->send(l->port->context, l->config.link, data, len);
    }
    l->port->close(l->port->context, l->config.link);
#ifndef MST_NO_TLS
    if (l->port->tls_end != NULL) {
        l->port->tls_end(l->port->tls_context, l->config.link);
    }
#endif
    l->connection.up = l->connection.reading = false;
    t->ahead_at = t->ahead_len = t->out_len = 0;
    t->end = t->send_error = 0;
    t->secured = false;
    /* A token may be in it, even if the service's response was not HTTP. */
    mem_wipe(l->memory->data, l->memory->size);
    mem_wipe(l->http.line, sizeof l->http.line);
}

unsigned mst_wants(const struct mst_link *link) {
    const struct mst_port *port = link->port;
    unsigned wants = MST_WANT_WRITE;
    size_t out, in;

    if (link->wiped || link->state < MST_STATE_CONNECT) {
        return 0;
    }
    if (link->state != MST_STATE_CONNECT) {
        (void)transport_wire_out(&link->transport, &out);
        (void)transport_room(&link->transport, &in);
        wants = (out > 0 ? MST_WANT_WRITE : 0u) | (in > 0 ? MST_WANT_READ : 0u);
    }
    return port->wants == NULL
               ? wants
               : port->wants(port->context, link->config.link, wants);
}

/* ------------------------------------------------------------------------
 * 18 link: polling
 *
 * A poll looks at the clock, timers and output, then does rounds until there is
 * an event or no progress. So busy input keeps nothing else waiting.
 * ------------------------------------------------------------------------ */

/* One round. Returns 1 with an event, 2 for other progress, else 0. */
static int link_round(struct mst_link *l, struct mst_event *event) {
    const enum mst_state before = l->state;
    const uint64_t read = l->stats.bytes_in;
    bool moved;

    if (before <= MST_STATE_WAIT) {
        link_drop(l);
        (void)timer_ends(&l->timers[MST_TIMER_STAGE], l->clock.now);
        if (before == MST_STATE_OFF || link_wait(l) > 0) {
            return 0;
        }
        link_try(l);
        return l->state != before || l->report != MST_EVENT_NONE ? 2 : 0;
    }
    if (before <= MST_STATE_CONNECT ||
        (before == MST_STATE_TLS && link_is_secure(l))) {
        return link_connect(l) ? 2 : 0;
    }
    moved = l->connection.reading || link_receive(l);
    if (link_step(l, event) == 1) {
        return 1;
    }
    moved |= link_flush(l);
    return moved || l->stats.bytes_in != read || l->state != before ? 2 : 0;
}

/* Handles the first timer that is due by link_time(); false if none is. */
APART bool link_expire(struct mst_link *l, uint32_t later_ms) {
    unsigned i = l->state > MST_STATE_WAIT ? MST_TIMER_STAGE : MST_TIMER_USER;

    while (i < MST_TIMER_OWNER &&
           !timer_ends(&l->timers[i], link_time(l, i, later_ms))) {
        i++;
    }
    if (i > MST_TIMER_STAGE && i < MST_TIMER_OWNER) {
        l->user->expire(l, (enum mst_link_timer)i);
    } else if (i == MST_TIMER_STAGE &&
               (l->state != MST_STATE_CONNECT || !link_next_address(l)) &&
               !l->user->finish(l)) {
        link_fail(l, MST_ERR_TIMEOUT);
    }
    return i < MST_TIMER_OWNER;
}

/* True while another link fetches the token that this one waits for. */
static bool link_awaits(const struct mst_link *l) {
    return l->state == MST_STATE_WAIT && l->access->fetching != NULL;
}

/* The caller is back. Restarts an attempt, at once, if credentials or trust
 * anchors were replaced since the last time. */
static void link_wake(struct mst_link *l) {
    link_clock(l);
    if (timer_ends(&l->clock.caller, l->clock.now) && !link_awaits(l)) {
        l->clock.patient -= l->clock.now - l->clock.caller.at;
    }
    /* The caller may take this long over an event, or after a put. */
    timer_set(&l->clock.caller, l->clock.now, LINK_SLOW_CALLER_MS);
    if (l->renewals == l->access->renewals) {
        return;
    }
    l->renewals = l->access->renewals;
    l->reported_error = 0;
    if (l->state == MST_STATE_WAIT) {
        l->attempts = 0;
    }
    if (l->state <= MST_STATE_UPGRADE) {
        link_restart(l);
    }
}

static void link_stamp(const struct mst_link *l, struct mst_event *event) {
    event->link = l->config.link;
    event->generation = l->generation;
    event->received_ns = l->received_ns;
}

/* Removes the link from its access, with the token in its storage; and with its
 * scope's token and its servers' TLS sessions, if no other link has them. */
static void link_leave(struct mst_link *l) {
    struct mst_access *a = l->access;
    struct mst_link **at = &a->links;
    const char *scope = NULL;

    while (*at != l) {
        at = &(*at)->next;
    }
    *at = l->next;
    for (struct mst_link *other = a->links; other != NULL;
         other = other->next) {
        scope = other->token == l->token ? link_scope(other) : scope;
        other->more = true;
    }
    l->token->scope = scope;
    l->token->renew_due &= scope != NULL;
    for (unsigned i = 0; i < MST_SCOPES_MAX; i++) {
        struct mst_token *t = &a->tokens[i];
        if (t->text == l->storage || t->scope == NULL) {
            access_clear(t);
        }
    }
    if (a->fetching != NULL && (a->fetching->reply.text == l->storage ||
                                a->fetching->reply.token->scope == NULL)) {
        link_restart(a->fetching);
    }
#ifndef MST_NO_TLS
    for (unsigned i = 0; i < MST_RESUMES; i++) {
        struct mst_resume *r = &a->resume[i];
        const char *url = NULL;
        for (const struct mst_link *other = a->links; other != NULL;
             other = other->next) {
            for (unsigned k = 0; k < ACCESS_REQUEST; k++) {
                const char *its = link_url(other, k);
                url = access_is_server(its, r->url) ? its : url;
            }
        }
        if (url == NULL) {
            mem_wipe(r, sizeof *r);
        }
        r->url = url;
    }
#endif
}

static void link_wipe(struct mst_link *l) {
    link_fetched(l);
    link_leave(l);
    mem_wipe(l->storage, MST_TOKEN_ROOM);
    mem_wipe(&l->random, sizeof l->random);
    mem_wipe(l->memory->data, l->memory->size);
    l->wiped = true;
}

/* Returns an event that is ready, or does a round. Without progress, and in the
 * last round, a timer that is due has its turn. Returns as link_round(). */
WARM int link_turn(struct mst_link *l, struct mst_event *event, bool last) {
    int rc;

    if (l->user->tell(l, event)) {
        return 1;
    }
    if (l->report != MST_EVENT_NONE) {
        message_event(event, (enum mst_event_type)l->report);
        event->as.failure = l->failure;
        l->report = MST_EVENT_NONE;
        return 1;
    }
    rc = link_round(l, event);
    return rc != 1 && (rc == 0 || last) && link_expire(l, 0) ? 2 : rc;
}

/* See mst_poll(). */
COLD int link_poll(struct mst_link *l, struct mst_event *event) {
    const bool recorded = (l->config.flags & MST_NO_BURST) != 0;
    unsigned rounds = recorded ? LINK_ROUNDS_RECORDED : LINK_ROUNDS_MAX;
    int rc;

    event->type = MST_EVENT_NONE;
    if (l->wiped) {
        return MST_ERR_CLOSED;
    }
    /* A few events in a row may come from input that was received. */
    if (l->burst > 0 && link_now(l) == l->access->port_ms &&
        l->clock.now == l->access->now) {
        l->burst--;
    } else {
        l->changes++;
        link_wake(l);
        l->burst = recorded ? 0 : LINK_BURST;
        while (link_expire(l, LINK_READ_FIRST_MS)) {}
        if (l->state >= MST_STATE_OPEN) {
            (void)link_flush(l); /* in other states no event delays it */
        }
    }
    do {
        rounds--;
        rc = link_turn(l, event, rounds == 0);
    } while (rc == 2 && rounds > 0);
    link_save_tokens(l);
    l->more = rc != 0;
    if (rc == 1) {
        link_stamp(l, event);
        return 1;
    }
    l->burst = 0;
    if (rc == 0 && l->state == MST_STATE_OFF) {
        link_wipe(l);
        return MST_ERR_CLOSED;
    }
    l->connection.drained = false; /* the caller may wait */
    timer_set(&l->clock.caller, l->clock.now, link_left(l, link_awaits(l)));
    return 0;
}

uint32_t mst_next_deadline_ms(const struct mst_link *link) {
    const struct mst_access *a = link->access;
    const uint32_t now = link->clock.now;
    uint32_t left = LINK_SLEEP_MAX_MS, passed;

    if (link->wiped) {
        return left; /* its end was reported */
    }
    if (link->more || link->renewals != a->renewals) {
        return 0;
    }
    left = timer_sooner(left, link_left(link, false));
    left = timer_sooner(left, timer_left(&a->due, now));
    left = timer_sooner(left, timer_left(&link->timers[MST_TIMER_OWNER], now));
    passed = access_passed(a, link_now(link)) + a->now - now;
    return left > passed ? left - passed : 0;
}

static bool link_is_over(const struct mst_link *l) {
    return l->closing || l->wiped;
}

int mst_link_number(const struct mst_link *link) {
    return link->config.link;
}

bool mst_link_ended(const struct mst_link *link) {
    return link->wiped;
}

uint32_t mst_link_changes(const struct mst_link *link) {
    return link->changes;
}

enum mst_state mst_link_state(const struct mst_link *link) {
    return link->wiped ? MST_STATE_OFF : link->state;
}

const struct mst_stats *mst_link_stats(const struct mst_link *link) {
    return &link->stats;
}

/* Replaces times of 0 by defaults. Longer ones than 24 days are an error. */
static int link_set_times(struct mst_config *g) {
    /* Seconds, in the order of the members. */
    static const uint16_t seconds[] = {10, 10, 30, 15, 15,  10, 30, 3,  60,  20,
                                       60, 1,  1,  60, 300, 30, 0,  15, 600, 0};
    uint32_t *ms =
        (void *)((char *)g + offsetof(struct mst_config, resolve_ms));
    int rc = 0;

    g->resume_ms = g->resume_ms != 0 ? g->resume_ms : 86400000;
    g->min_rate = g->min_rate != 0 ? g->min_rate : 1024;
    for (unsigned i = 0; i < COUNT_OF(seconds); i++, ms++) {
        *ms = *ms != 0 ? *ms : seconds[i] * 1000u;
        rc = *ms > LINK_SLEEP_MAX_MS ? MST_ERR_ARGUMENT : rc;
    }
    return rc;
}

static bool link_port_is_whole(const struct mst_port *port) {
    return port->resolve != NULL && port->connect != NULL &&
           port->send != NULL && port->recv != NULL && port->close != NULL &&
           port->now_ms != NULL && port->unix_ns != NULL &&
           port->entropy != NULL;
}

static int link_cut_memory(struct mst_link *l) {
    const struct mst_memory *m = l->memory;
    struct mst_transport *t = &l->transport;
    uint8_t *at = m->data;

    if (m->record_in < MST_RECORD_IN_MIN || m->record_in > LINK_LEN_MAX ||
        m->record_out < MST_RECORD_OUT_MIN || m->record_out > LINK_LEN_MAX ||
        m->message < 256 || m->message > LINK_LEN_MAX ||
        m->read_ahead > LINK_LEN_MAX) {
        return MST_ERR_ARGUMENT;
    }
    if (m->size < MST_MEMORY_LEN(m->record_in, m->record_out, m->message,
                                 m->read_ahead)) {
        return MST_ERR_MEMORY;
    }
    at += (16 - (uintptr_t)at % 16) % 16;
    t->in_size = m->record_in;
    t->out_size = m->record_out;
    t->ahead_size = m->read_ahead;
    t->in = at;
    t->out = t->in + MST_ALIGNED(t->in_size);
    t->ahead = t->out + MST_ALIGNED(t->out_size);
    at = t->ahead + MST_ALIGNED(t->ahead_size);
#ifndef MST_NO_TLS
    t->tls = (br_ssl_client_context *)(void *)at;
    at += MST_ALIGNED(MST_TLS_LEN);
    t->validator = (struct mst_validator *)(void *)at;
#endif
    l->tokens = (struct mst_tokens *)(void *)at;
    return 0;
}

/* Finds the token of the link's scope in its access, or else the last free
 * place for one. */
static int link_share_token(struct mst_link *l) {
    const struct mst_link *other = l->access->links;

    if (other != NULL &&
        strcmp(other->config.auth_url, l->config.auth_url) != 0) {
        return MST_ERR_URL; /* its tokens are another service's */
    }
    for (unsigned i = MST_SCOPES_MAX; i-- > 0;) {
        struct mst_token *t = &l->access->tokens[i];
        if (t->scope == NULL ? l->token == NULL
                             : strcmp(t->scope, link_scope(l)) == 0) {
            l->token = t;
        }
    }
    return l->token != NULL ? 0 : MST_ERR_ARGUMENT;
}

/* Clears an object, unless the caller was compiled with other limits. */
static int link_clear(void *object, size_t size, uint32_t build) {
    if (build != (MST_LIMITS ^ (uint32_t)size)) {
        return MST_ERR_BUILD;
    }
    if (object == NULL) {
        return MST_ERR_ARGUMENT;
    }
    memset(object, 0, size);
    return 0;
}

/* Initialises a link, in an object that is all zero. Returns 0 or an error. */
static int link_init(struct mst_link *l, const struct mst_link_user *user,
                     const struct mst_config *config,
                     const struct mst_port *port,
                     const struct mst_memory *memory, char *storage) {
    int rc;

    l->wiped = true; /* until all is well */
    if (config == NULL || port == NULL || memory == NULL ||
        memory->data == NULL || !link_port_is_whole(port)) {
        return MST_ERR_ARGUMENT;
    }
    l->config = *config;
    l->user = user;
    l->port = port;
    l->memory = memory;
    l->storage = storage;
    l->access = config->access;
    if (l->access == NULL) {
        (void)mst_access_init(&l->own, config);
        l->access = &l->own;
    }
    rc = link_set_endpoint(l, ACCESS_TOKEN);
    rc = rc != 0 ? rc : link_set_endpoint(l, user->purpose);
    rc = rc != 0 ? rc : link_share_token(l);
    rc = rc != 0 ? rc : l->access->client_id == NULL ? MST_ERR_CREDENTIALS : 0;
    rc = rc != 0 ? rc : link_set_times(&l->config);
    rc = rc != 0 ? rc : link_cut_memory(l);
    if (rc != 0) {
        return rc;
    }
    l->token->scope = link_scope(l);
    l->renewals = l->access->renewals;
    l->next = l->access->links;
    l->access->links = l;
    access_tick(l->access, link_now(l));
    l->clock.now = l->access->now;
    link_trace_text(l, MST_TRACE_CLOCK, NULL, l->access->port_ms);
    l->more = true;
    l->wiped = false;
    link_enter(l, MST_STATE_WAIT, 0);
    return 0;
}

/* Ends a link without a goodbye, and wipes its object of size bytes. */
static void link_end(struct mst_link *l, size_t size) {
    if (!l->wiped) {
        l->transport.end = MST_ERR_EOF; /* so TLS sends no close_notify */
        link_drop(l);
        link_wipe(l);
    }
    mem_wipe(l, size);
    l->wiped = true;
}

/* ------------------------------------------------------------------------
 * 19 client: subscriptions
 *
 * A subscription has the caller's wish, wanted or not, and a state, on the
 * current connection. Requests make the state follow the wish. Only one request
 * is outstanding at a time, as answers do not name theirs.
 *
 *    state      this comes                                     next
 *    ---------  ---------------------------------------------  --------
 *    NONE       wanted, in the next subscribe request          ASKED
 *    ASKED      success                                        ACTIVE
 *    ASKED      NO_EFFECT_ACTION: the service has it already   ACTIVE
 *    ASKED      another code, or an answer without a result    REFUSED
 *    ACTIVE     not wanted, or to be subscribed again          LEAVING
 *    ACTIVE     is not in a list of the service               NONE
 *    LEAVING    success, or is not in a list                   NONE
 *    LEAVING    refused, and wanted                            ACTIVE
 *    REFUSED    its time is up                                 NONE
 *    any        the connection ends                            NONE
 * ------------------------------------------------------------------------ */

enum sub_state { SUB_NONE, SUB_ASKED, SUB_ACTIVE, SUB_LEAVING, SUB_REFUSED };
#define SUB_ANY (~0u) /* all states, as a set of BIT(SUB_...) */

enum sub_timer {
    SUB_WAIT,   /* until a request (REFUSED) or a snapshot (ACTIVE) is due */
    SUB_BUDGET, /* the time left is what was used of the budget of resyncs */
    SUB_DRIFT,  /* while it is armed, drift counts as coming back */
    SUB_TIMERS
};

/* Why an active subscription should end and be made again, for a snapshot. */
enum sub_need {
    NEED_NONE,
    NEED_DRIFT,    /* gradual: the book is thin, or lacks levels or a number */
    NEED_SNAPSHOT, /* the book is in doubt, or not live */
    NEED_ANEW      /* now: the caller wants it, or the budget allows it */
};

#define CLIENT_DRIFT_MAX_MS 86400000u /* longest interval between resyncs */
#define CLIENT_AGAIN_MS 60000u        /* wait after a temporary refusal */
#define CLIENT_ARRIVING_MS 1000u      /* more, if a snapshot may be arriving */
#define CLIENT_REQUEST_TRIES 3        /* failures in a row: reconnect */
#define CLIENT_NO_REQUEST 255         /* no request is outstanding */

/* Schedules client_look_around(), in ms at the latest. */
static void client_look(struct mst_client *c, uint32_t ms) {
    c->link.burst = 0;
    if (timer_left(&c->link.timers[MST_TIMER_USER], c->link.clock.now) > ms) {
        link_arm(&c->link, MST_TIMER_USER, ms);
    }
}

/* Schedules client_request(), in case there is a request to make. */
static void client_ask(struct mst_client *c) {
    c->link.changes++;
    c->link.burst = 0;
    c->stream.ask = true;
    c->link.more |= c->link.state == MST_STATE_OPEN;
}

/* The head of a name's chain, by a hash (FNV-1a) that ignores ASCII case. */
APART mst_slot *client_chain(struct mst_client *c, unsigned channel,
                             const char *market) {
    uint32_t hash = 2166136261u;

    for (; *market != '\0'; market++) {
        hash = (hash ^ (uint8_t)(*market | 0x20)) * 16777619u;
    }
    return &c->chains[(hash + channel) % MST_SUBSCRIPTIONS_MAX];
}

/* Finds the subscription of exactly this name, or else, as the service may mean
 * it, the only one of this name in other upper or lower case; or NULL. */
static struct mst_subscription *client_find(struct mst_client *c,
                                            enum mst_channel channel,
                                            const char *market, bool exactly) {
    struct mst_subscription *s, *other = NULL;
    unsigned others = 0;

    for (mst_slot at = *client_chain(c, channel, market); at > 0;
         at = s->next) {
        s = &c->subscriptions[at - 1];
        if (s->channel != channel || (!s->wanted && s->state == SUB_NONE)) {
            continue; /* the slot is free, or another channel's */
        }
        if (strcmp(s->market, market) == 0) {
            return s;
        }
        if (!exactly && text_is_nocase(market, strlen(market), s->market)) {
            other = s;
            others++;
        }
    }
    return others == 1 ? other : NULL;
}

/* Names an event's market as its subscription does. Returns that, or NULL. */
static struct mst_subscription *client_name(struct mst_client *c,
                                            struct mst_event *event,
                                            enum mst_channel channel,
                                            const char *market) {
    struct mst_subscription *s = client_find(c, channel, market, false);

    event->market = s != NULL ? s->market : market;
    return s;
}

/* The next subscription after s (NULL: the first) in a set of states. */
static struct mst_subscription *
client_next(struct mst_client *c, struct mst_subscription *s, unsigned states) {
    const struct mst_subscription *end = c->subscriptions + c->slots;

    s = s != NULL ? s + 1 : c->subscriptions;
    while (s < end && (states >> s->state & 1u) == 0) {
        s++;
    }
    return s < end ? s : NULL;
}

static bool client_is_market(enum mst_channel channel, const char *market) {
    size_t len = strlen(market);

    if (channel == MST_HEARTBEAT) {
        return len == 0;
    }
    return channel < MST_CHANNEL_OTHER && len >= 1 && len <= MST_MARKET_MAX &&
           text_is_field(market) && utf8_is(market, len);
}

/* Takes the first slot that is neither wanted nor subscribed, and moves it to
 * this market's chain. Returns NULL if all are in use. */
static struct mst_subscription *client_slot(struct mst_client *c,
                                            enum mst_channel channel,
                                            const char *market) {
    struct mst_subscription *s = c->subscriptions;
    size_t len = strlen(market);
    unsigned number = 1;
    mst_slot *at;

    for (; s->wanted || s->state != SUB_NONE; s++) {
        if (++number > MST_SUBSCRIPTIONS_MAX) {
            return NULL;
        }
    }
    at = client_chain(c, s->channel, s->market);
    while (*at > 0 && *at != number) {
        at = &c->subscriptions[*at - 1].next;
    }
    *at = s->next;
    link_high(&c->slots, number);
    c->link.stats.high.subscriptions = c->slots;
    link_high(&c->link.stats.high.market, len);
    *s = (struct mst_subscription){.channel = (uint8_t)channel};
    text_copy(s->market, sizeof s->market, market, len);
    at = client_chain(c, channel, market);
    s->next = *at;
    *at = (mst_slot)number;
    return s;
}

static void client_repair(struct mst_client *c,
                          const struct mst_subscription *s,
                          enum mst_repair repair) {
    c->link.stats.resyncs += repair == MST_REPAIR_BOOK;
    c->link.stats.drifts += repair != MST_REPAIR_BOOK;
    link_trace_text(&c->link, MST_TRACE_REPAIR, s->market, repair);
}

/* Makes the subscription's book stale, unless it has none or the book has a new
 * owner. With MST_BOOK_DETACHED, the book loses its owner. */
static void client_stale(struct mst_subscription *s,
                         enum mst_book_reason reason) {
    struct mst_book *book = s->book;

    if (book != NULL && book->owner == s) {
        book->calls->stale(book, reason);
        book->owner = reason == MST_BOOK_DETACHED ? NULL : s;
    }
}

/* The service has no such subscription. Late data must not make books live. */
static void client_left(struct mst_subscription *s) {
    s->state = SUB_NONE;
    s->lacks = MST_BOOK_RESYNC;
    client_stale(s, MST_BOOK_RESYNC);
}

/* Decides what a subscription needs. A book that lacks something becomes stale,
 * even after a snapshot: what it lacks may be newer. */
static void client_judge(struct mst_client *c, struct mst_subscription *s) {
    const bool crossed = (c->link.config.flags & MST_RESYNC_CROSSED) != 0;
    const unsigned doubts = MST_BOOK_DISAGREES | MST_BOOK_TIME_STEP |
                            (crossed ? MST_BOOK_CROSSED : 0);
    unsigned need = NEED_NONE, flags = 0;
    bool overdue = s->state == SUB_ACTIVE && !s->timers[SUB_WAIT].armed;
    bool unfit =
        s->lacks == MST_BOOK_NO_SNAPSHOT ? overdue : s->lacks != MST_BOOK_OK;

    if (s->book != NULL) {
        if (unfit && mst_book_state(s->book) == MST_BOOK_LIVE) {
            client_stale(s, (enum mst_book_reason)s->lacks);
        }
        unfit |= mst_book_reason(s->book) == MST_BOOK_DISORDER;
        flags = mst_book_flags(s->book);
    }
    if ((unfit && s->lacks != MST_BOOK_NUMBER) || (flags & doubts) != 0) {
        need = NEED_SNAPSHOT;
    } else if (unfit || (flags & (MST_BOOK_THIN | MST_BOOK_BACKWARD)) != 0) {
        need = NEED_DRIFT;
    }
    if (need != s->need && s->need != NEED_ANEW) {
        s->need = (uint8_t)need;
        client_look(c, 0);
    }
}

/* Marks what the next request will end (leave) or make. Returns how many. */
static unsigned client_mark(struct mst_client *c, bool leave) {
    const unsigned from = BIT(leave ? SUB_ACTIVE : SUB_NONE);
    struct mst_subscription *s = NULL;
    unsigned count = 0;

    while ((count == 0 || !c->stream.one_by_one) &&
           (s = client_next(c, s, from)) != NULL) {
        if (leave && (!s->wanted || s->need == NEED_ANEW)) {
            s->state = SUB_LEAVING;
            count++;
        } else if (!leave && s->wanted) {
            s->state = SUB_ASKED;
            s->need = NEED_NONE;
            s->lacks = s->channel == MST_MARKET_DATA ? MST_BOOK_NO_SNAPSHOT
                                                     : MST_BOOK_OK;
            count++;
        }
    }
    return count;
}

/* If it is time, makes the next request: list, unsubscribe or subscribe. */
static void client_request(struct mst_client *c) {
    struct mst_link *l = &c->link;
    struct mst_stream *m = &c->stream;
    uint32_t wait = timer_rest(&l->access->holds[ACCESS_REQUEST], l->clock.now);
    uint8_t action = MST_SUBSCRIPTION_LIST;
    struct mst_subscription *s = NULL;
    unsigned count = 0;

    m->ask = false;
    if (m->request != CLIENT_NO_REQUEST) {
        return; /* its end has this called again */
    }
    if (wait > 0) {
        client_look(c, wait);
        return;
    }
    if (m->audit) {
        m->audit = false;
        while ((s = client_next(c, s, SUB_ANY)) != NULL) {
            s->listed = false;
        }
        link_arm(l, MST_TIMER_AUDIT, l->config.audit_ms);
    } else {
        count = client_mark(c, true);
        action = count > 0 ? MST_UNSUBSCRIBE : MST_SUBSCRIBE;
        count = count > 0 ? count : client_mark(c, false);
        if (count == 0) {
            return;
        }
    }
    m->request = action;
    m->frames |= BIT(MST_WS_TEXT);
    link_trace_text(l, MST_TRACE_REQUEST, text_nth(message_actions, action),
                    count);
    access_hold(l->access, ACCESS_REQUEST, l->config.request_gap_ms);
    link_arm(l, MST_TIMER_ANSWER, l->config.answer_ms);
}

APART void client_request_over(struct mst_client *c) {
    c->stream.request = CLIENT_NO_REQUEST;
    c->link.timers[MST_TIMER_ANSWER].armed = false;
    client_look(c, 0);
}

/* Starts a wait of a subscription: see SUB_WAIT. */
APART void client_wait(struct mst_client *c, struct mst_subscription *s,
                       uint32_t ms) {
    timer_set(&s->timers[SUB_WAIT], c->link.clock.patient, ms);
    client_look(c, ms);
}

/* True if nothing is subscribed, though something was requested. */
static bool client_is_useless(struct mst_client *c) {
    return client_next(c, NULL, BIT(SUB_ACTIVE) | BIT(SUB_LEAVING)) == NULL &&
           client_next(c, NULL, BIT(SUB_ASKED) | BIT(SUB_REFUSED)) != NULL;
}

/* Renews an active subscription if it needs that and its budget allows it;
 * the interval doubles each time if drift soon comes back. The connection is to
 * blame, and fails, if several requests have brought no snapshot and no other
 * market has had one. Returns how long to wait, ms, or TIMER_NONE. */
static uint32_t client_resync(struct mst_client *c,
                              struct mst_subscription *s) {
    const uint32_t budget = (MST_RESYNCS_MAX - 1) * MST_RESYNC_EVERY_MS;
    struct mst_timer *drift = &s->timers[SUB_DRIFT];
    uint32_t now = c->link.clock.now, back = timer_rest(drift, now);
    uint32_t used = timer_rest(&s->timers[SUB_BUDGET], now);
    uint32_t wait = used > budget ? used - budget : 0;
    bool drifts = s->need == NEED_DRIFT;

    if (c->link.state != MST_STATE_OPEN || s->state != SUB_ACTIVE ||
        (!drifts && s->need != NEED_SNAPSHOT)) {
        return TIMER_NONE;
    }
    if (drifts && back > s->drift_ms) {
        link_high(&wait, back - s->drift_ms);
    }
    if (wait > 0) {
        return wait;
    }
    if (drifts) {
        s->drift_ms = drift->armed ? s->drift_ms * 2 : MST_RESYNC_EVERY_MS;
        s->drift_ms = timer_sooner(s->drift_ms, CLIENT_DRIFT_MAX_MS);
        timer_set(drift, now, 2 * s->drift_ms);
    }
    timer_set(&s->timers[SUB_BUDGET], now, used + MST_RESYNC_EVERY_MS);
    if (s->overdue > 1 && !c->stream.has_snapshot && !c->follows) {
        link_fail(&c->link, MST_ERR_SNAPSHOT);
    } else {
        s->need = NEED_ANEW;
        client_repair(c, s, MST_REPAIR_BOOK);
    }
    return TIMER_NONE;
}

/* Looks at all subscriptions. If a wait is over, requests again an overdue
 * snapshot, unless a frame is arriving that may have it; and a refused
 * subscription, on another connection if this one has long been useless. */
static void client_look_around(struct mst_client *c) {
    struct mst_link *l = &c->link;
    uint32_t now = l->clock.now, left = TIMER_NONE;
    uint64_t open_ms = l->clock.elapsed_ms - c->stream.open_ms;
    struct mst_subscription *s = NULL;

    while ((s = client_next(c, s, SUB_ANY)) != NULL) {
        bool ends = timer_ends(&s->timers[SUB_WAIT], l->clock.patient) &&
                    l->state == MST_STATE_OPEN;
        if (ends && s->state == SUB_REFUSED) {
            if (open_ms >= l->config.backoff_slow_ms && client_is_useless(c)) {
                link_fail(l, l->text[0] != '\0' ? MST_ERR_SERVICE
                                                : MST_ERR_NO_RESULT);
            }
            s->state = SUB_NONE;
        } else if (ends && s->state == SUB_ACTIVE &&
                   s->lacks == MST_BOOK_NO_SNAPSHOT) {
            if (c->ws.header_len > 0) {
                client_wait(c, s, CLIENT_ARRIVING_MS);
            } else {
                s->overdue++;
                client_judge(c, s);
            }
        }
        left = timer_sooner(left, client_resync(c, s));
        left = timer_sooner(left,
                            timer_left(&s->timers[SUB_WAIT], l->clock.patient));
        for (unsigned k = SUB_BUDGET; k < SUB_TIMERS; k++) {
            (void)timer_ends(&s->timers[k], now);
            left = timer_sooner(left, timer_left(&s->timers[k], now));
        }
    }
    client_look(c, left);
    client_ask(c);
}

/* The state of the subscriptions that such a request is for. */
static uint8_t client_pending(unsigned action) {
    return action == MST_UNSUBSCRIBE ? SUB_LEAVING : SUB_ASKED;
}

/* True if the outstanding request is not yet completely written. */
static bool client_is_writing(const struct mst_client *c) {
    return (c->stream.frames & BIT(MST_WS_TEXT)) != 0 ||
           (c->stream.frame == MST_WS_TEXT && c->link.sending == SEND_FRAME);
}

/* The outstanding request failed: requests the service's list, or reconnects.
 * Does without a list that is refused, unless another request failed before. */
static void client_request_failed(struct mst_client *c, int error) {
    const bool list = c->stream.request == MST_SUBSCRIPTION_LIST;
    const bool refused =
        list && error != MST_ERR_ANSWER && c->stream.request_tries == 0;

    if (!refused && (client_is_writing(c) || list ||
                     ++c->stream.request_tries >= CLIENT_REQUEST_TRIES)) {
        link_fail(&c->link, error);
        return;
    }
    c->stream.audit |= !refused;
    client_request_over(c);
}

/* True if a refusal with this code may be temporary. */
APART bool client_is_passing(enum mst_code code) {
    return code == MST_CODE_INTERNAL_SERVER_ERROR || code == MST_CODE_OTHER ||
           code == MST_CODE_NONE;
}

/* The service has a subscription. A new one brings a snapshot; one that it had
 * before (found) does not, though the book may need it. */
static void client_activate(struct mst_client *c, struct mst_subscription *s,
                            bool found) {
    s->state = SUB_ACTIVE;
    if (s->channel == MST_HEARTBEAT) { /* measure the interval again */
        c->link.timers[MST_TIMER_BEAT].armed = false;
        c->stream.beat_ns = 0;
    }
    if (found) {
        s->lacks = s->book != NULL && mst_book_state(s->book) != MST_BOOK_LIVE
                       ? MST_BOOK_RESYNC
                       : MST_BOOK_OK;
        client_judge(c, s);
    } else if (s->lacks == MST_BOOK_NO_SNAPSHOT) {
        client_wait(c, s, c->link.config.snapshot_ms);
    }
}

/* Takes in a subscription's result. A refused one is requested again later. */
static void client_settle(struct mst_client *c, struct mst_subscription *s,
                          bool success, enum mst_code code, const char *text) {
    bool done = success || code == MST_CODE_NO_EFFECT_ACTION;
    bool passing = client_is_passing(code);

    if (s->state == SUB_LEAVING) {
        if (done || (!s->wanted && !passing)) {
            client_left(s);
        }
    } else if (done) {
        client_activate(c, s, !success);
    } else {
        text_copy(c->link.text, sizeof c->link.text, text, strlen(text));
        s->state = s->wanted ? SUB_REFUSED : SUB_NONE;
        client_wait(c, s,
                    timer_sooner(c->link.config.backoff_slow_ms,
                                 passing ? CLIENT_AGAIN_MS : TIMER_NONE));
    }
}

/* Takes in an entry of a response. A subscription that a list names, and nobody
 * wants, gets a slot in order to be ended. */
static void client_take_entry(struct mst_client *c, struct mst_event *event) {
    const struct mst_entry *entry = &event->as.entry;
    bool list = entry->action == MST_SUBSCRIPTION_LIST;
    struct mst_subscription *s =
        client_name(c, event, entry->channel, entry->market);

    if (client_is_writing(c) ||
        (list && c->stream.request != MST_SUBSCRIPTION_LIST)) {
        return;
    }
    if (list && s == NULL && client_is_market(entry->channel, entry->market)) {
        s = client_slot(c, entry->channel, entry->market);
        if (s != NULL) {
            client_activate(c, s, false);
            client_repair(c, s, MST_REPAIR_STRAY);
        }
    }
    if (s == NULL) {
        c->link.stats.unknown++;
    } else if (list) {
        s->listed = true;
    } else if (s->state == client_pending(entry->action)) {
        client_settle(c, s, entry->success, entry->code, entry->text);
    }
}

/* A list is complete: what it names is subscribed, all else is not. */
static void client_compare_list(struct mst_client *c) {
    struct mst_subscription *s = NULL;

    while ((s = client_next(c, s, SUB_ANY)) != NULL) {
        if (s->listed && s->state != SUB_ACTIVE) {
            client_activate(c, s, true);
        } else if (!s->listed && s->state != SUB_NONE &&
                   s->state != SUB_REFUSED) {
            if (s->state == SUB_ACTIVE) {
                client_repair(c, s, MST_REPAIR_MISSING);
            }
            client_left(s);
        }
    }
}

/* An error message ends the outstanding request. If several channels had no
 * result, they are requested one by one from now on, so that a bad one harms no
 * other. One that the service refuses to end stays active if it is wanted. */
static void client_take_error(struct mst_client *c, const char *text,
                              enum mst_code code) {
    const bool ends = c->stream.request == MST_UNSUBSCRIBE;
    const unsigned pending = BIT(client_pending(c->stream.request));
    struct mst_subscription *s = client_next(c, NULL, pending);
    /* A temporary error counts as a refusal only after a few tries. */
    bool again = client_is_passing(code) &&
                 (ends || c->stream.request_tries + 1 < CLIENT_REQUEST_TRIES);

    if (s == NULL || again || code == MST_CODE_NO_EFFECT_ACTION) {
        if (c->stream.request != CLIENT_NO_REQUEST) {
            text_copy(c->link.text, sizeof c->link.text, text, strlen(text));
            client_request_failed(c, MST_ERR_SERVICE);
        }
        return;
    }
    if (client_next(c, s, pending) != NULL) {
        for (; s != NULL; s = client_next(c, s, pending)) {
            s->state = ends ? SUB_ACTIVE : SUB_NONE;
        }
    } else if (ends && s->wanted) {
        s->state = SUB_ACTIVE;
        s->need = NEED_NONE;
        client_judge(c, s);
    } else {
        client_settle(c, s, false, code, text);
    }
    c->stream.one_by_one = true;
    client_request_over(c);
}

/* A response, an error or an unreadable message may be the answer, if the
 * request is completely written. A channel that was to be subscribed and has no
 * result counts as refused; the service's list will show what became of it. */
static void client_answer(struct mst_client *c, const struct mst_event *event) {
    const uint8_t request = c->stream.request, action = c->decoder.action;
    const bool list = request == MST_SUBSCRIPTION_LIST;
    const unsigned pending = BIT(client_pending(request));
    struct mst_subscription *s = client_next(c, NULL, pending);

    if (client_is_writing(c)) {
        return;
    }
    if (event->type == MST_EVENT_SERVICE_ERROR) {
        client_take_error(c, event->as.service_error.code_text,
                          event->as.service_error.code);
        return;
    }
    if (request == CLIENT_NO_REQUEST ||
        (action <= MST_SUBSCRIPTION_LIST && action != request)) {
        return; /* a late answer, whose entries were taken in */
    }
    if (list && event->type == MST_EVENT_RESPONSE) {
        client_compare_list(c);
    } else if (list || (s != NULL && request != MST_SUBSCRIBE)) {
        client_request_failed(c, MST_ERR_NO_RESULT);
        return;
    } else {
        if (s != NULL) {
            link_note(&c->link, MST_EVENT_ERROR, MST_ERR_NO_RESULT)->market =
                s->market;
            c->stream.audit = true;
        }
        for (; s != NULL; s = client_next(c, s, pending)) {
            client_settle(c, s, false, MST_CODE_NONE, "");
        }
        c->stream.request_tries = 0;
    }
    client_request_over(c);
}

/* ------------------------------------------------------------------------
 * 20 client: the stream
 *
 * Opens the stream, makes events of its frames and messages, updates books, and
 * closes it. A bad connection is not repaired: the link makes another one.
 *
 *    in state              this comes                               next
 *    --------------------  ---------------------------------------  --------
 *    CONNECT TLS           ready for plaintext, with a token        UPGRADE
 *    UPGRADE               101 and the proper headers               OPEN
 *    UPGRADE               its token ends before it is sent         WAIT
 *    OPEN                  a close frame or a malformed frame       CLOSING
 *    CLOSING               both close frames, or its deadline       OFF
 *    UPGRADE OPEN          error, or too late                       WAIT
 *    CLOSING               the error that it is for, frame sent     WAIT
 *    CLOSING               the error, and the client is to close    OFF
 *    UPGRADE               credentials or anchors are replaced      WAIT
 *    UPGRADE               the caller closes                        OFF
 *    OPEN                  the caller closes                        CLOSING
 * ------------------------------------------------------------------------ */

#define CLIENT_HANDOVER_MS 120000u /* limit for taking over from a leader */
#define CLIENT_LATE_MESSAGES 8     /* late in a row: a lag */
#define CLIENT_BAD_MESSAGES 100    /* unreadable in a row: reconnect */

static void client_begin(struct mst_link *l) {
    struct mst_client *c = (void *)l; /* the link is its first member */
    uint8_t random[16] = {0};

    (void)link_draw(l, random, sizeof random); /* link_try() has filled it */
    mst_ws_key(random, c->key);
    mst_ws_upgrade_init(&l->http, c->key);
}

static void client_write_payload(const struct mst_client *c, struct out *o) {
    if (c->stream.frame == MST_WS_TEXT) {
        message_request(o, (enum mst_action)c->stream.request, c->subscriptions,
                        c->slots, client_pending(c->stream.request));
    } else {
        out_bytes(o, c->control.data, c->control.len);
    }
}

static void client_write(const struct mst_link *l, struct out *o, bool masked) {
    const struct mst_client *c = (const void *)l;
    struct out payload = {NULL, 0, 0, 0};
    uint8_t header[MST_WS_HEADER_MAX];
    size_t n, header_len;

    if (l->sending == SEND_HTTP) {
        http_request_begin(o, "GET ", &l->endpoint, NULL);
        http_upgrade_write(o, c->key);
        link_write_bearer(l, o, masked);
        out_text(o, "\r\n");
        return;
    }
    client_write_payload(c, &payload);
    header_len = mst_ws_header(header, (enum mst_ws_opcode)c->stream.frame,
                               true, payload.len, c->mask);
    out_bytes(o, header, header_len);
    n = out_stored(o);
    client_write_payload(c, o);
    mst_ws_mask(o->data + n, out_stored(o) - n, c->mask,
                o->skip + n - header_len);
}

static void client_choose(struct mst_link *l) {
    static const uint8_t order[] = {MST_WS_CLOSE, MST_WS_PONG, MST_WS_TEXT,
                                    MST_WS_PING};
    struct mst_client *c = (void *)l;
    struct mst_stream *m = &c->stream;
    const uint8_t *next = order;
    unsigned frames;

    if (m->ask && l->state == MST_STATE_OPEN) {
        client_request(c);
    }
    frames = m->frames & (l->state != MST_STATE_OPEN ? BIT(MST_WS_CLOSE) : ~0u);
    if (frames == 0) {
        return;
    }
    if (!link_draw(l, c->mask, sizeof c->mask)) {
        link_fail(l, m->failing != 0 ? m->failing : MST_ERR_ENTROPY);
        return;
    }
    while ((frames & BIT(*next)) == 0) {
        next++;
    }
    m->frame = *next;
    m->frames &= (uint16_t)~BIT(m->frame);
    c->control.len = 0;
    if (m->frame == MST_WS_PONG) {
        c->control = c->ping;
    } else if (m->frame == MST_WS_CLOSE && m->close_code != 1005) {
        c->control.len = 2;
        c->control.data[0] = (uint8_t)(m->close_code >> 8);
        c->control.data[1] = (uint8_t)(m->close_code & 255u);
    }
    l->sending = SEND_FRAME;
}

/* There is no open connection: nothing is subscribed, and books are stale. */
static void client_reset(struct mst_client *c, enum mst_book_reason reason) {
    struct mst_subscription *s = NULL;

    while ((s = client_next(c, s, SUB_ANY)) != NULL) {
        client_stale(s, reason);
        s->state = SUB_NONE;
        s->overdue = 0;
    }
    memset(&c->stream, 0, sizeof c->stream);
    c->stream.request = CLIENT_NO_REQUEST;
    c->stream.least_ns = INT64_MAX;
}

/* Begins the closing handshake. failing is its reason, an error such as a close
 * frame from the peer. If it is 0, as the caller or a pair wants it, input is
 * read to its end. An error during this handshake just ends it. */
static void client_begin_closing(struct mst_client *c, uint16_t code,
                                 int failing) {
    struct mst_subscription *s = NULL;

    c->stream.deaf = failing != 0;
    if (c->link.state != MST_STATE_OPEN) {
        c->link.transport.end = failing;
        return;
    }
    c->stream.close_code = code;
    c->stream.frames |= BIT(MST_WS_CLOSE);
    c->stream.failing = failing;
    c->stream.late = c->stream.bad = 0; /* it is not judged any more */
    while ((s = client_next(c, s, SUB_ANY)) != NULL) {
        client_stale(s, MST_BOOK_RECONNECT);
    }
    link_enter(&c->link, MST_STATE_CLOSING, c->link.config.closing_ms);
}

static void client_ended(struct mst_link *l, int error) {
    struct mst_client *c = (void *)l;
    bool stable = !l->timers[MST_TIMER_STABLE].armed;

    l->failure.ws_code = error == MST_ERR_WS_CLOSED ? c->stream.close_code : 0;
    if (error == MST_ERR_WS_CLOSED && !stable && !l->token->end.armed) {
        link_drop_token(l); /* its end is unknown: maybe now */
    }
    /* Lag, missing snapshots and garbage will recur: waits become longer. */
    if (stable && error != MST_ERR_LAG && error != MST_ERR_SNAPSHOT &&
        error != MST_ERR_GARBAGE && !client_is_useless(c)) {
        l->attempts = 0;
    }
    client_reset(c, MST_BOOK_RECONNECT);
}

/* Part of a market_data message was lost: its book, or all if its market is not
 * known, is stale and subscribed again. If a number did not fit and the book
 * was not live, this is done ever less often: it may come again. */
static void client_lose_message(struct mst_client *c, const char *market,
                                int error) {
    const struct mst_subscription *only =
        client_find(c, MST_MARKET_DATA, market, false);
    struct mst_subscription *s = NULL;
    bool number = error == MST_ERR_DECIMAL || error == MST_ERR_DECIMAL_WIDE;

    while ((s = client_next(c, s, SUB_ANY)) != NULL) {
        if (s->book == NULL || (market[0] != '\0' && s != only)) {
            continue;
        }
        if (!number || mst_book_state(s->book) == MST_BOOK_LIVE) {
            s->lacks = MST_BOOK_BAD_MESSAGE;
        } else if (s->lacks <= MST_BOOK_NO_SNAPSHOT) {
            s->lacks = MST_BOOK_NUMBER;
        }
        client_stale(s, number ? MST_BOOK_NUMBER : MST_BOOK_BAD_MESSAGE);
        client_judge(c, s);
    }
}

/* Takes in a message's age. Only several late messages in a row are a lag. */
static void client_take_age(struct mst_client *c, int64_t time_ns) {
    struct mst_stats *stats = &c->link.stats;
    struct mst_stream *m = &c->stream;
    int64_t age_ns = (int64_t)c->link.received_ns - time_ns;
    int64_t most_ns = (int64_t)c->link.config.lag_max_ms * 1000000;

    m->least_ns = age_ns < m->least_ns ? age_ns : m->least_ns;
    age_ns -= m->least_ns;
    stats->lag_ns = age_ns;
    if (age_ns > stats->lag_max_ns) {
        stats->lag_max_ns = age_ns;
    }
    m->late = most_ns != 0 && age_ns > most_ns ? (uint8_t)(m->late + 1) : 0;
}

/* A heartbeat has come. The expected interval is that of arrivals or, if
 * longer, that of timestamps, as delayed heartbeats arrive in a burst. */
static void client_take_beat(struct mst_client *c, int64_t time_ns) {
    struct mst_stream *m = &c->stream;
    uint32_t now = c->link.clock.now, limit = c->link.config.heartbeat_ms;
    int64_t apart_ms = (time_ns - m->beat_ns) / 1000000;
    int64_t passed_ms = now - m->beat_at;

    apart_ms = apart_ms > passed_ms ? apart_ms : passed_ms;
    if (m->beat_ns != 0) {
        link_high(&limit, apart_ms < LINK_SLEEP_MAX_MS / 3
                              ? 3 * (uint32_t)apart_ms
                              : LINK_SLEEP_MAX_MS);
        link_arm(&c->link, MST_TIMER_BEAT, limit);
    }
    m->beat_at = now;
    m->beat_ns = time_ns;
}

/* Applies a part to its market's book, or compares a top of book with it. */
static void client_feed(struct mst_client *c, struct mst_event *event) {
    const struct mst_part *part =
        event->type == MST_EVENT_PART ? &event->as.part : NULL;
    const char *market = part != NULL ? part->market : event->as.top.market;
    struct mst_subscription *s = client_name(c, event, MST_MARKET_DATA, market);
    struct mst_book *book;

    if (part == NULL) {
        client_take_age(c, event->as.top.time_ns);
    } else if (part->first && !part->snapshot) {
        client_take_age(c, part->time_ns);
    }
    if (s == NULL) {
        if (part == NULL) {
            (void)client_name(c, event, MST_TOP_OF_BOOK, market);
        }
        return;
    }
    if (part != NULL && part->snapshot && part->last) {
        c->stream.has_snapshot = true;
        s->overdue = 0;
        s->lacks = s->lacks == MST_BOOK_NO_SNAPSHOT ? MST_BOOK_OK : s->lacks;
    }
    book = event->book = s->book;
    if (book != NULL && part != NULL) {
        book->calls->apply(book, part, c->link.received_ns);
    } else if (book != NULL) {
        book->calls->check(book, &event->as.top, c->link.received_ns);
    }
    client_judge(c, s);
}

/* Takes in an event. While a request is being written, no state may change. */
static void client_event(struct mst_client *c, struct mst_event *event) {
    event->market = NULL;
    event->book = NULL;
    if (c->link.state == MST_STATE_CLOSING &&
        event->type != MST_EVENT_EXECUTION) {
        return; /* the rest is no news: another connection leads */
    }
    switch (event->type) {
    case MST_EVENT_PART:
    case MST_EVENT_TOP: client_feed(c, event); break;
    case MST_EVENT_HEARTBEAT:
        client_take_age(c, event->as.heartbeat.time_ns);
        client_take_beat(c, event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_EXECUTION:
        (void)client_name(c, event, MST_EXECUTION_DATA,
                          event->as.execution.market);
        break;
    case MST_EVENT_ENTRY: client_take_entry(c, event); return;
    case MST_EVENT_RESPONSE:
    case MST_EVENT_SERVICE_ERROR: client_answer(c, event); break;
    case MST_EVENT_UNKNOWN: c->link.stats.unknown++; break;
    default: /* MST_EVENT_ERROR: of a message, or of an entry */
        (void)client_name(c, event, MST_MARKET_DATA, event->as.failure.market);
        c->link.stats.bad_messages++;
        if (c->decoder.place != MESSAGE_DONE) {
            return;
        }
        c->stream.bad++;
        if (message_may_have_levels(&c->decoder)) {
            client_lose_message(c, event->as.failure.market,
                                event->as.failure.error);
        } else if (!message_is_data(&c->decoder) &&
                   (c->decoder.action <= MESSAGE_ACTION_ERROR ||
                    (c->decoder.seen & BIT(FIELD_ERROR)) != 0)) {
            client_answer(c, event); /* it may be an answer */
        }
        return;
    }
    if (event->type != MST_EVENT_PART || event->as.part.last) {
        c->stream.bad = 0;
    }
}

/* n bytes were received. The peer has a limited time to complete a frame. Each
 * byte adds the time that it takes at the minimum rate, but the limit is never
 * exceeded: a burst is no credit for sending slowly later. */
static void client_take_bytes(struct mst_client *c, size_t n) {
    struct mst_link *l = &c->link;
    uint32_t ms = l->config.silence_ms, rate = l->config.min_rate;
    uint64_t left_ms;

    if (c->ws.header_len == 0) {
        link_arm(l, MST_TIMER_PING, l->config.ping_ms);
    } else {
        c->stream.byte_at = l->clock.patient;
        left_ms = ((uint64_t)n * 1000 + rate - 1) / rate +
                  timer_rest(&l->timers[MST_TIMER_SILENCE], l->clock.patient);
        ms = left_ms < ms ? (uint32_t)left_ms : ms;
    }
    link_arm(l, MST_TIMER_SILENCE, ms);
}

/* Takes in a piece of a frame: 1 with an event. Skips messages when closing. */
static int client_take_piece(struct mst_client *c,
                             const struct mst_ws_piece *piece,
                             struct mst_event *event) {
    struct mst_link *l = &c->link;

    if (piece->opcode == MST_WS_PING) {
        /* Only the latest one is answered (RFC 6455, section 5.5.3), apart from
         * one whose answer is being written. */
        c->ping.len = (uint8_t)piece->len;
        memcpy(c->ping.data, piece->data, piece->len);
        c->stream.frames |= BIT(MST_WS_PONG);
        l->burst = 0; /* it is answered first */
    } else if (piece->opcode == MST_WS_CLOSE) {
        text_copy(l->text, sizeof l->text, (const char *)piece->data,
                  piece->len);
        client_begin_closing(c, piece->close_code, MST_ERR_WS_CLOSED);
    } else if (piece->opcode != MST_WS_PONG && !l->closing) {
        l->stats.messages += piece->last ? 1 : 0;
        if (piece->opcode == MST_WS_TEXT) {
            mst_decoder_feed(&c->decoder, piece->data, piece->len, piece->last);
            l->connection.reading = true;
        } else if (piece->last) { /* binary: what it meant is unknown */
            l->stats.bad_messages++;
            c->stream.bad++;
            client_lose_message(c, "", MST_ERR_MESSAGE_BINARY);
            (void)message_error(&c->decoder, event, MST_ERR_MESSAGE_BINARY, "");
            event->as.failure.text = "";
            return 1;
        }
    }
    return 0;
}

static int client_read_stream(struct mst_client *c, struct mst_event *event) {
    struct mst_link *l = &c->link;
    bool late = c->stream.late >= CLIENT_LATE_MESSAGES;
    struct mst_ws_piece piece = {.len = 0};
    const uint8_t *data;
    size_t len, used;
    int rc;

    if (late || c->stream.bad >= CLIENT_BAD_MESSAGES) {
        link_fail(l, late ? MST_ERR_LAG : MST_ERR_GARBAGE);
        return 0;
    }
    l->connection.reading &= !l->closing;
    do {
        if (l->connection.reading) {
            if (mst_decoder_next(&c->decoder, event) == 1) {
                client_event(c, event);
                return 1;
            }
            l->connection.reading = false;
            link_high(&l->stats.high.message,
                      c->decoder.kept.len + c->decoder.waiting);
            link_high(&l->stats.high.depth, c->decoder.json.deepest);
        }
        data = transport_received(&l->transport, &len);
        rc = mst_ws_read(&c->ws, data, len, &used, &piece);
        link_took(l, data, used);
        if (used > 0) {
            client_take_bytes(c, used);
        }
        if (rc < 0) {
            client_begin_closing(c, mst_ws_error_code(rc), rc);
        } else if (rc > 0 && client_take_piece(c, &piece, event) == 1) {
            return 1;
        }
    } while (rc > 0 && !c->stream.deaf);
    return 0;
}

/* Ends a closing stream, or an attempt if the caller closes; else false. */
static bool client_finish(struct mst_link *l) {
    struct mst_client *c = (void *)l;
    const int end = l->transport.end;
    /* Without the peer's close frame, something may be lost. */
    int error = l->closing || end == MST_ERR_WS_CLOSED ? MST_OK
                : end != 0                             ? end
                                                       : MST_ERR_TIMEOUT;

    if (l->state != MST_STATE_CLOSING && !l->closing) {
        return false;
    }
    if (c->stream.failing != 0) {
        link_fail(l, c->stream.failing);
        return true;
    }
    if (l->report == MST_EVENT_CLOSED) {
        l->failure.retry_ms = 0; /* an error is still to be reported */
    } else if (l->wanted || l->state != MST_STATE_WAIT) {
        (void)link_note(l, MST_EVENT_CLOSED, error);
        if (error != MST_OK) {
            link_count_failure(l, 0);
        }
    }
    client_reset(c, MST_BOOK_RECONNECT);
    l->attempts = 0;
    link_restart(l);
    return true;
}

/* Ignores what follows a close frame (RFC 6455, section 1.4). After an error,
 * the closing handshake ends once our close frame is sent. */
static int client_read(struct mst_link *l, struct mst_event *event) {
    struct mst_client *c = (void *)l;
    const uint8_t *data;
    size_t len, used;
    int rc;

    if (l->state == MST_STATE_UPGRADE) {
        data = transport_received(&l->transport, &len);
        rc = mst_ws_upgrade_read(&l->http, data, len, &used);
        link_took(l, data, used);
        if (rc < 0) {
            link_fail(l, rc);
        }
        if (rc <= 0) {
            return 0;
        }
        link_note_http(l);
        mst_ws_init(&c->ws);
        client_reset(c, MST_BOOK_RECONNECT);
        c->stream.open_ms = l->clock.elapsed_ms;
        l->grant.refused = 0;
        l->reported_error = 0;
        l->stats.opens++;
        l->stats.lag_ns = l->stats.lag_max_ns = 0;
        link_enter(l, MST_STATE_OPEN,
                   c->follows ? CLIENT_HANDOVER_MS : TIMER_NONE);
        link_arm(l, MST_TIMER_STABLE, l->config.stable_ms);
        link_arm(l, MST_TIMER_AUDIT, l->config.audit_ms);
        client_take_bytes(c, 0);
        client_ask(c);
        message_event(event, MST_EVENT_OPEN);
        return 1;
    }
    if (!c->stream.deaf && client_read_stream(c, event) == 1) {
        return 1;
    }
    if (c->stream.deaf) {
        data = transport_received(&l->transport, &len);
        link_took(l, data, len);
    }
    (void)transport_wire_out(&l->transport, &len);
    if (c->stream.failing != 0 && (c->stream.frames & BIT(MST_WS_CLOSE)) == 0 &&
        l->sending == SEND_NOTHING && len == 0) {
        link_fail(l, c->stream.failing);
    }
    return 0;
}

/* ------------------------------------------------------------------------
 * 21 client: calls
 *
 * What the client's link calls, and what the program calls (mini_stream.h).
 * ------------------------------------------------------------------------ */

static void client_expire(struct mst_link *l, enum mst_link_timer timer) {
    struct mst_client *c = (void *)l;
    uint32_t idle_ms = l->clock.patient - c->stream.byte_at;
    bool slow = c->ws.header_len > 0 && idle_ms < l->config.silence_ms;

    if (timer == MST_TIMER_USER) {
        client_look_around(c);
    } else if (l->state != MST_STATE_OPEN) {
        return; /* nothing is expected any more */
    } else if (timer == MST_TIMER_SILENCE) {
        link_fail(l, slow ? MST_ERR_SLOW : MST_ERR_SILENCE);
    } else if (timer == MST_TIMER_PING) {
        c->stream.frames |= BIT(MST_WS_PING);
    } else if (timer == MST_TIMER_BEAT) {
        const struct mst_subscription *s =
            client_find(c, MST_HEARTBEAT, "", true);
        if (s != NULL && s->state == SUB_ACTIVE) {
            link_fail(l, MST_ERR_HEARTBEAT);
        }
    } else if (timer == MST_TIMER_ANSWER) {
        l->stats.unanswered++;
        (void)link_note(l, MST_EVENT_ERROR, MST_ERR_ANSWER);
        client_request_failed(c, MST_ERR_ANSWER); /* may note the end instead */
    } else if (timer == MST_TIMER_AUDIT) {
        c->stream.audit = true;
        client_ask(c);
    } /* else: only whether it is over matters */
}

/* Reports a message that was cut off before the end of the connection. */
static bool client_tell(struct mst_link *l, struct mst_event *event) {
    struct mst_client *c = (void *)l;
    bool cut = l->state <= MST_STATE_WAIT &&
               mst_decoder_abort(&c->decoder, event) == 1;

    if (cut) {
        client_event(c, event);
    }
    return cut;
}

static const struct mst_link_user client_user = {
    .purpose = ACCESS_STREAM,
    .request = MST_STATE_UPGRADE,
    .scope = "exchange:read_aggregated_marketdata_stream",
    .begin = client_begin,
    .write = client_write,
    .choose = client_choose,
    .read = client_read,
    .finish = client_finish,
    .ended = client_ended,
    .expire = client_expire,
    .tell = client_tell,
};

int mst_poll(struct mst_client *client, struct mst_event *event) {
    bool told = client->link.wiped;
    int rc = link_poll(&client->link, event);

    if (rc == MST_ERR_CLOSED && !told) {
        client_reset(client, MST_BOOK_DETACHED);
    }
    return rc;
}

int mst_client_init_checked(struct mst_client *client, uint32_t build,
                            const struct mst_config *config,
                            const struct mst_port *port,
                            const struct mst_memory *memory) {
    struct mst_client *c = client;
    int rc = link_clear(c, sizeof *c, build);

    if (rc == 0) {
        rc = link_init(&c->link, &client_user, config, port, memory, c->token);
    }
    if (rc == 0) {
        (void)mst_decoder_init(&c->decoder, c->link.tokens + 1, memory->message,
                               config->flags & MST_STRICT_AMOUNTS);
        c->link.wanted = true;
        client_reset(c, MST_BOOK_RECONNECT);
    }
    return rc;
}

/* True if a subscription has the book, of this client or another one. What is
 * left from before this client's initialisation does not count. */
static bool client_is_owned(const struct mst_client *c,
                            const struct mst_book *book) {
    for (unsigned i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
        if (book->owner == &c->subscriptions[i]) {
            return c->subscriptions[i].book == book;
        }
    }
    return book->owner != NULL;
}

int mst_subscribe(struct mst_client *client, enum mst_channel channel,
                  const char *market, struct mst_book *book) {
    const char *name = market != NULL ? market : "";
    struct mst_subscription *s = client_find(client, channel, name, true);
    bool unfit =
        book != NULL && (channel != MST_MARKET_DATA || book->calls == NULL);
    int rc = unfit || !client_is_market(channel, name)       ? MST_ERR_ARGUMENT
             : link_is_over(&client->link)                   ? MST_ERR_CLOSED
             : s != NULL && s->wanted                        ? MST_ERR_EXISTS
             : book != NULL && client_is_owned(client, book) ? MST_ERR_BOOK
                                                             : 0;

    if (rc != 0) {
        return rc;
    }
    s = s != NULL ? s : client_slot(client, channel, name);
    if (s == NULL) {
        return MST_ERR_FULL;
    }
    s->wanted = true;
    s->need = NEED_ANEW; /* in case the service still has the previous one */
    s->book = book;
    s->lacks = MST_BOOK_OK;
    if (book != NULL) {
        book->owner = s;
        client_stale(s, MST_BOOK_NO_SNAPSHOT);
        s->lacks = MST_BOOK_RESYNC; /* it misses what came before */
    }
    client_ask(client);
    return 0;
}

/* Ends a subscription, or has it made again if it stays wanted. */
static int client_change(struct mst_client *c, enum mst_channel channel,
                         const char *market, bool wanted) {
    struct mst_subscription *s =
        client_find(c, channel, market != NULL ? market : "", true);
    int rc = link_is_over(&c->link)    ? MST_ERR_CLOSED
             : s == NULL || !s->wanted ? MST_ERR_MISSING
                                       : 0;

    if (rc != 0) {
        return rc;
    }
    s->wanted = wanted;
    s->need = NEED_ANEW;
    s->state = s->state == SUB_REFUSED ? SUB_NONE : s->state;
    if (!wanted) {
        client_stale(s, MST_BOOK_DETACHED);
        s->book = NULL;
    }
    client_ask(c);
    return 0;
}

int mst_unsubscribe(struct mst_client *client, enum mst_channel channel,
                    const char *market) {
    return client_change(client, channel, market, false);
}

int mst_resync(struct mst_client *client, enum mst_channel channel,
               const char *market) {
    return client_change(client, channel, market, true);
}

int mst_subscription_list(struct mst_client *client) {
    if (link_is_over(&client->link)) {
        return MST_ERR_CLOSED;
    }
    client->stream.audit = true;
    client_ask(client);
    return 0;
}

void mst_close(struct mst_client *client) {
    struct mst_link *l = &client->link;

    l->closing = l->more = true;
    l->changes++;
    if (l->state == MST_STATE_OPEN) {
        client_begin_closing(client, 1000, 0);
    } else if (l->state != MST_STATE_OFF && l->state != MST_STATE_CLOSING) {
        (void)client_finish(l);
    }
}

void mst_client_wipe(struct mst_client *client) {
    client_reset(client, MST_BOOK_DETACHED);
    link_end(&client->link, sizeof *client);
}

/* ------------------------------------------------------------------------
 * 22 transfer
 *
 * Creates and updates addresses, by one PUT request at a time. Repeating a PUT
 * does no harm, so it is repeated until there is an answer or put_ms is over.
 *
 *    in state              this comes                               next
 *    --------------------  ---------------------------------------  --------
 *    CONNECT TLS           ready for plaintext, with a token        PUT
 *    PUT                   the response is complete                 IDLE
 *    PUT                   the connection's last is complete        WAIT
 *    IDLE                  another request                          PUT
 *    IDLE                  the connection ends, or its time is up   WAIT
 *    RESOLVE CONNECT TLS   a request: a token ahead can wait        WAIT
 *    TOKEN                 a request: a token ahead can wait        WAIT
 *    RESOLVE CONNECT TLS   put_ms is over: the request ends         WAIT
 *    TOKEN PUT IDLE        put_ms is over: the request ends         WAIT
 *    PUT                   error, or its deadline                   WAIT
 *    PUT IDLE              the caller closes                        OFF
 * ------------------------------------------------------------------------ */

#define TRANSFER_PATH "/v2/transfer/crypto-destination-address"
#define TRANSFER_IDLE_MS 15000u /* how long a connection stays open unused */

static void transfer_write(const struct mst_link *l, struct out *o,
                           bool masked) {
    const struct mst_transfer *t = (const void *)l;
    struct out body = {NULL, 0, 0, 0};

    http_request_begin(o, "PUT ", &l->endpoint, TRANSFER_PATH);
    link_write_bearer(l, o, masked);
    out_text(o, "Content-Type: application/json\r\n"
                "Accept: application/json, application/problem+json\r\n");
    address_body_write(&body, t->request);
    http_length_write(o, body.len);
    if (masked) {
        out_bytes(o, NULL, body.len); /* it has people's names */
    } else {
        address_body_write(o, t->request);
    }
}

/* Keeps an attempt's result. over: the request ends, its event comes next. */
static void transfer_note(struct mst_transfer *t, int error,
                          enum mst_state stage, int status, bool over) {
    struct mst_address_result *r = &t->result;
    struct mst_link *l = &t->link;

    r->error = error;
    r->http_status = status;
    /* Without a clear answer, the request may have been carried out. */
    r->maybe_done |= stage == MST_STATE_PUT && (status < 300 || status >= 500);
    if (!over) {
        return;
    }
    if (error == 0) {
        r->maybe_done = false;
        r->record = t->record;
    }
    r->text = error == MST_ERR_FORBIDDEN ? link_scope(l)
              : link_has_text(error)     ? l->text
                                         : "";
    l->wanted = false;
    l->timers[MST_TIMER_USER].armed = false;
}

static void transfer_end(struct mst_transfer *t, int error) {
    const struct mst_link *l = &t->link;
    bool http = link_is_http(l);

    transfer_note(t, error, l->state,
                  http ? l->http.status : t->result.http_status, true);
}

/* True for a status that another attempt may not get. */
static bool transfer_is_retryable(int status) {
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

/* An attempt has failed. Another one follows, unless there was an answer, the
 * error is one that stays, or put_ms would be over first. */
static void transfer_failed(struct mst_transfer *t) {
    const struct mst_failure *f = &t->link.failure;
    const struct mst_link *l = &t->link;
    uint32_t left = timer_left(&l->timers[MST_TIMER_USER], l->clock.patient);
    bool put = f->stage == MST_STATE_PUT;
    int error = put ? f->error : 0, status = put ? f->http_status : 0;
    /* Once more, with a new token. */
    bool renews = error == MST_ERR_UNAUTHORIZED && l->grant.refused == 1;
    bool answered = status >= 300 && !renews;
    bool garbled = error <= MST_ERR_HTTP_SYNTAX && error >= MST_ERR_HTTP_BODY;
    bool mends = renews || (!f->permanent && !garbled &&
                            (!answered || transfer_is_retryable(status)));
    bool goes_on = mends && !answered && f->retry_ms < left;

    transfer_note(t, f->error, f->stage, f->http_status, !goes_on);
    if (goes_on) { /* the next attempt's response counts */
        t->result.body = NULL;
        t->result.body_len = 0;
        t->problem = (struct mst_problem){0};
        return;
    }
    t->result.retry_ms = mends ? f->retry_ms : 0;
    if (t->result.retry_ms > 0) {
        access_hold(l->access, ACCESS_ADDRESS, f->retry_ms);
    }
}

static int transfer_sink(struct mst_link *l, const uint8_t *data, size_t len) {
    if (l->http.body_len > l->memory->message) {
        return MST_ERR_HTTP_BODY;
    }
    memcpy((char *)(l->tokens + 1) + (l->http.body_len - len), data, len);
    return 0;
}

static int transfer_read(struct mst_link *l, struct mst_event *event) {
    struct mst_transfer *t = (void *)l;
    struct mst_address_result *r = &t->result;
    size_t unread, unsent;
    int status, rc;

    (void)event;
    if (l->state == MST_STATE_IDLE) {
        (void)transport_received(&l->transport, &unread);
        if (unread > 0 || l->transport.end != 0) {
            link_restart(l); /* nothing was requested */
        } else if (l->wanted && link_held(l) == 0) {
            link_exchange(l);
        }
        return 0;
    }
    rc = link_read_http(l, transfer_sink);
    if (rc < 0) {
        link_fail(l, rc);
    }
    if (rc != 1) {
        return 0; /* it is not complete, or has failed */
    }
    link_note_http(l);
    status = l->http.status;
    r->body = (const char *)(l->tokens + 1);
    r->body_len = l->http.body_len;
    link_high(&l->stats.high.message, r->body_len);
    if (status == 200) {
        rc = address_read(r->body, r->body_len, l->tokens, t->record);
    } else {
        rc = http_status_error(status, MST_ERR_HTTP_STATUS);
        address_problem_read(r->body, r->body_len, l->tokens, &t->problem);
        if (status == 401 || status == 403 || transfer_is_retryable(status)) {
            link_fail(l, rc);
            return 0;
        }
    }
    transfer_end(t, rc);
    l->attempts = 0;
    (void)transport_wire_out(&l->transport, &unsent);
    if (l->http.close || l->sending != SEND_NOTHING || unsent > 0) {
        link_restart(l); /* the rest of the request is not sent */
    } else {
        link_enter(l, MST_STATE_IDLE, TRANSFER_IDLE_MS);
    }
    return 0;
}

static bool transfer_finish(struct mst_link *l) {
    if (l->state != MST_STATE_IDLE) {
        return false;
    }
    link_restart(l); /* unused for too long, for either side */
    return true;
}

static void transfer_expire(struct mst_link *l, enum mst_link_timer timer) {
    struct mst_transfer *t = (void *)l;
    uint32_t wait = l->state == MST_STATE_WAIT   ? link_wait(l)
                    : l->state == MST_STATE_IDLE ? link_held(l)
                                                 : 0;

    if (timer != MST_TIMER_USER) {
        return;
    }
    t->result.retry_ms = wait; /* as long as requests are held back */
    transfer_end(t, t->result.error != 0 ? t->result.error : MST_ERR_TIMEOUT);
    if (l->state > MST_STATE_WAIT) {
        link_restart(l);
    }
}

/* After a failed attempt, decides on another one. True with an event. */
static bool transfer_tell(struct mst_link *l, struct mst_event *event) {
    struct mst_transfer *t = (void *)l;

    if (l->report == MST_EVENT_CLOSED && l->wanted) {
        l->report = MST_EVENT_NONE;
        transfer_failed(t);
    }
    if (l->wanted || t->request == NULL) {
        return false;
    }
    message_event(event, MST_EVENT_ADDRESS);
    event->as.address = t->result;
    t->request = NULL;
    return true;
}

static const struct mst_link_user transfer_user = {
    .purpose = ACCESS_ADDRESS,
    .request = MST_STATE_PUT,
    .scope = "transfer:write_crypto_destination_address",
    .write = transfer_write,
    .read = transfer_read,
    .finish = transfer_finish,
    .expire = transfer_expire,
    .tell = transfer_tell,
};

int mst_transfer_init_checked(struct mst_transfer *transfer, uint32_t build,
                              const struct mst_config *config,
                              const struct mst_port *port,
                              const struct mst_memory *memory) {
    int rc = link_clear(transfer, sizeof *transfer, build);

    return rc != 0 ? rc
                   : link_init(&transfer->link, &transfer_user, config, port,
                               memory, transfer->token);
}

int mst_address_put(struct mst_transfer *transfer,
                    const struct mst_address_request *request,
                    struct mst_address *record) {
    struct mst_transfer *t = transfer;
    struct mst_link *l = &t->link;
    int rc = link_is_over(l)                     ? MST_ERR_CLOSED
             : request == NULL || record == NULL ? MST_ERR_ARGUMENT
             : t->request != NULL                ? MST_ERR_BUSY
             : address_fault(request) != 0       ? MST_ERR_ADDRESS
                                                 : 0;

    if (rc != 0) {
        return rc;
    }
    link_wake(l); /* the caller may not have polled for long */
    t->problem = (struct mst_problem){0};
    t->result = (struct mst_address_result){.problem = &t->problem};
    t->request = request;
    t->record = record;
    l->reported_error = l->grant.refused = 0;
    l->wanted = l->more = true;
    link_arm(l, MST_TIMER_USER, l->config.put_ms);
    if (l->state == MST_STATE_WAIT || l->access->fetching == l) {
        link_restart(l); /* it was busy with, or waiting for, something else */
    }
    return 0;
}

int mst_transfer_poll(struct mst_transfer *transfer, struct mst_event *event) {
    return link_poll(&transfer->link, event);
}

void mst_transfer_close(struct mst_transfer *transfer) {
    struct mst_link *l = &transfer->link;

    l->closing = l->more = true;
    if (l->wiped) {
        return;
    }
    if (l->wanted) {
        transfer->result.http_status = 0;
        transfer_end(transfer, MST_ERR_CLOSED);
    }
    l->report = MST_EVENT_NONE;
    link_restart(l);
}

void mst_transfer_wipe(struct mst_transfer *transfer) {
    link_end(&transfer->link, sizeof *transfer);
}

/* ------------------------------------------------------------------------
 * 23 pair
 *
 * Two clients that are one stream, each with its own connection, subscriptions
 * and books. The caller gets the leader's events. The other one, the follower,
 * leads instead as soon as it is connected and the leader is not; or if all it
 * has was as live as the leader's in PAIR_LOOKS comparisons in a row, and
 * - a rotation is in progress: the old connection is then read to its end; or
 * - in hot standby, the leader missed what the follower received.
 * A client that has nothing to do until the next rotation waits in state WAIT:
 *
 *    in state              this comes                               next
 *    --------------------  ---------------------------------------  --------
 *    RESOLVE CONNECT TLS   the other one leads                      WAIT
 *    TOKEN UPGRADE         the other one leads                      WAIT
 *    OPEN                  the other one leads                      CLOSING
 *    CLOSING               both close frames, or its deadline       WAIT
 * ------------------------------------------------------------------------ */

#define PAIR_LOOK_MS 500u /* between two comparisons of the clients, "looks" */
#define PAIR_LOOKS 6u     /* more than these in a row take 3 s */
#define PAIR_REPEATS 21u  /* looks, 10 s, while executions may be repeated */
#define PAIR_BEHIND_NS INT64_C(3000000000) /* older by this: behind */

static struct mst_client *pair_leader(struct mst_pair *p) {
    return &p->clients[p->leads];
}

static struct mst_client *pair_follower(struct mst_pair *p) {
    return &p->clients[1 - p->leads];
}

static bool pair_is_over(const struct mst_pair *p) {
    return p->clients[0].link.wiped && p->clients[1].link.wiped;
}

static bool pair_is_standby(const struct mst_pair *p) {
    return (p->clients[0].link.config.flags & MST_HOT_STANDBY) != 0;
}

/* How live a subscription is: 2 if it is active and its book, if any, live. */
APART unsigned pair_rank(const struct mst_subscription *s) {
    return s == NULL || s->state != SUB_ACTIVE                           ? 0
           : s->book == NULL || mst_book_state(s->book) == MST_BOOK_LIVE ? 2
                                                                         : 1;
}

/* True if the follower should lead, if this is so at further looks. The leader
 * missed what the follower received only if it received nothing for two looks:
 * if only heartbeats come, the connections get theirs at different times. */
static bool pair_is_called(struct mst_pair *p) {
    struct mst_client *leader = pair_leader(p), *c = pair_follower(p);
    const uint64_t leads = leader->link.stats.bytes_in;
    const uint64_t follows = c->link.stats.bytes_in;
    bool called;

    if (c->link.state != MST_STATE_OPEN) {
        return false;
    }
    if (leads != p->heard[0]) {
        p->missed = 0;
    } else if (follows != p->heard[1] && p->missed < 2) {
        p->missed++;
    }
    p->heard[0] = leads;
    p->heard[1] = follows;
    called = !pair_is_standby(p) || p->missed == 2;
    for (unsigned i = 0; i < c->slots; i++) {
        const struct mst_subscription *s = &c->subscriptions[i];
        const struct mst_subscription *other =
            client_find(leader, (enum mst_channel)s->channel, s->market, true);
        unsigned rank = pair_rank(s), others = pair_rank(other);
        if (!s->wanted) {
            continue; /* its slot may be free, and the market in another one */
        }
        if (rank < others) {
            p->missed = 0; /* these were responses and snapshots */
            return false;
        }
        called |= rank > others ||
                  (rank == 2 && s->book != NULL &&
                   mst_book_time(s->book) - mst_book_time(other->book) >=
                       PAIR_BEHIND_NS);
    }
    return called;
}

/* Changes the leader if it is time. Except in hot standby, the old connection
 * is closed and read to its end, or given up if it is not open yet. */
static void pair_change(struct mst_pair *p) {
    struct mst_client *old = pair_leader(p), *leader = pair_follower(p);
    struct mst_link *l = &old->link;

    if (leader->link.state != MST_STATE_OPEN ||
        (l->state == MST_STATE_OPEN && p->looks <= PAIR_LOOKS)) {
        return;
    }
    p->leads = (uint8_t)(1 - p->leads);
    p->tell = true;
    p->looks = 0;
    p->repeats = PAIR_REPEATS;
    if (pair_is_standby(p)) {
        return;
    }
    link_arm(&leader->link, MST_TIMER_STAGE, TIMER_NONE);
    leader->follows = l->wanted = false;
    old->follows = true;
    if (l->state == MST_STATE_OPEN) {
        leader->link.stats.rotations++;
        client_begin_closing(old, 1000, 0);
    } else if (l->state > MST_STATE_WAIT && l->state < MST_STATE_OPEN) {
        link_restart(l);
    }
}

/* Begins a rotation once the leader's connection is old enough, and compares
 * the clients. Time counts in looks, so none passes while the caller is away.
 * In hot standby, and while executions may be repeated, a look counts only if a
 * poll since the last one had no event: else the caller may just be slow. */
static void pair_step(struct mst_pair *p) {
    struct mst_client *leader = pair_leader(p);
    struct mst_link *l = &leader->link, *follower = &pair_follower(p)->link;
    const uint64_t age = l->clock.elapsed_ms - leader->stream.open_ms;
    const uint32_t now = p->clients[0].link.clock.now;
    uint32_t left = TIMER_NONE;

    if (p->rotate_ms != 0 && !follower->wanted && l->state == MST_STATE_OPEN) {
        if (age < p->rotate_ms) {
            left = p->rotate_ms - (uint32_t)age;
        } else {
            follower->wanted = true;
        }
    }
    if (timer_rest(&p->look, now) == 0) {
        timer_set(&p->look, now, PAIR_LOOK_MS);
        if (p->rested || !pair_is_standby(p)) {
            p->looks = pair_is_called(p) ? (uint8_t)(p->looks + 1) : 0;
        }
        if (p->rested && p->repeats > 0) {
            p->repeats--;
        }
        p->rested = false;
    }
    pair_change(p);
    if (pair_follower(p)->link.wanted || p->repeats > 0) {
        left = timer_sooner(left, timer_left(&p->look, now));
    }
    timer_set(&p->clients[0].link.timers[MST_TIMER_OWNER], now, left);
}

/* As mst_poll(), for one client. Skips events that the caller does not get. */
static int pair_read(struct mst_pair *p, unsigned which,
                     struct mst_event *event) {
    const unsigned of_both = BIT(MST_EVENT_OPEN) | BIT(MST_EVENT_CLOSED) |
                             BIT(MST_EVENT_ERROR) | BIT(MST_EVENT_ENTRY) |
                             BIT(MST_EVENT_RESPONSE) | BIT(MST_EVENT_EXECUTION);
    const struct mst_link *l = &p->clients[which].link;
    const uint8_t burst = l->burst;

    for (unsigned i = 0; i < LINK_ROUNDS_MAX; i++) {
        int rc = mst_poll(&p->clients[which], event);
        pair_change(p); /* before the caller hears of the end */
        if (rc != 1) {
            return rc;
        }
        if (l->generation != p->seen[which]) {
            p->seen[which] = l->generation;
            p->generations[which] = p->seen[0] + p->seen[1];
        }
        event->generation = p->generations[which];
        if (event->type == MST_EVENT_EXECUTION) {
            event->as.execution.repeat = which != p->leads || p->repeats > 0;
        }
        if (which == p->leads || (of_both >> event->type & 1u) != 0) {
            /* Next is the other one's turn, unless this one has a burst. */
            p->turn = (uint8_t)(l->burst < burst ? which : 1 - which);
            return 1;
        }
    }
    return 0;
}

int mst_pair_poll(struct mst_pair *pair, struct mst_event *event) {
    event->type = MST_EVENT_NONE;
    if (pair_is_over(pair)) {
        return MST_ERR_CLOSED;
    }
    /* Read both clocks, as a change of leader acts on both clients. */
    link_clock(&pair->clients[0].link);
    link_clock(&pair->clients[1].link);
    pair_step(pair);
    for (unsigned i = 0; i < 2 && !pair->tell; i++) {
        if (pair_read(pair, (pair->turn + i) % 2u, event) == 1) {
            return 1;
        }
    }
    if (pair->tell) {
        pair->tell = false;
        message_event(event, MST_EVENT_LEADER);
        link_stamp(&pair_leader(pair)->link, event);
        event->generation = pair->generations[pair->leads];
        return 1;
    }
    pair->rested = true;
    return pair_is_over(pair) ? MST_ERR_CLOSED : 0;
}

int mst_pair_init_checked(struct mst_pair *pair, uint32_t build,
                          const struct mst_config *config, uint32_t rotate_ms,
                          const struct mst_port *port,
                          const struct mst_memory *memory,
                          const struct mst_memory *other) {
    struct mst_config own;
    int rc = link_clear(pair, sizeof *pair, build);

    if (rc != 0) {
        return rc;
    }
    pair->clients[0].link.wiped = pair->clients[1].link.wiped = true;
    if (config == NULL || rotate_ms > LINK_SLEEP_MAX_MS ||
        (rotate_ms != 0 && (config->flags & MST_HOT_STANDBY) != 0)) {
        return MST_ERR_ARGUMENT;
    }
    own = *config;
    if (own.access == NULL) {
        rc = mst_access_init(&pair->access, config);
        own.access = &pair->access;
    }
    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        struct mst_client *c = &pair->clients[i];
        rc = mst_client_init_checked(c, MST_BUILD(*c), &own, port,
                                     i == 0 ? memory : other);
        own.link++;
    }
    if (rc != 0) {
        mst_client_wipe(&pair->clients[0]);
        return rc;
    }
    pair->rotate_ms = rotate_ms;
    pair->clients[1].link.wanted = pair_is_standby(pair);
    pair->clients[1].follows = !pair_is_standby(pair);
    return 0;
}

int mst_pair_subscribe(struct mst_pair *pair, enum mst_channel channel,
                       const char *market, struct mst_book *book,
                       struct mst_book *other) {
    int rc = (book == NULL) != (other == NULL)
                 ? MST_ERR_ARGUMENT
                 : mst_subscribe(&pair->clients[0], channel, market, book);

    if (rc == 0) {
        rc = mst_subscribe(&pair->clients[1], channel, market, other);
        if (rc != 0) {
            (void)mst_unsubscribe(&pair->clients[0], channel, market);
        }
    }
    return rc;
}

int mst_pair_unsubscribe(struct mst_pair *pair, enum mst_channel channel,
                         const char *market) {
    (void)mst_unsubscribe(&pair->clients[1], channel, market);
    return mst_unsubscribe(&pair->clients[0], channel, market);
}

int mst_pair_resync(struct mst_pair *pair, enum mst_channel channel,
                    const char *market) {
    (void)mst_resync(&pair->clients[1], channel, market);
    return mst_resync(&pair->clients[0], channel, market);
}

int mst_pair_subscription_list(struct mst_pair *pair) {
    (void)mst_subscription_list(&pair->clients[1]);
    return mst_subscription_list(&pair->clients[0]);
}

int mst_pair_rotate(struct mst_pair *pair) {
    int rc = link_is_over(&pair->clients[0].link) ? MST_ERR_CLOSED
             : pair_is_standby(pair)              ? MST_ERR_ARGUMENT
                                                  : 0;

    if (rc == 0 && pair_leader(pair)->link.state == MST_STATE_OPEN) {
        pair_follower(pair)->link.wanted = true;
        pair->clients[0].link.more = true;
    }
    return rc;
}

struct mst_book *mst_pair_book(struct mst_pair *pair, const char *market) {
    const struct mst_subscription *s =
        client_find(pair_leader(pair), MST_MARKET_DATA, market, false);

    return s != NULL ? s->book : NULL;
}

void mst_pair_close(struct mst_pair *pair) {
    mst_close(&pair->clients[0]);
    mst_close(&pair->clients[1]);
}

void mst_pair_wipe(struct mst_pair *pair) {
    mst_client_wipe(&pair->clients[0]);
    mst_client_wipe(&pair->clients[1]);
    mem_wipe(&pair->access, sizeof pair->access);
}
