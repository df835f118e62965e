/* SPDX-License-Identifier: Apache-2.0 */

/* Where the output of a command goes: standard output, or a file that appears complete or not at
 * all, compressed where its name ends with .gz. For one thread.
 *
 *     scoped(sink_done) struct sink s = {0};
 *     scoped(text_done) struct text t = {0};
 *     r = sink_open(&s, path, &t);
 *     ... render into t ...
 *     r = sink_commit(&s, &t);
 */
#pragma once

#include "base/text.h"

#include <stdio.h>
#include <zlib.h>

struct sink {
	FILE *file;
	gzFile gz;
	char *path; /* owned; NULL for standard output */
	char *temporary;
};

/* `path` NULL or "-" is standard output. Sets up `t` to be flushed there; `s` must not move. 0 or a
 * negative errno. */
int sink_open(struct sink *s, const char *path, struct text *t);

/* Flushes, and gives the file its name. 0 or a negative errno. */
int sink_commit(struct sink *s, struct text *t);

/* Removes what was not committed. */
void sink_done(struct sink *s);

/* A folder that appears complete or not at all: a new one beside `path`, which must not exist or be
 * empty, else -EEXIST; *ret is owned by the caller. */
int sink_folder_begin(const char *path, char **ret);

/* Gives the folder its name; or removes it with all files in it. `temporary` may be NULL. */
int sink_folder_commit(const char *temporary, const char *path);
void sink_folder_remove(const char *temporary);
