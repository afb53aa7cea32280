/* The gateway's INI file. SPDX-License-Identifier: 0BSD */
#ifndef CONFIG_H
#define CONFIG_H

#include "options.h"
#include "publish.h"

struct config {
    struct options options;        /* of the stream */
    struct publish_config publish; /* borrows from the next members */
    struct secret password;
    /* Values of the file, and arguments made from them, in order. */
    GPtrArray *texts, *arguments;
};

/* Reads the file. If it is invalid, prints the reason and ends the program. */
void config_read(struct config *config, const char *path);
void config_free(struct config *config);

#endif
