/*
 * The output as comma-separated values (RFC 4180): a row for each item, or for
 * each of its levels. README.md explains the columns.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

/* Bytes of a field. A failure's text is the longest. */
#define FIELD_LEN TEXT_FAILURE_LEN

/* The columns in their order: one list for their names and numbers. */
#define COLUMN_LIST(_)                                                        \
    _(v), _(sequence), _(type), _(link), _(generation), _(received),          \
        _(channel), _(market), _(time), _(first), _(last), _(side), _(price), \
        _(amount), _(inexact), _(repeat), _(state), _(reason), _(doubts),     \
        _(ms), _(action), _(error), _(text)
#define COLUMN_NUMBER(name) COLUMN_##name
#define COLUMN_NAME(name) #name

enum column { COLUMN_LIST(COLUMN_NUMBER), COLUMNS };

static const char *const columns[] = {COLUMN_LIST(COLUMN_NAME)};

/* A row. An unused field is "". */
struct row {
    char fields[COLUMNS][FIELD_LEN];
};

/* Sets a field to text from anybody. Spreadsheets must not run it as a
 * formula. */
static void csv_text(struct row *row, enum column column, const char *text) {
    char *field = row->fields[column];

    if (text && text[0] != '\0') {
        bool formula = strchr("=+-@", text[0]) != NULL;

        field[0] = '\'';
        text_clean(text, field + formula, FIELD_LEN - 1);
    }
}

static void csv_number(struct row *row, enum column column, int64_t value) {
    snprintf(row->fields[column], FIELD_LEN, "%" PRId64, value);
}

static void csv_bool(struct row *row, enum column column, bool value) {
    csv_text(row, column, value ? "true" : "false");
}

static void csv_time(struct row *row, enum column column, int64_t ns) {
    text_time_ns(ns, row->fields[column]);
}

static void csv_decimal(struct row *row, enum column column,
                        struct mst_decimal value, int places) {
    text_decimal(value, places, row->fields[column]);
}

/* Writes a field, in quotes if necessary (section 2, rules 5 to 7). */
static void csv_field(FILE *file, const char *field) {
    if (!strpbrk(field, ",\"\r\n")) {
        fputs(field, file);
        return;
    }
    putc('"', file);
    for (; *field; ++field) {
        if (*field == '"') {
            putc('"', file);
        }
        putc(*field, file);
    }
    putc('"', file);
}

static void csv_write(struct out *out, const struct row *row) {
    for (int i = 0; i < COLUMNS; ++i) {
        if (i > 0) {
            putc(',', out->file);
        }
        csv_field(out->file, row->fields[i]);
    }
    fputs("\r\n", out->file);
}

/* Starts a row received at this time (0: unknown), valid until the next
 * call. */
static struct row *csv_begin(struct out *out, const char *type,
                             uint64_t received_ns) {
    struct row *row = out->state;

    for (int i = 0; i < COLUMNS; ++i) {
        row->fields[i][0] = '\0';
    }
    csv_number(row, COLUMN_v, OUT_VERSION);
    csv_number(row, COLUMN_sequence, (int64_t)out->sequence);
    csv_text(row, COLUMN_type, type);
    if (received_ns > 0) {
        csv_time(row, COLUMN_received, out_wall(out, received_ns));
    }
    return row;
}

static void csv_level(struct out *out, struct row *row,
                      const struct mst_level *level,
                      const struct board_market *market) {
    csv_text(row, COLUMN_side, level->side == MST_BID ? "bid" : "ask");
    csv_decimal(row, COLUMN_price, mst_level_price(level),
                market->price_places);
    csv_decimal(row, COLUMN_amount, mst_level_amount(level),
                market->amount_places);
    csv_bool(row, COLUMN_inexact, (level->flags & MST_LEVEL_INEXACT) != 0);
    csv_write(out, row);
}

/* Writes a row for each of a book's best levels, or the row without a level. */
static void csv_levels(struct out *out, struct row *row,
                       const struct board_market *market) {
    const struct mst_level *level;
    size_t written = 0;

    for (int side = MST_BID; side <= MST_ASK; ++side) {
        for (size_t i = 0;
             i < out->depth &&
             (level = mst_book_level(market->book, (enum mst_side)side, i));
             ++i) {
            csv_level(out, row, level, market);
            written++;
        }
    }
    if (written == 0) {
        csv_write(out, row);
    }
}

static void csv_part(struct out *out, struct row *row,
                     const struct mst_part *part,
                     const struct board_market *market) {
    csv_time(row, COLUMN_time, part->time_ns);
    csv_bool(row, COLUMN_first, part->first);
    csv_bool(row, COLUMN_last, part->last);
    for (size_t i = 0; i < part->count; ++i) {
        csv_level(out, row, &part->levels[i], market);
    }
    if (part->count == 0) {
        csv_write(out, row);
    }
}

static void csv_top(struct out *out, struct row *row, const struct mst_top *top,
                    const struct board_market *market) {
    csv_time(row, COLUMN_time, top->time_ns);
    if (top->has_bid) {
        csv_level(out, row, &top->bid, market);
    }
    if (top->has_ask) {
        csv_level(out, row, &top->ask, market);
    }
    if (!top->has_bid && !top->has_ask) {
        csv_write(out, row);
    }
}

static void csv_execution(struct out *out, struct row *row,
                          const struct mst_execution *execution,
                          const struct board_market *market) {
    csv_time(row, COLUMN_time, execution->time_ns);
    csv_decimal(row, COLUMN_price, execution->price, market->price_places);
    csv_decimal(row, COLUMN_amount, execution->amount, market->amount_places);
    csv_bool(row, COLUMN_inexact, execution->amount.inexact);
    csv_bool(row, COLUMN_repeat, execution->repeat);
    csv_write(out, row);
}

static void csv_failure(struct row *row, const struct mst_failure *failure,
                        int link) {
    csv_number(row, COLUMN_error, failure->error);
    if (failure->error != MST_OK) {
        char text[TEXT_FAILURE_LEN];

        text_failure(failure, link, text);
        csv_text(row, COLUMN_text, text);
        csv_text(row, COLUMN_state, mst_state_name(failure->stage));
        csv_number(row, COLUMN_ms, failure->retry_ms);
    }
    csv_text(row, COLUMN_market, failure->market);
}

static struct row *csv_event(struct out *out, const struct mst_event *event) {
    struct row *row =
        csv_begin(out, text_event(event), out_received_ns(out, event));

    csv_number(row, COLUMN_link, event->link);
    csv_number(row, COLUMN_generation, event->generation);
    csv_text(row, COLUMN_channel, text_event_channel(event));
    return row;
}

static void csv_data(struct out *out, const struct mst_event *event,
                     const struct board_market *market) {
    struct row *row = csv_event(out, event);

    csv_text(row, COLUMN_market, market->name);
    switch (event->type) {
    case MST_EVENT_PART: csv_part(out, row, &event->as.part, market); break;
    case MST_EVENT_TOP: csv_top(out, row, &event->as.top, market); break;
    default: csv_execution(out, row, &event->as.execution, market); break;
    }
}

static void csv_note(struct out *out, const struct mst_event *event) {
    struct row *row = csv_event(out, event);

    switch (event->type) {
    case MST_EVENT_HEARTBEAT:
        csv_time(row, COLUMN_time, event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        csv_failure(row, &event->as.failure, event->link);
        break;
    case MST_EVENT_ENTRY:
        csv_text(row, COLUMN_market, event->market);
        csv_text(row, COLUMN_action, text_action(event->as.entry.action));
        csv_text(row, COLUMN_text, event->as.entry.text);
        break;
    case MST_EVENT_SERVICE_ERROR:
        csv_text(row, COLUMN_reason, event->as.service_error.code_text);
        csv_text(row, COLUMN_text, event->as.service_error.message);
        break;
    default: break;
    }
    csv_write(out, row);
}

static void csv_rest(struct out *out) {
    struct row *row = csv_begin(out, "left_out", out->now_ns);

    csv_number(row, COLUMN_amount, (int64_t)out->note.left_out);
    csv_write(out, row);
}

/* Sets the names of the doubts, separated by semicolons. */
static void csv_doubts(struct row *row, unsigned flags) {
    char *field = row->fields[COLUMN_doubts];
    int len = 0;

    for (unsigned flag = 1; flag <= MST_BOOK_TIME_STEP; flag <<= 1) {
        if ((flags & flag) != 0) {
            len += snprintf(field + len, FIELD_LEN - (size_t)len, "%s%s",
                            len > 0 ? ";" : "", text_doubt(flag));
        }
    }
}

static void csv_book(struct out *out, const struct board_market *market) {
    struct row *row = csv_begin(out, "book", out->now_ns);

    csv_text(row, COLUMN_market, market->name);
    csv_text(row, COLUMN_state, mst_book_state_name(market->told_state));
    csv_text(row, COLUMN_reason, mst_book_reason_name(market->told_reason));
    csv_doubts(row, market->told_flags);
    csv_write(out, row);
}

static void csv_gap(struct out *out, const struct board_market *market,
                    enum mst_channel channel, uint64_t ms) {
    struct row *row = csv_begin(out, "gap", out->now_ns);

    csv_text(row, COLUMN_market, market->name);
    csv_text(row, COLUMN_channel, mst_channel_name(channel));
    csv_number(row, COLUMN_ms, (int64_t)ms);
    csv_write(out, row);
}

static void csv_sample(struct out *out, const struct board_market *market) {
    struct row *row = csv_begin(out, "sample", out->now_ns);

    csv_text(row, COLUMN_market, market->name);
    csv_time(row, COLUMN_time, mst_book_time(market->book));
    csv_doubts(row, mst_book_flags(market->book));
    csv_levels(out, row, market);
}

static bool csv_open(struct out *out) {
    out->state = calloc(1, sizeof(struct row));
    return out->state != NULL;
}

static void csv_start(struct out *out) {
    struct row *row;

    for (int i = 0; i < COLUMNS; ++i) {
        fprintf(out->file, "%s%s", i > 0 ? "," : "", columns[i]);
    }
    fputs("\r\n", out->file);
    row = csv_begin(out, "start", out->now_ns);
    csv_text(row, COLUMN_text, MST_VERSION);
    csv_write(out, row);
}

static void csv_end(struct out *out, int status,
                    const struct mst_stats *stats) {
    struct row *row = csv_begin(out, "end", out->now_ns);

    (void)stats;
    csv_number(row, COLUMN_error, status);
    csv_text(row, COLUMN_reason, out->cut ? "cut" : NULL);
    csv_write(out, row);
}

static void csv_free(struct out *out) {
    free(out->state);
    out->state = NULL;
}

const struct out_format out_csv = {
    .name = "csv",
    .header = "v,sequence,type,link,generation,received,",
    .open = csv_open,
    .begin = csv_start,
    .data = csv_data,
    .note = csv_note,
    .rest = csv_rest,
    .book = csv_book,
    .gap = csv_gap,
    .sample = csv_sample,
    .end = csv_end,
    .free = csv_free,
};
