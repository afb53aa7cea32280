/*
 * A fuzz target: the content of a recording, in a well-formed frame. Its replay
 * must end well or with a named error, and a second replay must give the same
 * result and events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memfd_create() */
#include "fuzz.h"
#include "played.h"

#include <sys/mman.h>
#include <unistd.h>

/* The results of a replay. */
struct played_once {
    struct text events;
    char error[600];
    bool cut;
    int rc;
};

static void play(const char *path, struct played_once *p) {
    p->rc = played_play(path, &p->events, &p->cut, p->error, sizeof p->error);
    FUZZ_EXPECT(p->rc == 0 || p->rc == -1);
    FUZZ_EXPECT(p->rc == 0 || strlen(p->error) > strlen(path) + 2);
}

/* Returns a file with this content in a frame. */
static int file_of(const uint8_t *data, size_t len) {
    static uint8_t packed[ZSTD_COMPRESSBOUND(RECORDING_BLOCK)];
    size_t n = ZSTD_compress(packed, sizeof packed, data, len, 1);
    int file = memfd_create("recording", 0);

    FUZZ_EXPECT(!ZSTD_isError(n));
    FUZZ_EXPECT(file >= 0 && write(file, packed, n) == (ssize_t)n);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    struct played_once first = {.rc = 0}, second = {.rc = 0};
    char path[40];
    int file;

    if (len > RECORDING_BLOCK) {
        return 0;
    }
    file = file_of(data, len);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    play(path, &first);
    play(path, &second);
    FUZZ_EXPECT(first.rc == second.rc && first.cut == second.cut);
    FUZZ_EXPECT(strcmp(first.error, second.error) == 0);
    FUZZ_EXPECT(strcmp(text_get(&first.events), text_get(&second.events)) == 0);
    text_free(&first.events);
    text_free(&second.events);
    close(file);
    return 0;
}
