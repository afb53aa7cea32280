/*
 * TLS for a peer of the mock port: see tls_peer.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "tls_peer.h"

#include "support.h"

/* ---- certificates ---- */

char tls_folder[64];

bool tls_make_certificates(const char *names) {
    /* Only "openssl ca" accepts both ends of the validity. */
    static const char script[] =
        "cd \"$0\" && exec 2>log && names=$1\n"
        "cat >conf <<END\n"
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\n"
        "rand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\n"
        "[p]\ncommonName=supplied\n[req]\ndistinguished_name=n\n[n]\n"
        "[root]\nbasicConstraints=critical,CA:true\n"
        "[leaf]\nsubjectAltName=\\${ENV::NAMES}\n"
        "[nameless]\nbasicConstraints=CA:false\n"
        "[unsigning]\nsubjectAltName=\\${ENV::NAMES}\n"
        "keyUsage=keyAgreement\n"
        "[client]\nsubjectAltName=\\${ENV::NAMES}\n"
        "extendedKeyUsage=clientAuth\n"
        "END\n"
        "export NAMES=DNS:none && : >index\n"
        "key() { openssl ecparam -genkey -name prime256v1 -noout -out \"$1\"; "
        "}\n"
        "request() {\n"
        "  openssl req -new -config conf -key \"$1\" -subj \"/CN=$2\" -out "
        "csr\n"
        "}\n"
        "sign() { openssl ca -batch -config conf -notext -in csr \"$@\"; }\n"
        "root() {\n"
        "  key $1.key && request $1.key \"Test $1\" && sign -selfsign \\\n"
        "    -keyfile $1.key -extensions root -startdate 20200101000000Z \\\n"
        "    -enddate 20400101000000Z -out $1.pem\n"
        "}\n"
        "leaf() {\n"
        "  key $1.key && request $1.key $1 && NAMES=$3 sign -cert $2.pem \\\n"
        "    -keyfile $2.key -extensions ${6:-leaf} -out $1.pem \\\n"
        "    -startdate ${4}0101000000Z -enddate ${5}0101000000Z\n"
        "}\n"
        "root ca && root other && leaf localhost ca $names 2020 2040 &&\n"
        "leaf wrong ca DNS:wrong.example 2020 2040 &&\n"
        "leaf expired ca $names 2020 2021 &&\n"
        "leaf early ca $names 2039 2040 &&\n"
        "for name in nameless unsigning client; do\n"
        "  leaf $name ca $names 2020 2040 $name || exit\n"
        "done && leaf unknown other $names 2020 2040\n";
    char command[sizeof script + 512];

    snprintf(tls_folder, sizeof tls_folder, "%s/mst-tls-XXXXXX", temporary());
    if (mkdtemp(tls_folder) == NULL) {
        return false;
    }
    snprintf(command, sizeof command, "sh -c '%s' %s %s >/dev/null", script,
             tls_folder, names);
    return system(command) == 0;
}

int tls_remove_certificates(void **state) {
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf -- '%s'", tls_folder);
    return system(command);
}

/* The objects of a PEM file, one after the other in out. */
struct pem {
    unsigned char *out;
    size_t room, len;
};

static void pem_put(void *context, const void *data, size_t len) {
    struct pem *pem = context;

    if (len <= pem->room - pem->len) {
        memcpy(pem->out + pem->len, data, len);
        pem->len += len;
    }
}

/* Reads the first object of a PEM file; returns its length, or 0. */
static size_t pem_read(const char *name, const char *suffix, unsigned char *out,
                       size_t room) {
    char path[160], text[8192];
    struct pem pem = {out, room, 0};
    br_pem_decoder_context decoder;

    snprintf(path, sizeof path, "%s/%s.%s", tls_folder, name, suffix);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    size_t len = fread(text, 1, sizeof text, file), at = 0;
    fclose(file);
    br_pem_decoder_init(&decoder);
    while (at < len) {
        at += br_pem_decoder_push(&decoder, text + at, len - at);
        int event = br_pem_decoder_event(&decoder);
        if (event == BR_PEM_BEGIN_OBJ) {
            br_pem_decoder_setdest(&decoder, pem_put, &pem);
        } else if (event == BR_PEM_END_OBJ) {
            return pem.len;
        } else if (event == BR_PEM_ERROR) {
            return 0;
        }
    }
    return 0;
}

bool tls_identity_load(struct tls_identity *identity, const char *name) {
    memset(identity, 0, sizeof *identity);
    identity->chain[0].data = identity->der[0];
    identity->chain[0].data_len =
        pem_read(name, "pem", identity->der[0], sizeof identity->der[0]);
    identity->chain_len = 1;
    size_t len =
        pem_read(name, "key", identity->key_der, sizeof identity->key_der);
    br_skey_decoder_init(&identity->key);
    br_skey_decoder_push(&identity->key, identity->key_der, len);
    return identity->chain[0].data_len > 0 && len > 0 &&
           br_skey_decoder_get_ec(&identity->key) != NULL;
}

bool tls_anchor_load(struct tls_anchor *anchor, const char *name) {
    unsigned char der[TLS_PEER_CERTIFICATE];
    struct pem subject = {anchor->name, sizeof anchor->name, 0};
    br_x509_decoder_context decoder;
    size_t len = pem_read(name, "pem", der, sizeof der);

    br_x509_decoder_init(&decoder, pem_put, &subject);
    br_x509_decoder_push(&decoder, der, len);
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&decoder);
    if (key == NULL || key->key_type != BR_KEYTYPE_EC ||
        key->key.ec.qlen > sizeof anchor->point) {
        return false;
    }
    memcpy(anchor->point, key->key.ec.q, key->key.ec.qlen);
    anchor->anchor.dn.data = anchor->name;
    anchor->anchor.dn.len = subject.len;
    anchor->anchor.flags = br_x509_decoder_isCA(&decoder) ? BR_X509_TA_CA : 0;
    anchor->anchor.pkey.key_type = BR_KEYTYPE_EC;
    anchor->anchor.pkey.key.ec = key->key.ec;
    anchor->anchor.pkey.key.ec.q = anchor->point;
    return true;
}

/* ---- the peer ---- */

/* Gives the engine plaintext. Returns true if it took any. */
static bool link_put(struct tls_peer_link *l, br_ssl_engine_context *engine) {
    size_t len;

    if (l->pending_len == 0) {
        return false;
    }
    unsigned char *room = br_ssl_engine_sendapp_buf(engine, &len);
    if (room == NULL || len == 0) {
        return false;
    }
    if (len > l->pending_len) {
        len = l->pending_len;
    }
    memcpy(room, l->pending, len);
    br_ssl_engine_sendapp_ack(engine, len);
    l->pending_len -= len;
    memmove(l->pending, l->pending + len, l->pending_len);
    br_ssl_engine_flush(engine, 0);
    return true;
}

/* Moves data in both directions, as long as possible. */
static void link_pump(struct tls_peer *peer, int link) {
    struct tls_peer_link *l = &peer->links[link];
    br_ssl_engine_context *engine = &l->server.eng;
    bool moved = true;

    while (moved && l->open) {
        moved = false;
        size_t len;
        unsigned char *data = br_ssl_engine_sendrec_buf(engine, &len);
        if (data != NULL && !peer->silent && !l->stalled) {
            len = mst_mock_write(peer->mock, link, data, len);
            if (len > 0) {
                br_ssl_engine_sendrec_ack(engine, len);
            }
            moved = len > 0;
        }
        data = br_ssl_engine_recvapp_buf(engine, &len);
        if (data != NULL) {
            unsigned char piece[1024];
            if (len > sizeof piece) {
                len = sizeof piece;
            }
            memcpy(piece, data, len);
            br_ssl_engine_recvapp_ack(engine, len);
            peer->inner.received(peer->inner.context, link, piece, len);
            moved = true;
        }
        moved = link_put(l, engine) || moved;
        if (l->ending && l->pending_len == 0) {
            l->ending = false;
            if (!peer->truncate) {
                br_ssl_engine_close(engine);
            }
            moved = true;
        }
    }
    unsigned state = br_ssl_engine_current_state(engine);
    if (l->open && state == BR_SSL_CLOSED) {
        mst_mock_end(peer->mock, link, l->end != 0 ? l->end : MST_ERR_EOF);
    } else if (l->open && l->end != 0 && !l->ending &&
               (state & BR_SSL_SENDREC) == 0) {
        mst_mock_end(peer->mock, link, l->end);
    }
}

/* ---- sessions ---- */

static struct tls_peer *
peer_of_cache(const br_ssl_session_cache_class **cache) {
    return (struct tls_peer *)(void *)((char *)cache -
                                       offsetof(struct tls_peer, cache));
}

static struct tls_peer_link *
link_of_server(struct tls_peer *peer, const br_ssl_server_context *server) {
    return &peer->links[server == &peer->links[0].server ? 0 : 1];
}

/* Stores the session of a completed full handshake. */
static void session_save(const br_ssl_session_cache_class **cache,
                         br_ssl_server_context *server,
                         const br_ssl_session_parameters *parameters) {
    struct tls_peer *peer = peer_of_cache(cache);
    struct tls_session *session =
        &peer->sessions[peer->full++ % TLS_PEER_SESSIONS];

    memcpy(session->host, link_of_server(peer, server)->host,
           sizeof session->host);
    session->parameters = *parameters;
}

/* The client offers a session. Returns 1 if it is resumed. */
static int session_load(const br_ssl_session_cache_class **cache,
                        br_ssl_server_context *server,
                        br_ssl_session_parameters *parameters) {
    struct tls_peer *peer = peer_of_cache(cache);
    struct tls_peer_link *l = link_of_server(peer, server);

    peer->offered++;
    l->reset = peer->offer == TLS_RESETS;
    l->stalled = peer->offer == TLS_STALLS;
    for (size_t i = 0; i < TLS_PEER_SESSIONS; i++) {
        const struct tls_session *session = &peer->sessions[i];
        if (memcmp(session->parameters.session_id, parameters->session_id,
                   sizeof parameters->session_id) == 0) {
            peer->foreign += strcmp(session->host, l->host) != 0;
            *parameters = session->parameters;
            parameters->master_secret[0] ^= peer->offer == TLS_SPOILS;
            return peer->offer != TLS_FORGETS;
        }
    }
    return 0;
}

static const br_ssl_session_cache_class cache_class = {
    sizeof(struct tls_peer), session_save, session_load};

static void tls_opened(void *context, int link,
                       const struct mst_endpoint *endpoint) {
    struct tls_peer *peer = context;
    struct tls_peer_link *l = &peer->links[link];
    const struct tls_identity *id = peer->identity;
    br_ssl_server_context *server = &l->server;
    unsigned char seed[32];

    l->pending_len = 0;
    l->open = true;
    l->ending = false;
    l->end = 0;
    l->stalled = l->reset = false;
    memcpy(l->host, endpoint->host, sizeof l->host);
    peer->handshakes++;
    br_ssl_server_init_full_ec(server, id->chain, id->chain_len, BR_KEYTYPE_EC,
                               &id->key.key.ec);
    br_ssl_engine_set_versions(&server->eng, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_buffer(&server->eng, l->buffer, sizeof l->buffer, 1);
    mst_mock_random(peer->mock, seed, sizeof seed);
    br_ssl_engine_inject_entropy(&server->eng, seed, sizeof seed);
    br_ssl_server_set_cache(server, &peer->cache);
    br_ssl_server_reset(server);
    peer->inner.opened(peer->inner.context, link, endpoint);
}

static void tls_received(void *context, int link, const void *data,
                         size_t len) {
    struct tls_peer *peer = context;
    br_ssl_engine_context *engine = &peer->links[link].server.eng;
    const unsigned char *from = data;

    while (len > 0) {
        size_t room;
        unsigned char *to = br_ssl_engine_recvrec_buf(engine, &room);
        if (to == NULL) {
            break;
        }
        if (room > len) {
            room = len;
        }
        memcpy(to, from, room);
        br_ssl_engine_recvrec_ack(engine, room);
        from += room;
        len -= room;
        if (peer->links[link].reset) {
            mst_mock_end(peer->mock, link, MST_ERR_RESET);
            return;
        }
        link_pump(peer, link);
    }
}

static void tls_closed(void *context, int link) {
    struct tls_peer *peer = context;

    peer->links[link].open = false;
    peer->inner.closed(peer->inner.context, link);
}

static void tls_drained(void *context, int link) {
    link_pump(context, link);
}

static void tls_tick(void *context, uint64_t now_ms) {
    struct tls_peer *peer = context;

    peer->inner.tick(peer->inner.context, now_ms);
}

size_t tls_peer_write(void *context, int link, const void *data, size_t len) {
    struct tls_peer *peer = context;
    struct tls_peer_link *l = &peer->links[link];
    size_t room = sizeof l->pending - l->pending_len;

    if (!l->open || l->end != 0) {
        return 0;
    }
    if (len > room) {
        len = room;
    }
    memcpy(l->pending + l->pending_len, data, len);
    l->pending_len += len;
    link_pump(peer, link);
    return len;
}

void tls_peer_end(void *context, int link, int error) {
    struct tls_peer *peer = context;
    struct tls_peer_link *l = &peer->links[link];

    if (!l->open || l->end != 0) {
        return;
    }
    l->end = error;
    l->ending = true;
    link_pump(peer, link);
}

void tls_peer_init(struct tls_peer *peer, struct mst_mock *mock,
                   const struct tls_identity *identity) {
    memset(peer, 0, sizeof *peer);
    peer->mock = mock;
    peer->identity = identity;
    peer->cache = &cache_class;
    peer->inner = mock->peer;
    mock->peer = (struct mst_mock_peer){peer,
                                        .opened = tls_opened,
                                        .received = tls_received,
                                        .closed = tls_closed,
                                        .drained = tls_drained,
                                        .tick = tls_tick};
}
