/* SPDX-License-Identifier: Apache-2.0 */

/* The output of a command: standard output; a regular file, which appears complete or not at all
 * and is compressed if its name ends with .gz; or a device or pipe, which is written to directly.
 * For one thread.
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
	char *path;	 /* owned; NULL for standard output, devices and pipes */
	char *temporary; /* name of the unfinished file */
	int unnamed; /* 1: the file has no name yet, so that even kill -9 leaves nothing behind */
};

/* Whether `path` is a device or a pipe, or the file that standard output goes to. */
bool sink_is_stream(const char *path);

/* Opens `path`; NULL or "-" is standard output. A regular file is replaced; through a link, the
 * file that it leads to. Sets up `t` to be flushed there, which fails with -EINTR after a signal
 * that output.h recorded. `s` must not move. 0 or a negative errno. */
int sink_open(struct sink *s, const char *path, struct text *t);

/* Flushes, and renames the file. 0 or a negative errno. */
int sink_commit(struct sink *s, struct text *t);

/* Removes the file if it was not committed. */
void sink_done(struct sink *s);
