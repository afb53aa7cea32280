/* The gateway's INI file. SPDX-License-Identifier: 0BSD */
#ifndef CONFIG_H
#define CONFIG_H

#include "options.h"
#include "publish.h"

struct config {
    struct options options;        /* of the run */
    struct publish_config publish; /* which borrows from what follows */
    struct secret password;
    /* Values of the file and arguments made of it, in order of their coming. */
    GPtrArray *texts, *arguments;
};

/* Reads the file. Ends the program with a line on standard error where it is
 * not right. */
void config_read(struct config *config, const char *path);
void config_free(struct config *config);

#endif
