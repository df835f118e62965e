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
	char *path;	 /* owned; NULL for standard output */
	char *temporary; /* a name beside it */
	int unnamed;	 /* the file has no name yet: nothing is left behind even by kill -9 */
};

/* `path` NULL or "-" is standard output; a file that is there is replaced. Sets up `t` to be
 * flushed there, which fails with -EINTR after a signal that place.h keeps; `s` must not move. 0 or
 * a negative errno. */
int sink_open(struct sink *s, const char *path, struct text *t);

/* Flushes, and gives the file its name. 0 or a negative errno. */
int sink_commit(struct sink *s, struct text *t);

/* Removes what was not committed. */
void sink_done(struct sink *s);
