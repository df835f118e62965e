/* SPDX-License-Identifier: Apache-2.0 */

/* The output of a command: standard output; a regular file, which is written atomically and
 * compressed if its name ends with .gz; or a device or pipe, which is written directly. For one
 * thread.
 *
 *     scoped(sink_done) struct sink s = {0};
 *     scoped(text_done) struct text t = {0};
 *     r = sink_open(&s, path, &t);
 *     ... render into t ...
 *     r = sink_commit(&s, &t);
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

struct sink {
	FILE *file;
	gzFile gz;
	char *path;	 /* owned; NULL: standard output, a device or a pipe */
	char *temporary; /* name of the unfinished file */
	int unnamed;	 /* 1: the file has no name yet, so that it vanishes even after kill -9 */
};

/* Returns true if `path` is a device or a pipe, or the same file as standard output. */
bool sink_is_stream(const char *path);

/* Opens `path`; NULL or "-" is standard output. Replaces a regular file; follows a link. Makes `t`
 * flush to the output, which fails with -EINTR after a signal that output.h recorded. `s` must not
 * move. Returns 0 or a negative errno. */
int sink_open(struct sink *s, const char *path, struct text *t);

/* Flushes, and renames the file. Returns 0 or a negative errno. */
int sink_commit(struct sink *s, struct text *t);

/* Removes the file if it was not committed. */
void sink_done(struct sink *s);
