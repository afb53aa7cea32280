/*
 * Support for the tests: see support.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */
#include "support.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- Expectations ---- */

#define FAILURES_SHOWN 20

static unsigned failures;

/* Memory that is freed when the current test ends. */
static struct kept {
    struct kept *next;
    struct text grows;
    char text[];
} * all_kept;

int expect_begin(void **state) {
    (void)state;
    failures = 0;
    return 0;
}

int expect_end(void **state) {
    (void)state;
    while (all_kept != NULL) {
        struct kept *next = all_kept->next;

        text_free(&all_kept->grows);
        free(all_kept);
        all_kept = next;
    }
    if (failures > FAILURES_SHOWN) {
        print_error("  and %u more\n", failures - FAILURES_SHOWN);
    }
    return failures == 0 ? 0 : -1;
}

unsigned expect_failures(void) {
    return failures;
}

void expect_failed(const char *format, ...) {
    char line[2048];
    va_list args;

    if (++failures > FAILURES_SHOWN) {
        return;
    }
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_error("  %s\n", line);
}

void expect_text(const char *name, const char *expected, const char *got) {
    size_t same = 0, from = 0;

    if (strcmp(expected, got) == 0) {
        return;
    }
    for (; expected[same] != '\0' && expected[same] == got[same]; same++) {
        if (expected[same] == '\n' && expected[same + 1] != '\0') {
            from = same + 1; /* show the texts from the first different line */
        }
    }
    expect_failed("%.300s\n    expected: %s%.300s\n    got:      %s%.300s",
                  name, from > 0 ? "... " : "", expected + from,
                  from > 0 ? "... " : "", got + from);
}

void expect_number(const char *name, long long expected, long long got) {
    if (expected != got) {
        expect_failed("%.400s\n    expected: %lld\n    got:      %lld", name,
                      expected, got);
    }
}

/* ---- Text ---- */

/* Allocates such memory with space for a text of this length. */
static struct kept *keep(size_t len) {
    struct kept *kept = calloc(1, sizeof *kept + len + 1);

    assert_non_null(kept);
    kept->next = all_kept;
    all_kept = kept;
    return kept;
}

struct text *text_new(void) {
    return &keep(0)->grows;
}

const char *printed(const char *format, ...) {
    va_list args;
    char *text;
    int len;

    va_start(args, format);
    len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert_true(len >= 0);
    text = keep((size_t)len)->text;
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

const char *repeated(const char *text, size_t times) {
    size_t len = strlen(text);
    char *all = keep(times * len)->text;

    for (size_t i = 0; i < times; i++) {
        memcpy(all + i * len, text, len);
    }
    return all;
}

const char *quoted(const char *text) {
    size_t len = strlen(text);
    char *copy = keep(len)->text;

    for (size_t i = 0; i < len; i++) {
        copy[i] = text[i] == '\'' ? '"' : text[i];
    }
    return copy;
}

void text_add_bytes(struct text *text, const void *data, size_t len) {
    if (text->size - text->len <= len) {
        text->size = 2 * text->size + len + 256;
        text->data = realloc(text->data, text->size);
        assert_non_null(text->data);
    }
    if (len > 0) {
        memcpy(text->data + text->len, data, len);
    }
    text->len += len;
    text->data[text->len] = '\0';
}

uint64_t setting(const char *name, uint64_t usual) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

const char *temporary(void) {
    const char *folder = getenv("TMPDIR");

    return folder != NULL ? folder : "/tmp";
}

void text_add(struct text *text, const char *format, ...) {
    char piece[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert_in_range(len, 0, sizeof piece - 1);
    text_add_bytes(text, piece, (size_t)len);
}

void text_clear(struct text *text) {
    text->len = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

void text_free(struct text *text) {
    free(text->data);
    *text = (struct text){0};
}

const char *text_get(const struct text *text) {
    return text->data == NULL ? "" : text->data;
}

bool bytes_contain(const void *data, size_t len, const void *what,
                   size_t what_len) {
    return memmem(data, len, what, what_len) != NULL;
}

/* ---- Memory that ends at a protected page ---- */

void guard_open(struct guard *guard, size_t max) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (max + page - 1) / page * page;

    guard->mapped = room + page;
    guard->base = mmap(NULL, guard->mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guard->base, MAP_FAILED);
    guard->end = guard->base + room;
    assert_int_equal(mprotect(guard->end, page, PROT_NONE), 0);
}

void guard_close(struct guard *guard) {
    munmap(guard->base, guard->mapped);
    *guard = (struct guard){0};
}

uint8_t *guard_room(const struct guard *guard, size_t len) {
    assert_true(len <= (size_t)(guard->end - guard->base));
    return guard->end - len;
}

void *guarded_room(size_t len) {
    static struct guard guard;

    if (guard.base == NULL || len > (size_t)(guard.end - guard.base)) {
        if (guard.base != NULL) {
            guard_close(&guard);
        }
        guard_open(&guard, len + 65536);
    }
    return guard_room(&guard, len);
}

void *guarded(const void *data, size_t len) {
    return len > 0 ? memcpy(guarded_room(len), data, len) : guarded_room(0);
}

/* ---- Replay in pieces ---- */

/* A stream, its expected record, and its record. */
struct vector {
    const char *name;
    const struct reader *reader;
    const uint8_t *data;
    size_t len;
    const char *expected;
    struct text *record;
};

static void replay_piece(const struct vector *v, size_t at, size_t len,
                         bool final) {
    uint8_t *piece = guarded(v->data + at, len);

    v->reader->piece(v->reader->context, piece, len, final, v->record);
    memset(piece, 0xA5, len);
}

static void replay_sized(const struct vector *v, size_t piece) {
    size_t at = 0;

    v->reader->begin(v->reader->context);
    while (v->len - at > piece) {
        replay_piece(v, at, piece, false);
        at += piece;
    }
    replay_piece(v, at, v->len - at, true);
}

void replay(const struct reader *reader, const void *data, size_t len,
            size_t piece, struct text *record) {
    struct vector v = {
        .reader = reader, .data = data, .len = len, .record = record};

    replay_sized(&v, piece == 0 ? len : piece);
}

static bool expect_split(const struct vector *v, const char *way, size_t at) {
    const char *got = text_get(v->record);
    char label[512];

    if (strcmp(v->expected, got) == 0) {
        return true;
    }
    snprintf(label, sizeof label, "%s %zu: %.400s", way, at, v->name);
    expect_text(label, v->expected, got);
    return false;
}

/* Replays in pieces of several sizes, until a record differs (false). */
static bool replay_all_sizes(const struct vector *v) {
    static const size_t sizes[] = {1, 2, 3, 5, 7, 16, 61, 509, 4093};
    bool same = true;

    for (size_t i = 0; i < COUNT(sizes) && sizes[i] < v->len && same; i++) {
        text_clear(v->record);
        replay_sized(v, sizes[i]);
        same = expect_split(v, "in pieces of", sizes[i]);
    }
    return same;
}

/* Streams up to twice this length are split at every offset, longer ones at
 * fewer, so that they take about the same time. */
#define SPLIT_ALL 1024

static struct {
    uint64_t longest; /* the longest stream to split at every offset (SPLITS) */
    uint64_t vectors, splits, partly;
} splits = {.longest = UINT64_MAX};

static void splits_print(void) {
    printf("SPLITS: %" PRIu64 " vectors, %" PRIu64 " splits, %" PRIu64
           " vectors not at every offset\n",
           splits.vectors, splits.splits, splits.partly);
}

bool splits_all(void) {
    if (splits.longest == UINT64_MAX) {
        splits.longest = setting("SPLITS", 0);
        if (splits.longest > 0) {
            atexit(splits_print);
        }
    }
    return splits.longest > 0;
}

void splits_count(uint64_t vectors, uint64_t made) {
    splits.vectors += vectors;
    splits.splits += made;
}

/* Replays in pieces that end at these places. */
static bool replay_cut(const struct vector *v, const size_t *places,
                       size_t count) {
    size_t at = 0;

    text_clear(v->record);
    v->reader->begin(v->reader->context);
    for (size_t i = 0; i < count; i++) {
        replay_piece(v, at, places[i] - at, false);
        at = places[i];
    }
    replay_piece(v, at, v->len - at, true);
    splits.splits++;
    return expect_split(v, count == 1 ? "split at" : "split also at", at);
}

/* Replays in two pieces, until a record differs (false). */
static bool replay_all_cuts(const struct vector *v) {
    size_t many = v->len / SPLIT_ALL, step = many < 2 ? 1 : many * many;
    bool same = true;

    if (splits_all() && v->len <= splits.longest) {
        step = 1;
    }
    splits.vectors++;
    splits.partly += step > 1;
    for (size_t at = 0; at <= v->len && same; at += step) {
        same = replay_cut(v, &at, 1);
    }
    return same;
}

bool splits_next(size_t *places, size_t count, size_t len) {
    for (size_t i = count; i-- > 0;) {
        if (places[i] + (count - i) < len) {
            places[i]++;
            for (; i + 1 < count; i++) {
                places[i + 1] = places[i] + 1;
            }
            return true;
        }
    }
    return false;
}

/* Replays a short stream in three and in four pieces. */
static void replay_all_places(const struct vector *v) {
    bool same = true;

    for (size_t count = 2; count <= 3 && v->len <= SPLITS_SHORT; count++) {
        size_t places[3] = {1, 2, 3};
        bool more = count < v->len;
        for (; more && same; more = splits_next(places, count, v->len)) {
            same = replay_cut(v, places, count);
        }
    }
}

void replay_everywhere(const char *name, const struct reader *reader,
                       const void *data, size_t len, const char *expected) {
    struct text whole = {0}, record = {0};
    struct vector v = {name, reader, data, len, expected, &whole};

    replay_sized(&v, len);
    if (expected != NULL) {
        expect_split(&v, "whole", len);
    }
    v.expected = text_get(&whole);
    v.record = &record;
    if (replay_all_sizes(&v) && replay_all_cuts(&v) && splits_all()) {
        replay_all_places(&v);
    }
    text_free(&record);
    text_free(&whole);
}

/* ---- Seeded random numbers ---- */

uint64_t random_next(uint64_t *seed) {
    uint64_t z = (*seed += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint32_t random_below(uint64_t *seed, uint32_t n) {
    return (uint32_t)(random_next(seed) >> 32) % n;
}
