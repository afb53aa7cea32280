/* The clock of the world, and random bytes. SPDX-License-Identifier: 0BSD */
#include "platform.h"

#include "board/board.h"
#include "print.h"

#include <lwip/sys.h>

static struct {
    int64_t ns;     /* the time that was set... */
    uint32_t at_ms; /* ...and what the board's clock was then */
    bool set;
} world;

static br_hmac_drbg_context generator;
static bool seeded;

void platform_begin(void) {
    const uint8_t *seed = board_seed();

    seeded = seed != NULL;
    if (seeded) {
        /* A product takes it from a generator in hardware, or keeps the state
         * over a restart: the same seed twice gives the same keys twice. */
        br_hmac_drbg_init(&generator, &br_sha256_vtable, seed, BOARD_SEED_LEN);
    } else {
        print_line("entropy: the seed page is empty", "");
    }
}

int platform_entropy(void *data, size_t len) {
    if (!seeded) {
        return MST_ERR_ENTROPY;
    }
    br_hmac_drbg_generate(&generator, data, len);
    return 0;
}

int platform_unix_ns(int64_t *ns) {
    uint32_t now = board_ms();

    if (!world.set) {
        return MST_ERR_CLOCK;
    }
    /* Carried on, for the board's clock wraps. */
    world.ns += (int64_t)(now - world.at_ms) * 1000000;
    world.at_ms = now;
    *ns = world.ns;
    return 0;
}

/* ---- What lwIP asks for: see arch/cc.h ---- */

uint32_t sys_now(void) {
    return board_ms();
}

/* For numbers that are better not guessed, but no keys. */
uint32_t lwip_random(void) {
    uint32_t number = board_ms();

    (void)platform_entropy(&number, sizeof number);
    return number;
}

void lwip_time(uint32_t unix_s, uint32_t us) {
    world.ns = (int64_t)unix_s * 1000000000 + (int64_t)us * 1000;
    world.at_ms = board_ms();
    world.set = true;
    print_begin();
    print_text("time ");
    print_time(world.ns);
    print_end();
}
