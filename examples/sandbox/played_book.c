/* A book made from recorded messages. SPDX-License-Identifier: 0BSD */
#include "played_book.h"

#include "text.h"

#define SIDES 2
#define LEVELS_MAX ((gsize)2 << 20)
#define EARLY_MAX ((gsize)16 << 20)
#define TEXT_MAX 64 /* of a price or an amount */

static const char *const side_names[SIDES] = {"bids", "asks"};

/* An update that came before its snapshot. */
struct early {
    json_t *payload;
    gsize len;
};

struct played_book {
    struct played_room *room;
    GTree *sides[SIDES]; /* price to amount, both owned; best first */
    char *time;          /* of the last change; NULL before the snapshot */
    int64_t snapshot_ns;
    GArray *early; /* struct early */
};

static int compare(gconstpointer a, gconstpointer b, gpointer side) {
    int order = text_compare_decimals(a, b);

    return GPOINTER_TO_INT(side) == 0 ? -order : order;
}

struct played_book *played_book_new(struct played_room *room) {
    struct played_book *book = g_new0(struct played_book, 1);

    book->room = room;
    for (int side = 0; side < SIDES; side++) {
        book->sides[side] =
            g_tree_new_full(compare, GINT_TO_POINTER(side), g_free, g_free);
    }
    book->early = g_array_new(FALSE, FALSE, sizeof(struct early));
    return book;
}

static void forget_levels(struct played_book *book) {
    for (int side = 0; side < SIDES; side++) {
        book->room->levels -= (gsize)g_tree_nnodes(book->sides[side]);
        g_tree_remove_all(book->sides[side]);
    }
}

static void forget_early(struct played_book *book) {
    for (guint i = 0; i < book->early->len; i++) {
        const struct early *each = &g_array_index(book->early, struct early, i);

        book->room->early -= each->len;
        json_decref(each->payload);
    }
    g_array_set_size(book->early, 0);
}

void played_book_free(struct played_book *book) {
    forget_levels(book);
    forget_early(book);
    for (int side = 0; side < SIDES; side++) {
        g_tree_unref(book->sides[side]);
    }
    g_array_unref(book->early);
    g_free(book->time);
    g_free(book);
}

static bool set_level(struct played_book *book, int side, const json_t *level) {
    const char *price = json_string_value(json_object_get(level, "price"));
    const char *amount = json_string_value(json_object_get(level, "amount"));
    bool there;

    if (!price || !amount || !text_is_decimal(price) ||
        strlen(price) > TEXT_MAX || strlen(amount) > TEXT_MAX) {
        return true; /* invalid: the clients get the message as it is */
    }
    there = g_tree_lookup(book->sides[side], price) != NULL;
    if (text_is_zero(amount)) {
        g_tree_remove(book->sides[side], price);
        book->room->levels -= there ? 1 : 0;
        return true;
    }
    if (!there && book->room->levels >= LEVELS_MAX) {
        return false;
    }
    book->room->levels += there ? 0 : 1;
    g_tree_replace(book->sides[side], g_strdup(price), g_strdup(amount));
    return true;
}

static bool apply(struct played_book *book, const json_t *payload) {
    bool ok = true;

    for (int side = 0; side < SIDES; side++) {
        const json_t *levels = json_object_get(payload, side_names[side]);
        json_t *level;
        size_t i;

        json_array_foreach(levels, i, level) {
            ok = ok && set_level(book, side, level);
        }
    }
    g_free(book->time);
    book->time = g_strdup(json_string_value(json_object_get(payload, "time")));
    return ok;
}

/* Reads a payload's time. Returns false if it has none. */
static bool read_time(const json_t *payload, int64_t *time_ns) {
    const char *text = json_string_value(json_object_get(payload, "time"));

    return text && text_time(text, time_ns);
}

/* Applies an update if it is later than the snapshot. */
static bool update(struct played_book *book, const json_t *payload) {
    int64_t time_ns;

    return !read_time(payload, &time_ns) || time_ns <= book->snapshot_ns ||
           apply(book, payload);
}

static bool begin(struct played_book *book, const json_t *snapshot) {
    bool ok;

    if (!read_time(snapshot, &book->snapshot_ns)) {
        return true;
    }
    forget_levels(book);
    ok = apply(book, snapshot);
    for (guint i = 0; i < book->early->len; i++) {
        ok = ok &&
             update(book, g_array_index(book->early, struct early, i).payload);
    }
    forget_early(book);
    return ok;
}

bool played_book_take(struct played_book *book, json_t *payload, gsize len) {
    const struct early early = {.payload = payload, .len = len};
    const char *type = json_string_value(json_object_get(payload, "type"));

    if (g_strcmp0(type, "UPDATE") != 0) {
        return begin(book, payload);
    }
    if (book->time) {
        return update(book, payload);
    }
    if (book->room->early + len > EARLY_MAX) {
        return false;
    }
    book->room->early += len;
    json_incref(payload);
    g_array_append_val(book->early, early);
    return true;
}

struct written {
    json_t *array;
    guint levels; /* at most */
};

static gboolean add_level(gpointer price, gpointer amount, gpointer user_data) {
    const struct written *side = user_data;

    if (json_array_size(side->array) == side->levels) {
        return TRUE;
    }
    json_array_append_new(
        side->array, json_pack("{s:s, s:s}", "price", price, "amount", amount));
    return FALSE;
}

json_t *played_book_json(const struct played_book *book, guint levels) {
    json_t *json;

    if (!book->time) {
        return NULL;
    }
    json = json_pack("{s:s}", "time", book->time);
    for (int side = 0; side < SIDES; side++) {
        struct written written = {.array = json_array(), .levels = levels};

        g_tree_foreach(book->sides[side], add_level, &written);
        json_object_set_new(json, side_names[side], written.array);
    }
    return json;
}
