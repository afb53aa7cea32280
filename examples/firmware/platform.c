/* Clock, random bytes and the store. SPDX-License-Identifier: 0BSD */
#include "platform.h"

#include "board/board.h"
#include "print.h"

#include <lwip/sys.h>

#include <string.h>

static struct {
    int64_t ns;     /* the time that was set */
    uint32_t at_ms; /* the board's clock at that moment */
    bool set;
} world;

static br_hmac_drbg_context generator;
static bool seeded;

static struct mst_flash store;

static void report(const char *what, int rc) {
    if (rc != 0) {
        print_begin();
        print_text(what);
        print_pair("error", rc);
        print_end();
    }
}

/* Reports damaged parts. The board works without them as far as possible. */
void platform_begin(void) {
    static struct mst_flash_driver driver;
    const char *secret = board_setting("seed");
    uint8_t seed[MST_FLASH_SEED_LEN];
    int64_t id = 0;
    int rc;

    report("settings: damaged", board_settings_error());
    board_flash(&driver);
    report("store: damaged", mst_flash_open(&store, &driver));
    rc = mst_flash_seed(&store, secret, strlen(secret), seed);
    seeded = rc == 0;
    report("entropy: no seed", rc);
    if (seeded) {
        br_hmac_drbg_init(&generator, &br_sha256_vtable, seed, sizeof seed);
        (void)platform_entropy(&id, 7);
        print_begin();
        print_text("boot");
        print_pair("id", id); /* public; different at each boot */
        print_end();
    }
}

static int token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                      char *token, size_t cap, int64_t *until_s) {
    (void)context;
    return mst_flash_token_load(&store, key, token, cap, until_s);
}

static void token_save(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       const char *token, size_t len, int64_t until_s) {
    (void)context;
    report("store: token not saved",
           mst_flash_token_save(&store, key, token, len, until_s));
}

void platform_keep_tokens(struct mst_port *port) {
    port->token_load = token_load;
    port->token_save = token_save;
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
    /* Advance the base at each call, because the board's clock wraps. */
    world.ns += (int64_t)(now - world.at_ms) * 1000000;
    world.at_ms = now;
    *ns = world.ns;
    return 0;
}

/* ---- Functions for lwIP, see arch/cc.h ---- */

uint32_t sys_now(void) {
    return board_ms();
}

/* For numbers that should be hard to guess; not for keys. */
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
