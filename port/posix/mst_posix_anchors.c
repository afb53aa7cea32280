/*
 * Trust stores for the POSIX port: turns PEM files into BearSSL's trust
 * anchors.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L

#include "mst_posix.h"

#ifndef MST_NO_TLS

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the current anchor: its name, then the parts of its key. */
struct anchor_bytes {
    unsigned char *data;
    size_t len, size;
    bool failed; /* out of memory */
};

struct anchor_loader {
    br_pem_decoder_context pem;
    br_x509_decoder_context x509;
    struct anchor_bytes bytes;
    br_x509_trust_anchor *anchors;
    size_t len, size, leaves, skipped;
    size_t read;      /* bytes of the file */
    size_t begun;     /* bytes of anchor_begin that have matched */
    bool may_begin;   /* an object may begin on this line... */
    bool anywhere;    /* ...anywhere: the line belongs to an object */
    bool object;      /* inside an object... */
    bool certificate; /* ...which is a certificate */
    int error;        /* of the last malformed certificate */
    int detail;
};

/* The byte order mark of UTF-8, which some editors add. */
static const char anchor_mark[] = "\xEF\xBB\xBF";

static const char anchor_begin[] = "-----BEGIN ";

/* Bytes of a file; a trust store has about 200,000. */
#define ANCHOR_FILE_MAX (16ul * 1024 * 1024)

static void anchor_append(void *context, const void *data, size_t len) {
    struct anchor_bytes *bytes = context;

    if (bytes->failed || len == 0) {
        return;
    }
    if (len > bytes->size - bytes->len) {
        size_t size = 2 * (bytes->len + len) + 512;
        unsigned char *larger = realloc(bytes->data, size);

        if (larger == NULL) {
            bytes->failed = true;
            return;
        }
        bytes->data = larger;
        bytes->size = size;
    }
    memcpy(bytes->data + bytes->len, data, len);
    bytes->len += len;
}

static void anchor_decode(void *context, const void *data, size_t len) {
    br_x509_decoder_context *x509 = context;
    int code = br_x509_decoder_last_error(x509);

    /* A decoder that has failed must not continue: it would read far outside
     * its input. */
    if (code == 0 || code == BR_ERR_X509_TRUNCATED) {
        br_x509_decoder_push(x509, data, len);
    }
}

/* Makes an anchor of the bytes, which it then owns: the name, then the key. */
static void anchor_fill(struct anchor_loader *loader,
                        br_x509_trust_anchor *anchor, size_t name_len) {
    unsigned char *name = loader->bytes.data;
    unsigned char *key = name + name_len;

    anchor->dn.data = name;
    anchor->dn.len = name_len;
    anchor->flags = br_x509_decoder_isCA(&loader->x509) ? BR_X509_TA_CA : 0;
    anchor->pkey = *br_x509_decoder_get_pkey(&loader->x509);
    if (anchor->pkey.key_type == BR_KEYTYPE_RSA) {
        anchor->pkey.key.rsa.n = key;
        anchor->pkey.key.rsa.e = key + anchor->pkey.key.rsa.nlen;
    } else {
        anchor->pkey.key.ec.q = key;
    }
    memset(&loader->bytes, 0, sizeof loader->bytes);
}

static int anchor_add(struct anchor_loader *loader) {
    const br_x509_pkey *key = br_x509_decoder_get_pkey(&loader->x509);
    size_t name_len = loader->bytes.len;

    if (key->key_type == BR_KEYTYPE_RSA) {
        anchor_append(&loader->bytes, key->key.rsa.n, key->key.rsa.nlen);
        anchor_append(&loader->bytes, key->key.rsa.e, key->key.rsa.elen);
    } else {
        anchor_append(&loader->bytes, key->key.ec.q, key->key.ec.qlen);
    }
    if (loader->len == loader->size) {
        size_t size = 2 * loader->size + 8;
        br_x509_trust_anchor *larger =
            realloc(loader->anchors, size * sizeof *larger);

        if (larger == NULL) {
            return MST_POSIX_ERR_MEMORY;
        }
        loader->anchors = larger;
        loader->size = size;
    }
    if (loader->bytes.failed) {
        return MST_POSIX_ERR_MEMORY;
    }
    anchor_fill(loader, &loader->anchors[loader->len], name_len);
    loader->leaves += loader->anchors[loader->len++].flags == 0;
    return 0;
}

/* Ignores a certificate; the others are still loaded. */
static void anchor_skip(struct anchor_loader *loader, int error) {
    loader->skipped++;
    loader->error = error;
}

/* Returns 0, or an error if there is no memory. */
static int anchor_end(struct anchor_loader *loader) {
    int code = br_x509_decoder_last_error(&loader->x509);

    if (code == 0) {
        return anchor_add(loader);
    }
    loader->detail = code;
    anchor_skip(loader, code == BR_ERR_X509_UNSUPPORTED ||
                                code == BR_ERR_X509_LIMIT_EXCEEDED
                            ? MST_POSIX_ERR_UNUSABLE
                            : MST_POSIX_ERR_CERTIFICATE);
    return 0;
}

/* BearSSL keeps the dashes of a line that ends with CR LF or spaces. */
static bool anchor_is_certificate(const char *name) {
    size_t len = strlen(name);

    while (len > 0 && (name[len - 1] == '-' || name[len - 1] == ' ')) {
        len--;
    }
    return (len == 11 && memcmp(name, "CERTIFICATE", len) == 0) ||
           (len == 16 && memcmp(name, "X509 CERTIFICATE", len) == 0);
}

static int anchor_event(struct anchor_loader *loader) {
    int event = br_pem_decoder_event(&loader->pem);
    bool certificate = loader->certificate;

    if (event == BR_PEM_BEGIN_OBJ) {
        loader->certificate =
            anchor_is_certificate(br_pem_decoder_name(&loader->pem));
        loader->bytes.len = 0;
        br_x509_decoder_init(&loader->x509, anchor_append, &loader->bytes);
        br_pem_decoder_setdest(&loader->pem,
                               loader->certificate ? anchor_decode : NULL,
                               &loader->x509);
    } else if (event != 0) {
        loader->certificate = loader->object = false;
        if (certificate && event == BR_PEM_END_OBJ) {
            return anchor_end(loader);
        }
        if (certificate) {
            anchor_skip(loader, MST_POSIX_ERR_PEM);
        }
    }
    return 0;
}

static int anchor_decode_pem(struct anchor_loader *loader, const char *data,
                             size_t len) {
    int rc = 0;

    while (len > 0) {
        size_t used = br_pem_decoder_push(&loader->pem, data, len);

        data += used;
        len -= used;
        rc = anchor_event(loader);
    }
    return rc;
}

/* Ends an object, even if its last line has no newline. */
static int anchor_finish(struct anchor_loader *loader) {
    int rc = anchor_decode_pem(loader, "\n", 1);

    if (loader->certificate) {
        anchor_skip(loader, MST_POSIX_ERR_PEM);
    }
    loader->certificate = false;
    return rc;
}

/* True if a byte completes the text that begins an object: at the start of a
 * line, or anywhere if the object before it was cut off. */
static bool anchor_begins(struct anchor_loader *loader, char byte) {
    if (byte == '\n') {
        loader->begun = 0;
        loader->may_begin = true;
        loader->anywhere = loader->object;
    } else if (loader->may_begin && byte == anchor_begin[loader->begun]) {
        loader->begun++;
    } else {
        loader->may_begin = loader->anywhere;
        if (byte != '-' || loader->begun != 5) {
            loader->begun = byte == '-';
        }
    }
    return loader->begun == sizeof anchor_begin - 1;
}

/* Each object gets a new decoder: after an error BearSSL's still holds bytes of
 * the damaged object and would put them before those of the next one. */
static int anchor_push(struct anchor_loader *loader, const char *data,
                       size_t len) {
    int rc = 0;

    for (size_t i = 0; i < len && rc == 0; i++) {
        const size_t at = loader->read++;

        if (at < sizeof anchor_mark - 1 && data[i] == anchor_mark[at]) {
            continue;
        }
        if (loader->object) {
            rc = anchor_decode_pem(loader, data + i, 1);
        }
        if (rc == 0 && anchor_begins(loader, data[i])) {
            rc = anchor_finish(loader);
            br_pem_decoder_init(&loader->pem);
            (void)anchor_decode_pem(loader, anchor_begin,
                                    sizeof anchor_begin - 1);
            loader->begun = 0;
            loader->object = loader->anywhere = true;
        }
    }
    return rc;
}

/* Returns 0, or the error that fails the file. */
static int anchor_read(struct anchor_loader *loader, int fd) {
    char piece[4096];
    ssize_t n = 1;
    int rc = 0;

    while (rc == 0 && n != 0) {
        n = read(fd, piece, sizeof piece);
        if ((n < 0 && errno != EINTR) || loader->read > ANCHOR_FILE_MAX) {
            loader->detail = n < 0 ? errno : EFBIG;
            return MST_POSIX_ERR_FILE;
        }
        if (n > 0) {
            rc = anchor_push(loader, piece, (size_t)n);
        }
    }
    return rc == 0 ? anchor_finish(loader) : rc;
}

/* Usual places of a trust store that is one file. */
static const char *const anchor_stores[] = {
    "/etc/ssl/certs/ca-certificates.crt",     /* Debian, Alpine, Arch */
    "/etc/pki/tls/certs/ca-bundle.crt",       /* Fedora, Red Hat */
    "/etc/ssl/ca-bundle.pem",                 /* SUSE */
    "/etc/ssl/cert.pem",                      /* OpenBSD, macOS */
    "/usr/local/share/certs/ca-root-nss.crt", /* FreeBSD */
};

/* Opens the file to read, and notes it in anchors and loader. A FIFO without a
 * writer is empty; one with a writer is read to its end. */
static int anchor_open(struct mst_posix_anchors *anchors,
                       struct anchor_loader *loader, const char *path) {
    bool system;
    size_t i = 0;
    int fd;

    if (path == NULL) {
        const char *variable = getenv("SSL_CERT_FILE");

        path = variable != NULL && *variable != '\0' ? variable : NULL;
    }
    system = path == NULL;
    loader->error = system ? MST_POSIX_ERR_STORE : MST_POSIX_ERR_FILE;
    do {
        anchors->path = system ? anchor_stores[i++] : path;
        fd = open(anchors->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        loader->detail = errno;
    } while (fd < 0 && system &&
             i < sizeof anchor_stores / sizeof *anchor_stores);
    if (fd >= 0) {
        (void)fcntl(fd, F_SETFL, O_RDONLY);
    }
    return fd;
}

static void anchor_free(br_x509_trust_anchor *anchors, size_t len) {
    for (size_t i = 0; i < len; i++) {
        free(anchors[i].dn.data); /* the key is in the same block */
    }
    free(anchors);
}

int mst_posix_anchors_load(struct mst_posix_anchors *anchors,
                           const char *path) {
    struct anchor_loader loader;
    int fd, rc;

    memset(anchors, 0, sizeof *anchors);
    memset(&loader, 0, sizeof loader);
    br_pem_decoder_init(&loader.pem);
    loader.may_begin = true;
    fd = anchor_open(anchors, &loader, path);
    rc = loader.error;
    if (fd >= 0) {
        loader.detail = 0;
        loader.error = MST_POSIX_ERR_EMPTY;
        rc = anchor_read(&loader, fd);
        close(fd);
        rc = rc == 0 && loader.len == 0 ? loader.error : rc;
    }
    free(loader.bytes.data);
    anchors->leaves = loader.leaves;
    anchors->skipped = loader.skipped;
    anchors->detail = loader.detail;
    if (rc != 0) {
        anchor_free(loader.anchors, loader.len);
        return rc;
    }
    anchors->anchors = loader.anchors;
    anchors->len = loader.len;
    return 0;
}

void mst_posix_anchors_free(struct mst_posix_anchors *anchors) {
    anchor_free((br_x509_trust_anchor *)anchors->anchors, anchors->len);
    anchors->anchors = NULL;
    anchors->len = 0;
}

#endif
