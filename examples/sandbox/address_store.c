/* Address records in SQLite. SPDX-License-Identifier: 0BSD */
#include "address_store.h"

#include "feed.h"
#include "state.h"
#include "writer.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <sqlite3.h>
#include <unistd.h>

#define BUSY_MS 5000 /* to wait for another process */

/* Times and the travel rule's JSON are stored as text. */
static const char schema[] = "CREATE TABLE IF NOT EXISTS address ("
                             " id TEXT PRIMARY KEY,"
                             " client TEXT NOT NULL,"
                             " crypto_network TEXT NOT NULL,"
                             " address TEXT NOT NULL,"
                             " nickname TEXT NOT NULL,"
                             " status TEXT NOT NULL,"
                             " created_at TEXT NOT NULL,"
                             " bookmarked INTEGER NOT NULL,"
                             " travelrule_metadata TEXT,"
                             " UNIQUE (client, crypto_network, address))";

/* An absent value is NULL and leaves its column unchanged. */
#define CHANGES                                        \
    " SET nickname = coalesce(:nickname, nickname),"   \
    " bookmarked = coalesce(:bookmarked, bookmarked)," \
    " travelrule_metadata = coalesce(:travelrule, travelrule_metadata)"
#define COLUMNS \
    " id, crypto_network, address, nickname, status, created_at, bookmarked"
#define RECORD " RETURNING" COLUMNS

static const char put_by_address[] =
    "INSERT INTO address VALUES (:id, :client, :network, :address,"
    " coalesce(:nickname, 'Address ' ||"
    " (SELECT count(*) + 1 FROM address WHERE client = :client)),"
    " :status, :created_at, coalesce(:bookmarked, 0), :travelrule)"
    " ON CONFLICT (client, crypto_network, address) DO UPDATE" CHANGES RECORD;

static const char put_by_id[] =
    "UPDATE address" CHANGES " WHERE id = :id AND client = :client" RECORD;

static const char list[] =
    "SELECT" COLUMNS ", client FROM address ORDER BY rowid DESC LIMIT :limit";

struct address_store {
    sqlite3 *database;
    const char *status;
};

static bool succeeded(const struct address_store *store, int rc,
                      GError **error) {
    int kind = rc & 0xff; /* without the extension */

    if (kind == SQLITE_FULL || kind == SQLITE_IOERR ||
        kind == SQLITE_CANTOPEN) {
        int number = 0;

        sqlite3_file_control(store->database, "main", SQLITE_FCNTL_LAST_ERRNO,
                             &number);
        return state_failed(error, "addresses.db",
                            number != 0 ? g_strerror(number)
                                        : sqlite3_errmsg(store->database));
    }
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "addresses.db: %s",
                    sqlite3_errmsg(store->database));
        return false;
    }
    return true;
}

struct address_store *address_store_open(const char *directory,
                                         const char *status, GError **error) {
    struct address_store *store = g_new0(struct address_store, 1);
    g_autofree char *path = g_build_filename(directory, "addresses.db", NULL);
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok;

    if (fd >= 0) { /* SQLite would open it to others */
        close(fd);
    }
    ok = succeeded(store, sqlite3_open(path, &store->database), error);
    store->status = status;
    if (ok) {
        sqlite3_busy_timeout(store->database, BUSY_MS);
        ok = succeeded(store,
                       sqlite3_exec(store->database, schema, NULL, NULL, NULL),
                       error);
    }
    if (!ok) {
        g_clear_pointer(&store, address_store_close);
    }
    return store;
}

void address_store_close(struct address_store *store) {
    sqlite3_close(store->database);
    g_free(store);
}

/* Binds a text or NULL that outlives the statement, if it has the parameter. */
static void bind(sqlite3_stmt *statement, const char *name, const char *text) {
    int index = sqlite3_bind_parameter_index(statement, name);

    if (index > 0) {
        sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
    }
}

static const char *column(sqlite3_stmt *statement, int index) {
    return (const char *)sqlite3_column_text(statement, index);
}

static json_t *record_json(sqlite3_stmt *statement) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "id",
                     column(statement, 0), "crypto_network",
                     column(statement, 1), "address", column(statement, 2),
                     "nickname", column(statement, 3), "status",
                     column(statement, 4), "created_at", column(statement, 5),
                     "bookmarked", sqlite3_column_int(statement, 6));
}

/* Runs and finalizes the statement. A record it returns is committed. */
static json_t *run(const struct address_store *store, sqlite3_stmt *statement,
                   GError **error) {
    json_t *record = NULL;
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW) {
        record = record_json(statement);
        rc = sqlite3_step(statement);
    }
    if (!succeeded(store, rc, error)) {
        g_clear_pointer(&record, json_decref);
    }
    sqlite3_finalize(statement);
    return record;
}

json_t *address_store_put(struct address_store *store, const char *client,
                          const struct address_request *request,
                          GError **error) {
    json_auto_t *now = writer_time(&writer_plain, feed_now_ns(), 3);
    g_autofree char *id =
        request->id ? g_ascii_strdown(request->id, -1) : g_uuid_string_random();
    g_autofree char *travelrule =
        request->travelrule ? json_dumps(request->travelrule, JSON_COMPACT)
                            : NULL;
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(store->database,
                                request->id ? put_by_id : put_by_address, -1,
                                &statement, NULL);

    if (!succeeded(store, rc, error)) {
        return NULL;
    }
    bind(statement, ":id", id);
    bind(statement, ":client", client);
    bind(statement, ":network", request->network);
    bind(statement, ":address", request->address);
    bind(statement, ":nickname", request->nickname);
    bind(statement, ":status", store->status);
    bind(statement, ":created_at", json_string_value(now));
    bind(statement, ":travelrule", travelrule);
    if (request->bookmarked) {
        sqlite3_bind_int(statement,
                         sqlite3_bind_parameter_index(statement, ":bookmarked"),
                         json_is_true(request->bookmarked));
    }
    return run(store, statement, error);
}

json_t *address_store_list(const struct address_store *store, int limit) {
    json_t *records = json_array();
    sqlite3_stmt *statement;
    int rc;

    /* Fail instead of delaying all streams until another process commits. */
    sqlite3_busy_timeout(store->database, 0);
    rc = sqlite3_prepare_v2(store->database, list, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int(statement, 1, limit);
        while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
            json_t *record = record_json(statement);

            json_object_set_new(record, "client",
                                json_string(column(statement, 7)));
            json_array_append_new(records, record);
        }
    }
    sqlite3_finalize(statement);
    sqlite3_busy_timeout(store->database, BUSY_MS);
    if (rc != SQLITE_DONE) {
        g_clear_pointer(&records, json_decref);
    }
    return records;
}
