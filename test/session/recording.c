/*
 * The files of a recording: their content, their permissions, what remains
 * after a crash or on a full disk, and how bytes from another source are read.
 *
 * HOSTILE: the number of damaged recordings; HOSTILE_SEED: the first one's
 * seed. FUZZ_SEEDS: a folder for initial inputs of the fuzz target.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */
#include "played.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOSTILE 2000u

/* ---- a recording ---- */

/* Another file in the recording's folder, which end() removes. */
static char other_path[200];

static const char *other_file(const char *name) {
    snprintf(other_path, sizeof other_path, "%s/%s", played.folder, name);
    return other_path;
}

static struct text packed, content; /* set by take() */

/* The result of the last play(). */
static struct {
    struct text events;
    char error[600];
    bool cut;
} heard;

static void end(void) {
    unlink(other_path);
    text_free(&packed);
    text_free(&content);
    text_free(&heard.events);
    played_end();
}

static int tear_down(void **state) {
    end();
    return session_tear_down(state);
}

static void begin_recorder(uint64_t rotate_bytes) {
    end();
    session_begin();
    played_begin(&session.mock, rotate_bytes);
    recorder_configure(&played.recorder, &session.config);
}

static void begin(uint64_t rotate_bytes) {
    begin_recorder(rotate_bytes);
    session.service.rules.feed_ms = 500;
    session.service.rules.beat_ms = 1000;
    played_start();
}

static void subscribe(void) {
    played_wish(MST_MARKET_DATA, "BTCUSD");
    played_wish(MST_HEARTBEAT, NULL);
}

static void record(uint64_t rotate_bytes, uint32_t ms) {
    begin(rotate_bytes);
    subscribe();
    played_run(ms);
}

static void close_client(void) {
    played_close();
    played_run(1000);
}

static struct text file_read(const char *path) {
    struct text text = {0};
    char data[4096];
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    while ((n = fread(data, 1, sizeof data, file)) > 0) {
        text_add_bytes(&text, data, n);
    }
    fclose(file);
    return text;
}

static void file_write(const char *path, const void *data, size_t len) {
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

/* Ends the recording, reads and unpacks it. Returns its number of blocks. */
static size_t take(void) {
    static char block[RECORDING_BLOCK];
    size_t at = 0, blocks = 0;

    assert_int_equal(recorder_close(&played.recorder), 0);
    packed = file_read(played.path);
    for (; at < packed.len; blocks++) {
        size_t n =
            ZSTD_findFrameCompressedSize(packed.data + at, packed.len - at);
        size_t len;
        assert_false(ZSTD_isError(n));
        len = ZSTD_decompress(block, sizeof block, packed.data + at, n);
        assert_false(ZSTD_isError(len));
        text_add_bytes(&content, block, len);
        at += n;
    }
    return blocks;
}

static int play(const char *path) {
    text_free(&heard.events);
    return played_play(path, &heard.events, &heard.cut, heard.error,
                       sizeof heard.error);
}

/* Expects a recording without an end, with the events seen so far. */
static void expect_cut(void) {
    size_t len = played.events.len;

    expect_int("played", 0, play(played.path));
    expect_int("cut", 1, heard.cut);
    len = len < heard.events.len ? len : heard.events.len;
    assert_true(len >= 100);
    assert_memory_equal(heard.events.data, played.events.data, len);
}

/* Expects a recording to be refused with this error text. */
static void expect_refused(const char *path, const char *words) {
    expect_int(words, -1, play(path));
    if (strstr(heard.error, words) == NULL) {
        expect_failed("\"%s\" does not say \"%s\"", heard.error, words);
    }
}

/* ---- files ---- */

/* Existing files, and the targets of links, are not overwritten. */
static void expect_not_recorded(const char *path, int error) {
    struct recorder other;

    expect_int(path, -1, recorder_open(&other, path, 0));
    assert_non_null(strstr(other.trouble, strerror(error)));
    recorder_close(&other);
}

TEST_CASE(test_who_may_read_it) {
    struct stat info;

    record(0, 10000);
    assert_int_equal(stat(played.path, &info), 0);
    expect_int("mode", S_IFREG | S_IRUSR | S_IWUSR, info.st_mode);
    expect_not_recorded(played.path, EEXIST);
    assert_int_equal(symlink("/dev/null", other_file("link")), 0);
    expect_not_recorded(other_path, EEXIST);
    unlink(other_path);
    assert_int_equal(symlink("nowhere", other_path), 0);
    expect_not_recorded(other_path, EEXIST);
    unlink(other_path);
    expect_not_recorded(other_file("none/file"), ENOENT);
    played_compare("refused beside");
}

static void rename_file(const char *from, const char *to) {
    assert_int_equal(rename(printed("%s%s", played.path, from),
                            printed("%s%s", played.path, to)),
                     0);
}

/* The process crashed after it began the next file, but before the last frame
 * of this one, which names the next. */
static void expect_cut_at_rotation(void) {
    size_t last = 0, at = 0;

    packed = file_read(played.path);
    while (at < packed.len) {
        last = at;
        at += ZSTD_findFrameCompressedSize(packed.data + at, packed.len - at);
    }
    file_write(played.path, packed.data, last);
    expect_cut();
    assert_true(heard.events.len <= played.events.len / 2);
    file_write(played.path, packed.data, packed.len);
}

TEST_CASE(test_rotation) {
    const char *path;
    struct stat info;
    int files = 0;

    record(3000, 5 * SESSION_MINUTE);
    played_compare("many files");
    do {
        files++;
    } while (stat(printed("%s.%d", played.path, files), &info) == 0);
    assert_in_range(files, 4, 1000);
    expect_cut_at_rotation();

    expect_refused(printed("%s.1", played.path), "starts in another file");
    rename_file(".2", ".x");
    expect_refused(played.path, "stream.rec.2: No such file");
    rename_file(".3", ".2");
    expect_refused(played.path, "to another recording");
    rename_file(".2", ".3");
    path = printed("%s.2", played.path);
    file_write(path, "nonsense and more of it", 23);
    expect_refused(played.path, "stream.rec.2: not a recording");
    file_write(path, "", 0);
    expect_refused(played.path, "stream.rec.2: it ends within its first block");
    rename_file(".x", ".2");
    expect_refused(printed("%s/none", played.folder), "No such file");
    expect_refused(played.folder, played.folder);
}

/* The process is killed: only the last 200 ms are lost. */
TEST_CASE(test_crash) {
    int status;
    pid_t child;

    record(0, SESSION_MINUTE);
    child = fork();
    if (child == 0) {
        played_run(10000);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    expect_cut();
    expect_text("error", "", heard.error);
    /* It also holds what the child process recorded. */
    assert_true(heard.events.len > played.events.len);
    (void)recorder_close(&played.recorder);
}

/* The disk is full: an error is reported, and the stream continues. */
TEST_CASE(test_full_disk) {
    struct rlimit limit, least;

    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    least = limit;
    least.rlim_cur = 5000;
    record(0, 1000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    played_run(SESSION_MINUTE);
    uint64_t before = played.counts[MST_EVENT_PART];
    played_run(SESSION_MINUTE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(played.counts[MST_EVENT_PART] > before + 100);
    assert_non_null(strstr(played.recorder.trouble, strerror(EFBIG)));
    expect_int("closed", -1, recorder_close(&played.recorder));
    expect_cut();
    assert_true(heard.events.len <= played.events.len);
}

/* ---- secrets ---- */

/* Expects neither a secret nor its base64 at any offset. */
static void expect_no_secret(const char *where, const struct text *text,
                             const char *secret) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(secret);

    if (bytes_contain(text->data, text->len, secret, len)) {
        expect_failed("%s has \"%s\"", where, secret);
    }
    for (size_t skip = 0; skip < 3; skip++) {
        char out[200];
        size_t n = 0;
        for (size_t i = skip; i + 3 <= len; i += 3) {
            const unsigned char *b = (const unsigned char *)secret + i;
            unsigned bits = (unsigned)b[0] << 16 | (unsigned)b[1] << 8 | b[2];
            for (int shift = 18; shift >= 0; shift -= 6) {
                out[n++] = letters[bits >> shift & 63u];
            }
        }
        if (n >= 8 && bytes_contain(text->data, text->len, out, n)) {
            expect_failed("%s has \"%s\" in base64", where, secret);
        }
    }
}

TEST_CASE(test_secrets) {
    static const char *const secrets[] = {
        SERVICE_SECRET,        "s%2Bcr%3Dt",       SERVICE_TOKEN,
        SERVICE_ADDRESS_TOKEN, SERVICE_ID,         "client%20id",
        "Ada Augusta",         "Lovelace-Byron",   "Institute of Numbers",
        "vasp-id-1815-1852",   "a-secret-address", "a-secret-nickname"};
    static const struct mst_travelrule rule = {.first_name = "Ada Augusta",
                                               .last_name = "Lovelace-Byron",
                                               .vasp_id = "vasp-id-1815-1852",
                                               .custodian_type = "VASP"};

    begin(0);
    subscribe();
    session_start_transfer();
    session.request =
        (struct mst_address_request){.network = "BITCOIN",
                                     .address = "a-secret-address",
                                     .nickname = "a-secret-nickname",
                                     .travelrule = &rule};
    /* The usual response repeats the request. Only the request counts here. */
    service_answer(&session.service.address, SERVICE_EMPTY("400 No"), 1, 0);
    session_put_and_wait("put");
    session_run(SESSION_MINUTE);
    service_end(&session.service, MST_ERR_RESET);
    session_run(SESSION_MINUTE);
    expect_int("tokens", 2, session.service.tokens.count);
    assert_non_null(strstr(session.service.put, "Lovelace-Byron"));
    (void)take();
    /* All of it is recorded, with secrets masked. */
    assert_true(bytes_contain(content.data, content.len, "Bearer ***", 10));
    assert_true(bytes_contain(content.data, content.len, "PUT /v2/", 8));
    assert_true(bytes_contain(content.data, content.len, "BTCUSD", 6));
    for (size_t i = 0; i < COUNT(secrets); i++) {
        expect_no_secret("the file", &packed, secrets[i]);
        expect_no_secret("the content", &content, secrets[i]);
    }
}

/* ---- data from another source ---- */

/* Plays the other file. It must end, or report an error with a text. */
static int expect_survived(const char *name) {
    int rc = play(other_path);

    if (rc != 0 &&
        (rc != -1 || strlen(heard.error) <= strlen(other_path) + 2)) {
        expect_failed("%s: %d, \"%s\"", name, rc, heard.error);
    }
    return rc;
}

/* Writes this content to the other file. */
static void pack(const void *data, size_t len) {
    static uint8_t out[RECORDING_BLOCK * 2];

    len = ZSTD_compress(out, sizeof out, data, len, 1);
    assert_false(ZSTD_isError(len));
    file_write(other_path, out, len);
}

TEST_CASE(test_truncated) {
    record(0, 3000);
    (void)take();
    (void)other_file("cut");
    for (size_t len = 0; len < packed.len; len++) {
        file_write(other_path, packed.data, len);
        int rc = play(other_path);
        /* Events up to the cut are the same. */
        if (rc == 0 ? !heard.cut
                    : strstr(heard.error, "it ends within its first block") ==
                          NULL) {
            expect_failed("%zu bytes: %d, \"%s\"", len, rc, heard.error);
        }
        if (strncmp(text_get(&heard.events), text_get(&played.events),
                    heard.events.len) != 0) {
            expect_failed("%zu bytes: other events", len);
        }
    }
}

/* One bit is changed. */
TEST_CASE(test_flipped) {
    unsigned refused = 0;

    record(0, 3000);
    (void)take();
    (void)other_file("flipped");
    for (size_t at = 0; at < packed.len; at++) {
        packed.data[at] = (char)(packed.data[at] ^ (1 << at % 8));
        file_write(other_path, packed.data, packed.len);
        refused += expect_survived(printed("byte %zu", at)) != 0 || heard.cut;
        packed.data[at] = (char)(packed.data[at] ^ (1 << at % 8));
    }
    /* zstd ignores some bits. */
    assert_in_range(refused, packed.len - packed.len / 50, packed.len);
}

/* Changes the content in some places, but not the magic or the first item. */
static size_t spoil(uint8_t *data, size_t len, uint64_t *seed) {
    unsigned times = 1 + random_below(seed, 4);

    for (unsigned i = 0; i < times && len > 100; i++) {
        size_t at = 60 + random_below(seed, (uint32_t)len - 60);
        size_t n = 1 + random_below(seed, 8);
        n = n < len - at ? n : len - at;
        switch (random_below(seed, 4)) {
        case 0: data[at] ^= (uint8_t)(1 << random_below(seed, 8)); break;
        case 1: data[at] = (uint8_t)random_below(seed, 256); break;
        case 2:
            memmove(data + at, data + at + n, len - at - n);
            len -= n;
            break;
        default:
            for (size_t k = 0; k < n; k++) {
                data[at + k] = (uint8_t)random_below(seed, 256);
            }
        }
    }
    return len;
}

/* Invalid content in valid frames. */
TEST_CASE(test_hostile) {
    uint64_t count = setting("HOSTILE", HOSTILE);
    uint64_t first = setting("HOSTILE_SEED", 1);
    static uint8_t spoilt[RECORDING_BLOCK];
    record(0, 3000);
    close_client();
    assert_true(take() > 1);
    assert_true(content.len <= sizeof spoilt);
    (void)other_file("spoilt");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t seed = first + i;
        memcpy(spoilt, content.data, content.len);
        pack(spoilt, spoil(spoilt, content.len, &seed));
        (void)expect_survived(
            printed("HOSTILE_SEED=%" PRIu64 " HOSTILE=1", first + i));
    }
}

/* Writes a recording's content for the fuzz target. */
static void seed_write(const char *folder, const char *name) {
    (void)take();
    assert_in_range(content.len, 1, RECORDING_BLOCK);
    file_write(printed("%s/%s", folder, name), content.data, content.len);
}

/* A stream, a refused stream, and a pair. */
TEST_CASE(test_seeds) {
    const char *folder = getenv("FUZZ_SEEDS");

    if (folder == NULL) {
        return;
    }
    record(0, 5000);
    service_end(&session.service, MST_ERR_RESET);
    played_run(5000);
    close_client();
    seed_write(folder, "stream");
    begin(0);
    session.service.upgrade.status = 401;
    subscribe();
    played_run(SESSION_MINUTE);
    seed_write(folder, "refused");
    begin_recorder(0);
    played_start_pair(5000);
    played_wish(MST_HEARTBEAT, NULL);
    played_run(12000);
    seed_write(folder, "pair");
}

/* Values and names that no real recorder writes. */
TEST_CASE(test_ranges) {
#define NAMED(kind_, channel, name)                                           \
    {                                                                         \
        .kind = (kind_), .values = {0, (channel)}, .data = (uint8_t *)(name), \
        .len = sizeof(name) - 1                                               \
    }
#define MARKET(name) NAMED(RECORDING_SUBSCRIBE, MST_MARKET_DATA, name)
    static const int64_t end = INT64_C(1) << 62;
    const struct {
        bool good;
        struct recording_item item;
    } cases[] = {
        {true, MARKET("BTCUSD")},
        {true, MARKET("!~")},
        {true, NAMED(RECORDING_SUBSCRIBE, MST_HEARTBEAT, "")},
        {false, NAMED(RECORDING_SUBSCRIBE, MST_HEARTBEAT, "BTCUSD")},
        {false, MARKET("")},
        {false, MARKET("BTC USD")},
        {false, MARKET("BTC\0USD")},
        {false, MARKET("\033]0;title\007")},
        {false, MARKET("BTC\177")},
        {false, MARKET("BTC\xC2\x9B")},
        {false, MARKET("BTC\xE2\x80\xA8")},
        {false, MARKET("BTC\xFF")},
        {false, NAMED(RECORDING_UNSUBSCRIBE, MST_TOP_OF_BOOK, "\n")},
        {false, NAMED(RECORDING_RESYNC, MST_MARKET_DATA, "\n")},
        {true, {.kind = RECORDING_POLL, .values = {0, 5, -5}}},
        {true, {.kind = RECORDING_POLL, .values = {0, end - 1, end - 1}}},
        {false, {.kind = RECORDING_POLL, .values = {0, -1, 5}}},
        {false, {.kind = RECORDING_POLL, .values = {0, end, 0}}},
        {false, {.kind = RECORDING_POLL, .values = {0, 5, -6}}},
        {false, {.kind = RECORDING_POLL, .values = {0, 5, end}}},
        {false, {.kind = RECORDING_POLL, .values = {0, 5, INT64_MIN}}},
        {true, {.kind = RECORDING_UNIX, .values = {0, -1}}},
        {true, {.kind = RECORDING_UNIX, .values = {0, 0}}},
        {true, {.kind = RECORDING_UNIX, .values = {0, INT64_MAX}}},
        {false, {.kind = RECORDING_UNIX, .values = {0, -2}}},
        {false, {.kind = RECORDING_UNIX, .values = {0, INT64_MIN}}},
        {true, {.kind = RECORDING_RECEIVED, .values = {0, end - 1}}},
        {false, {.kind = RECORDING_RECEIVED, .values = {0, end}}},
        {false, {.kind = RECORDING_RECEIVED, .values = {0, -1}}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        static struct recording_last none;
        struct recording_last last = none;
        struct recording_item item;
        static uint8_t out[RECORDING_ITEM];
        size_t len = recording_write(&last, &cases[i].item, out), used;
        last = none;
        expect_int(printed("case %zu", i), cases[i].good,
                   recording_read(&last, out, len, &item, &used));
    }
#undef MARKET
#undef NAMED
}

/* The version is shown if the build's limits differ: it must not contain
 * control characters. */
TEST_CASE(test_version) {
    record(0, 1000);
    (void)take();
    (void)other_file("other");
    char *at = memmem(text_get(&content), content.len, MST_VERSION,
                      strlen(MST_VERSION));
    assert_non_null(at);
    *at = '\033';
    pack(content.data, content.len);
    expect_refused(other_path, "not a recording");
}

/* A name that only the recorder rejects ends the recording. A name that the
 * library rejects too is left out. */
TEST_CASE(test_names) {
    static const char *const refused[] = {"",
                                          "12345678901234567890123456789012"};
    struct recorder other;

    begin(0);
    for (size_t i = 0; i < COUNT(refused); i++) {
        recorder_market(&played.recorder, RECORDING_SUBSCRIBE, 0,
                        MST_MARKET_DATA, refused[i], NULL);
        assert_true(session_wish(MST_MARKET_DATA, refused[i]) < 0);
    }
    subscribe();
    played_run(3000);
    played_compare("refused names");
    assert_int_equal(recorder_open(&other, other_file("other"), 0), 0);
    recorder_market(&other, RECORDING_SUBSCRIBE, 0, MST_MARKET_DATA,
                    "\xE2\x80\xA8", NULL);
    expect_int("closed", -1, recorder_close(&other));
    assert_non_null(strstr(other.trouble, "not printable ASCII"));
}

/* Replay detects a build that sends or does something else. */
TEST_CASE(test_differs) {
    static const struct {
        const char *in, *out, *says;
    } cases[] = {
        {"websocket", "websockot", "sends other bytes than recorded"},
        {"ws.example", "wt.example", "open 443 0 0 \"wt.example\", recorded: "},
        {"HTTP/1.1 101", "HTTP/1.1 503", "error -500 in upgrade"},
    };

    record(0, 3000);
    (void)take();
    (void)other_file("other");
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len = strlen(cases[i].in);
        char *at = memmem(text_get(&content), content.len, cases[i].in, len);
        assert_non_null(at);
        memcpy(at, cases[i].out, len);
        pack(content.data, content.len);
        memcpy(at, cases[i].in, len);
        expect_refused(other_path, "the replay differs at call ");
        expect_refused(other_path, cases[i].says);
    }
}

RUN_WITH(expect_begin, tear_down, NULL, NULL)
