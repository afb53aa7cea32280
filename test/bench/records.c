/*
 * Measures a record by its length: with BearSSL alone, with port/primitives by
 * libcrypto, and with port/primitives as built (on x86-64 by IPsec-MB). They
 * take turns; shows the least time of all turns.
 *
 *   records   prints rows: what, bytes, ns a record of each
 *
 * SPDX-License-Identifier: 0BSD
 */
#define mst_primitives_init libcrypto_init
#define mst_primitives_free libcrypto_free
#include "mst_primitives.c" /* NOLINT(bugprone-suspicious-include) */
#undef mst_primitives_init
#undef mst_primitives_free

#include "bench.h"

#define TURNS 301
#define BATCH_LEN 65536 /* data of the records that are timed together */
#define ROOM_LEN 64     /* enough for what a record has besides its data */

int mst_primitives_init(struct mst_primitives *primitives, size_t count,
                        struct mst_port *port);

static const char *const suites[] = {"AES-128-GCM", "AES-256-GCM",
                                     "ChaCha20-Poly1305"};
static const size_t lens[] = {64, 150, 300, 600, 1500, 4096, 16384};

/* BearSSL alone has no port. */
static struct end {
    struct mst_port port;
    struct mst_primitives primitives;
    br_ssl_client_context tls;
    br_x509_minimal_context x509;
} ends[3];
#define ENDS (sizeof ends / sizeof *ends)

static void begin(struct end *end, size_t suite) {
    static const unsigned char key[32], iv[12];
    br_ssl_engine_context *e = &end->tls.eng;

    br_ssl_client_init_full(&end->tls, &end->x509, NULL, 0);
    if (end->port.tls_setup != NULL) {
        end->port.tls_setup(end->port.tls_context, 0, &end->tls,
                            &end->x509.vtable);
    }
    if (suite == 2) {
        e->ichapol_in->init(&e->in.chapol.vtable.in, e->ichacha, e->ipoly, key,
                            iv);
        e->ichapol_out->init(&e->out.chapol.vtable.out, e->ichacha, e->ipoly,
                             key, iv);
    } else {
        e->igcm_in->init(&e->in.gcm.vtable.in, e->iaes_ctr, key,
                         suite == 0 ? 16 : 32, e->ighash, iv);
        e->igcm_out->init(&e->out.gcm.vtable.out, e->iaes_ctr, key,
                          suite == 0 ? 16 : 32, e->ighash, iv);
    }
}

/* Seals and opens records; updates the least ns of each. */
static void turn(struct end *end, size_t suite, size_t len, double least[2]) {
    static unsigned char room[2 * BATCH_LEN];
    br_ssl_engine_context *e = &end->tls.eng;
    size_t count = BATCH_LEN / len, wire = 0;
    uint64_t times[3];

    begin(end, suite);
    times[0] = bench_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++) {
        wire = len;
        e->out.vtable->encrypt(&e->out.vtable, 23, BR_TLS12,
                               room + i * (len + ROOM_LEN) + 13, &wire);
    }
    times[1] = bench_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++) {
        size_t n = wire - 5;

        if (e->in.vtable->decrypt(&e->in.vtable, 23, BR_TLS12,
                                  room + i * (len + ROOM_LEN) + 5 +
                                      (suite == 2 ? 8 : 0),
                                  &n) == NULL) {
            bench_stop("records: refused");
        }
    }
    times[2] = bench_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 2; i++) {
        least[i] = bench_least(least[i], (double)(times[i + 1] - times[i]) /
                                             (double)count);
    }
}

int main(void) {
    static const char *const directions[] = {"seal", "open"};

    if (libcrypto_init(&ends[1].primitives, 1, &ends[1].port) != 0 ||
        mst_primitives_init(&ends[2].primitives, 1, &ends[2].port) != 0) {
        return 1;
    }
    for (size_t suite = 0; suite < sizeof suites / sizeof *suites; suite++) {
        double least[sizeof lens / sizeof *lens][ENDS][2] = {{{0}}};

        for (size_t i = 0; i < TURNS * ENDS; i++) {
            for (size_t l = 0; l < sizeof lens / sizeof *lens; l++) {
                turn(&ends[i % ENDS], suite, lens[l], least[l][i % ENDS]);
            }
        }
        for (int d = 0; d < 2; d++) {
            for (size_t l = 0; l < sizeof lens / sizeof *lens; l++) {
                printf("%s, %s\t%zu\t%.0f\t%.0f\t%.0f\n", suites[suite],
                       directions[d], lens[l], least[l][0][d], least[l][1][d],
                       least[l][2][d]);
            }
        }
    }
    return 0;
}
