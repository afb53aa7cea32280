/* Connection options, streams and buckets. SPDX-License-Identifier: 0BSD */
#include <stdio.h>
#include <string.h>

#include "broker_private.h"
#include "text.h"

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define DAY_NS (86400 * NS_PER_S)
#define MB INT64_C(1000000)

/* The third word of a subject is the market, or the gateway. */
static const struct stream {
    const char *word; /* the second one of its subjects */
    int64_t age_ns;   /* older messages are dropped */
    int64_t each;     /* messages kept per subject, or -1 for all */
    int64_t mb;       /* size, or 0: as configured */
} streams[BROKER_STREAMS] = {
    [BROKER_BOOK] = {"book", 600 * NS_PER_S, 100000, 1000},
    [BROKER_TOP] = {"top", DAY_NS, 1, 100},
    [BROKER_EXECUTION] = {"execution", 7 * DAY_NS, -1, 0},
    [BROKER_NOTE] = {"note", 7 * DAY_NS, -1, 100},
};

const char *broker_why(natsStatus status, char why[BROKER_WHY_LEN]) {
    natsStatus last_status;
    const char *last = nats_GetLastError(&last_status);
    const char *text = natsStatus_GetText(status);
    g_autofree char *whole = last && last[0] != '\0' && last_status == status &&
                                     strcmp(last, text) != 0
                                 ? g_strdup_printf("%s: %s", text, last)
                                 : g_strdup(text);

    text_clean(whole, why, BROKER_WHY_LEN);
    return why;
}

natsOptions *broker_options(const struct broker_config *config,
                            natsErrHandler error, void *context,
                            char why[BROKER_WHY_LEN]) {
    natsOptions *options = NULL;
    char inbox[sizeof BROKER_INBOX + SUBJECT_PREFIX_MAX];
    g_auto(GStrv) servers = g_strsplit(config->url, ",", 0);
    natsStatus status = natsOptions_Create(&options);

    snprintf(inbox, sizeof inbox, BROKER_INBOX "%s", config->prefix);
#define TRY(call) status = status == NATS_OK ? (call) : status
    TRY(natsOptions_SetServers(options, (const char **)servers,
                               (int)g_strv_length(servers)));
    TRY(natsOptions_SetName(options, config->gateway));
    TRY(natsOptions_SetCustomInboxPrefix(options, inbox));
    TRY(natsOptions_SetTimeout(options, 2000));
    /* Not by a thread of the library: the loop sends all queued data. */
    TRY(natsOptions_SetSendAsap(options, true));
    TRY(natsOptions_SetPingInterval(options, 5000));
    TRY(natsOptions_SetMaxPingsOut(options, 2));
    TRY(natsOptions_SetAllowReconnect(options, false));
    TRY(natsOptions_SetErrorHandler(options, error, context));
    if (config->user) {
        TRY(natsOptions_SetUserInfo(options, config->user, config->password));
    }
    if (config->nkey) {
        TRY(natsOptions_SetNKeyFromSeed(options, config->nkey, config->seed));
    }
    if (config->credentials) {
        TRY(natsOptions_SetUserCredentialsFromFiles(options,
                                                    config->credentials, NULL));
    }
    if (config->tls) {
        TRY(natsOptions_SetSecure(options, true));
    }
    if (config->ca) {
        TRY(natsOptions_LoadCATrustedCertificates(options, config->ca));
    }
    if (config->certificate) {
        TRY(natsOptions_LoadCertificatesChain(options, config->certificate,
                                              config->key));
    }
#undef TRY
    if (status != NATS_OK) {
        broker_why(status, why);
        natsOptions_Destroy(options);
        return NULL;
    }
    return options;
}

/* Adds a name to those of what was created. */
static void setup_made(struct broker *broker, char why[BROKER_WHY_LEN],
                       const char *name) {
    broker->made = true;
    g_strlcat(why, why[0] ? ", " : "", BROKER_WHY_LEN);
    g_strlcat(why, name, BROKER_WHY_LEN);
}

/* Creates a stream, or checks the existing one. */
static bool setup_stream(struct broker *broker, const struct stream *stream,
                         char why[BROKER_WHY_LEN]) {
    const struct broker_config *config = &broker->config;
    char subject[SUBJECT_LEN], name[SUBJECT_LEN], reason[BROKER_WHY_LEN];
    const char *subjects[] = {subject};
    jsStreamConfig wanted;
    jsStreamInfo *info = NULL;
    jsErrCode error = 0;
    natsStatus status;
    bool good = false;

    snprintf(subject, sizeof subject, "%s.%s.*", config->prefix, stream->word);
    snprintf(name, sizeof name, "%s_%s", config->prefix, stream->word);
    jsStreamConfig_Init(&wanted);
    wanted.Name = name;
    wanted.Subjects = subjects;
    wanted.SubjectsLen = 1;
    wanted.MaxAge = stream->age_ns;
    wanted.MaxMsgsPerSubject = stream->each;
    wanted.MaxBytes = (stream->mb ? stream->mb : config->store_mb) * MB;
    wanted.Storage = js_FileStorage;
    wanted.Discard = js_DiscardOld;
    /* The broker allows no longer time than messages are kept. */
    wanted.Duplicates = MIN(config->duplicates_s * NS_PER_S, stream->age_ns);
    wanted.AllowDirect = true;
    status = js_GetStreamInfo(&info, broker->js, name, NULL, &error);
    if (status == NATS_NOT_FOUND) {
        status = js_AddStream(&info, broker->js, &wanted, NULL, &error);
        setup_made(broker, why, name);
    }
    if (status != NATS_OK) {
        broker_why(status, reason);
        snprintf(why, BROKER_WHY_LEN, "%s: %.200s (%d)", name, reason,
                 (int)error);
    } else if (info->Config->Duplicates < wanted.Duplicates) {
        snprintf(why, BROKER_WHY_LEN,
                 "%s remembers messages for only %d s, the configuration says "
                 "%u s",
                 name, (int)(info->Config->Duplicates / NS_PER_S),
                 config->duplicates_s);
    } else if (!info->Config->AllowDirect) {
        snprintf(why, BROKER_WHY_LEN, "%s does not allow direct access", name);
    } else {
        good = true;
    }
    jsStreamInfo_Destroy(info);
    return good;
}

/* Opens a bucket, again if it is open, or creates it. */
static bool setup_bucket(struct broker *broker, const char *word,
                         int64_t ttl_ns, kvStore **store,
                         char why[BROKER_WHY_LEN]) {
    char name[SUBJECT_LEN], reason[BROKER_WHY_LEN];
    kvConfig wanted;
    natsStatus status;

    kvStore_Destroy(*store);
    *store = NULL;
    snprintf(name, sizeof name, "%s_%s", broker->config.prefix, word);
    kvConfig_Init(&wanted);
    wanted.Bucket = name;
    wanted.History = 1;
    wanted.TTL = ttl_ns;
    wanted.StorageType = js_FileStorage;
    status = js_KeyValue(store, broker->js, name);
    if (status == NATS_NOT_FOUND) {
        status = js_CreateKeyValue(store, broker->js, &wanted);
        setup_made(broker, why, name);
    }
    if (status != NATS_OK) {
        broker_why(status, reason);
        snprintf(why, BROKER_WHY_LEN, "bucket %s: %.200s", name, reason);
    }
    return status == NATS_OK;
}

bool broker_setup_epoch(struct broker *broker, char why[BROKER_WHY_LEN]) {
    const struct broker_config *config = &broker->config;
    char name[SUBJECT_LEN];
    jsStreamInfo *info = NULL;
    natsStatus status;
    bool good = false;

    snprintf(name, sizeof name, "KV_%s_lease", config->prefix);
    status = js_GetStreamInfo(&info, broker->js, name, NULL, NULL);

    if (status != NATS_OK) {
        snprintf(why, BROKER_WHY_LEN, "%s: %s", name,
                 natsStatus_GetText(status));
    } else if (info->Config->MaxAge != (int64_t)config->lease_ms * NS_PER_MS) {
        snprintf(why, BROKER_WHY_LEN,
                 "a lease lasts %d ms there, the configuration says %u ms: "
                 "give all gateways the same, or delete the bucket %s_lease",
                 (int)(info->Config->MaxAge / NS_PER_MS), config->lease_ms,
                 config->prefix);
    } else {
        broker->epoch_base = (uint64_t)(info->Created / NS_PER_MS);
        good = true;
    }
    jsStreamInfo_Destroy(info);
    return good;
}

bool broker_setup(struct broker *broker, char why[BROKER_WHY_LEN]) {
    const int64_t lease_ns = broker->config.lease_ms * NS_PER_MS;
    kvStore *last = NULL;
    bool good = true;

    for (int i = 0; good && i < BROKER_STREAMS; ++i) {
        good = setup_stream(broker, &streams[i], why);
    }
    good = good &&
           setup_bucket(broker, "lease", lease_ns, &broker->lease, why) &&
           setup_bucket(broker, "gateways", 0, &broker->gateways, why) &&
           setup_bucket(broker, "last", 0, &last, why);
    kvStore_Destroy(last);
    return good && broker_setup_epoch(broker, why);
}
