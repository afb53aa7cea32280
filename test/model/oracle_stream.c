/*
 * Generator of a hostile stream of market_data: see oracle_stream.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "oracle_stream.h"

static size_t stream_below(struct stream *s, size_t bound) {
    return (size_t)(random_next(&s->seed) % bound);
}

static bool one_in(struct stream *s, size_t n) {
    return stream_below(s, n) == 0;
}

void stream_open(struct stream *s, uint64_t seed) {
    static const int64_t middles[] = {40, 5000, 1000000000, 30000000000000000};
    static const int64_t widths[] = {3, 12, 100, 1500};
    static const size_t sizes[] = {3, 12, 60, 400, 5000};
    /* All of one moment, of two, or just beyond. */
    static const int64_t ticks[] = {1, 500000, 999999, 1000000};

    *s = (struct stream){.seed = seed, .now_ns = 1000000000};
    s->middle = middles[stream_below(s, COUNT(middles))];
    s->width = widths[stream_below(s, COUNT(widths))];
    s->step = 1 + (int64_t)stream_below(s, 3);
    s->drift = (int64_t)stream_below(s, 3) - 1;
    s->snapshot_most = sizes[stream_below(s, COUNT(sizes))];
    s->before_snapshot = stream_below(s, 10);
    s->tick_ns = ticks[stream_below(s, COUNT(ticks))];
    s->oldest_ns = s->now_ns;
}

void stream_close(struct stream *s) {
    free(s->message.levels);
}

/* ---- Levels ---- */

static int64_t positive(int64_t price) {
    return price > 0 ? price : 1;
}

static int64_t random_amount(struct stream *s, bool *inexact) {
    const int64_t digits_18 = 100000000000000000;
    size_t kind = stream_below(s, 40);

    *inexact = kind == 0;
    if (kind <= 2) {
        return digits_18 +
               (int64_t)(random_next(&s->seed) % (9 * (uint64_t)digits_18));
    }
    return 1 + (int64_t)stream_below(s, kind < 20 ? 9 : 5000000);
}

static void add_level(struct stream *s, enum mst_side side, int64_t price,
                      bool removed) {
    struct oracle_level level = {
        .price = price,
        .time_ns = s->part.time_ns,
        .side = side,
    };

    if (!removed) {
        level.amount = random_amount(s, &level.inexact);
    }
    oracle_list_add(&s->message, &level);
    s->recent[side][stream_below(s, STREAM_RECENT)] = price;
}

/* A price of an update: one used before, or one near the middle, on its side
 * or, rarely, on the other. */
static int64_t update_price(struct stream *s, enum mst_side side) {
    int64_t price = s->recent[side][stream_below(s, STREAM_RECENT)];
    int64_t away = (int64_t)stream_below(s, (size_t)s->width);

    if (price != 0 && !one_in(s, 3)) {
        return price;
    }
    if (one_in(s, 30)) {
        away = -away / 4;
    }
    return positive(side == MST_BID ? s->middle - 1 - away : s->middle + away);
}

static void swap_levels(struct oracle_level *a, struct oracle_level *b) {
    struct oracle_level level = *a;

    *a = *b;
    *b = level;
}

static void shuffle(struct stream *s, struct oracle_level *levels,
                    size_t count) {
    for (size_t i = count; i > 1; i--) {
        swap_levels(&levels[i - 1], &levels[stream_below(s, i)]);
    }
}

static void reverse(struct oracle_level *levels, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        swap_levels(&levels[i], &levels[count - 1 - i]);
    }
}

/* ---- Messages ---- */

static void begin_message(struct stream *s, bool snapshot, int64_t time_ns) {
    s->message.count = 0;
    s->part = (struct oracle_part){.time_ns = time_ns, .snapshot = snapshot};
    s->break_at = one_in(s, 60) ? 1 + stream_below(s, 4) : 0;
}

static void make_update(struct stream *s, int64_t time_ns) {
    static const size_t sizes[] = {32, 33, 64, 65, 120};
    size_t count = stream_below(s, 7);

    begin_message(s, false, time_ns);
    if (one_in(s, 25)) {
        count = sizes[stream_below(s, COUNT(sizes))];
    }
    for (size_t i = 0; i < count; i++) {
        enum mst_side side = one_in(s, 2) ? MST_BID : MST_ASK;

        add_level(s, side, update_price(s, side), one_in(s, 3));
    }
}

/* Adds a side of a snapshot, best first or in another order. */
static void snapshot_side(struct stream *s, enum mst_side side, int64_t across,
                          size_t order) {
    size_t most = one_in(s, 4) ? 4 : s->snapshot_most, from = s->message.count;
    size_t count = one_in(s, 15) ? 0 : stream_below(s, most + 1), added;
    int64_t price = side == MST_BID ? s->middle + across : s->middle;

    for (size_t i = 0; i < count; i++) {
        int64_t step = 1 + (int64_t)stream_below(s, (size_t)s->step);

        price += side == MST_BID ? -step : step;
        if (price <= 0) {
            break;
        }
        add_level(s, side, price, one_in(s, 50));
    }
    added = s->message.count - from;
    if (order == 1) {
        reverse(s->message.levels + from, added);
    } else if (order == 2) {
        shuffle(s, s->message.levels + from, added);
    } else if (order == 3 && added > 1) {
        size_t a = from + stream_below(s, added);

        swap_levels(&s->message.levels[a], &s->message.levels[from]);
    }
}

static void make_snapshot(struct stream *s, int64_t time_ns) {
    int64_t across = one_in(s, 12) ? (int64_t)stream_below(s, 8) : 0;
    size_t order = stream_below(s, 4), other = stream_below(s, 4);

    begin_message(s, true, time_ns);
    snapshot_side(s, MST_BID, across, order);
    snapshot_side(s, MST_ASK, across, one_in(s, 2) ? order : other);
    if (one_in(s, 4)) {
        shuffle(s, s->message.levels, s->message.count);
    }
    if (s->message.count > 0 && one_in(s, 12)) {
        struct oracle_level level =
            s->message.levels[stream_below(s, s->message.count)];

        add_level(s, level.side, level.price, false);
        swap_levels(&s->message.levels[stream_below(s, s->message.count)],
                    &s->message.levels[s->message.count - 1]);
    }
    s->subscribed = true;
    s->snapshot_ns = time_ns;
    if (time_ns > s->now_ns) {
        s->now_ns = time_ns;
    }
}

/* The service's clock may now be behind. */
void stream_resubscribe(struct stream *s) {
    s->subscribed = false;
    s->before_snapshot = stream_below(s, one_in(s, 10) ? 80 : 8);
    if (one_in(s, 2)) {
        s->now_ns -= (int64_t)stream_below(s, 10) * s->tick_ns;
    }
    s->oldest_ns = s->now_ns;
}

/* A random time, from before ticks before first_ns to after ticks after
 * last_ns. */
static int64_t between(struct stream *s, int64_t first_ns, int64_t before,
                       int64_t last_ns, int64_t after) {
    int64_t ticks = (last_ns - first_ns) / s->tick_ns + before + after;

    return first_ns +
           ((int64_t)stream_below(s, (size_t)ticks + 1) - before) * s->tick_ns;
}

/* The next update in order; some have fewer digits than the previous one. */
static void make_next_update(struct stream *s) {
    int64_t back = one_in(s, 8) ? (int64_t)stream_below(s, 4) : 0;

    s->now_ns += (int64_t)stream_below(s, 3) * s->tick_ns;
    make_update(s, s->now_ns - back * s->tick_ns);
}

static void next_message(struct stream *s) {
    size_t kind = stream_below(s, 1000);

    s->middle = positive(s->middle + (int64_t)stream_below(s, 3) - 1 +
                         (one_in(s, 3) ? s->drift : 0));
    if (!s->subscribed && one_in(s, 100)) {
        s->now_ns += ORACLE_LATE_NS; /* and back with the snapshot */
    }
    if (!s->subscribed && s->before_snapshot == 0) {
        make_snapshot(s, between(s, s->oldest_ns, 2, s->now_ns, 2));
        return;
    }
    if (!s->subscribed) {
        s->before_snapshot--;
        make_next_update(s);
    } else if (kind < 4) {
        make_snapshot(s, between(s, s->now_ns, 3, s->now_ns, 1));
    } else if (kind < 40 && s->message.count > 0 && !s->part.snapshot) {
        s->break_at = 0; /* the same message again */
    } else if (kind < 100) {
        make_update(s, between(s, s->snapshot_ns, 3, s->now_ns, 0));
    } else {
        make_next_update(s);
    }
}

/* Breaks off the current message: its end is malformed, the connection is lost,
 * or the caller marks the book stale and the rest of the message still
 * comes. */
static void break_off(struct stream *s, struct stream_event *event) {
    size_t kind = stream_below(s, 3);

    s->break_at = 0;
    if (kind == 0) {
        event->is_part = true;
        event->part = (struct oracle_part){
            .time_ns = s->part.time_ns,
            .snapshot = s->part.snapshot,
            .aborted = true,
        };
    } else {
        event->reason = kind == 1 ? MST_BOOK_RECONNECT : MST_BOOK_RESYNC;
    }
    s->open = kind == 2;
    stream_resubscribe(s);
}

static enum mst_book_reason random_reason(struct stream *s) {
    static const enum mst_book_reason reasons[] = {
        MST_BOOK_RECONNECT, MST_BOOK_RECONNECT, MST_BOOK_RESYNC,
        MST_BOOK_BAD_MESSAGE, MST_BOOK_NUMBER};

    return reasons[stream_below(s, COUNT(reasons))];
}

void stream_next(struct stream *s, struct stream_event *event) {
    size_t left;

    memset(event, 0, sizeof *event);
    if (s->open && s->sent > 0 && s->sent == s->break_at) {
        break_off(s, event);
        return;
    }
    if (!s->open && one_in(s, 300)) {
        event->reason = random_reason(s);
        stream_resubscribe(s);
        return;
    }
    if (!s->open) {
        s->received_ns += one_in(s, 20) ? ORACLE_LATE_NS / 2 : 1000000;
        next_message(s);
        s->open = true;
        s->next = s->sent = 0;
    }
    left = s->message.count - s->next;
    event->is_part = true;
    event->part = s->part;
    event->part.received_ns = s->received_ns;
    event->part.levels = s->message.levels + s->next;
    event->part.count = left < MST_PART_LEVELS ? left : MST_PART_LEVELS;
    event->part.first = s->sent++ == 0;
    event->part.last = event->part.count == left;
    s->next += event->part.count;
    s->open = !event->part.last;
}

/* ---- Numbers ---- */

static size_t spell_zero(uint64_t *seed, char *text) {
    static const char *const zeros[] = {"0", "0.00", "0E-8", "0.000", "0e5"};

    return (size_t)sprintf(text, "%s", zeros[random_next(seed) % COUNT(zeros)]);
}

size_t stream_spell(uint64_t *seed, int64_t units, int exponent, bool inexact,
                    char *text) {
    int zeros = (int)(random_next(seed) % 3), point, len;
    char digits[32];
    size_t at = 0;

    if (units == 0) {
        return spell_zero(seed, text);
    }
    len = sprintf(digits, "%" PRId64 "%.*s", units, zeros,
                  inexact ? "508" : "000");
    if (inexact) {
        digits[len++] = '7';
        zeros++;
    }
    exponent -= zeros;
    /* Digits after the point: as many as need no exponent, or any number. */
    point = (int)(random_next(seed) % (uint64_t)len);
    if (exponent <= 0 && exponent > -len - 10 && random_next(seed) % 2 == 0) {
        point = -exponent;
    }
    exponent += point;
    if (point >= len) {
        at = (size_t)sprintf(text, "0.%0*d", point - len, 0);
        at -= point == len; /* %00d writes one digit */
    } else {
        at = (size_t)sprintf(text, "%.*s%s", len - point, digits,
                             point > 0 ? "." : "");
    }
    at += (size_t)sprintf(text + at, "%.*s", point < len ? point : len,
                          digits + (point < len ? len - point : 0));
    if (exponent != 0 || random_next(seed) % 8 == 0) {
        const char *sign = exponent >= 0 && random_next(seed) % 2 ? "+" : "";

        at += (size_t)sprintf(text + at, "%c%s%d",
                              random_next(seed) % 2 == 0 ? 'e' : 'E', sign,
                              exponent);
    }
    return at;
}
