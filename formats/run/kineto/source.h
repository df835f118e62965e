/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the bytes of a file: plain, or compressed with gzip or zstd, which it detects by the first
 * bytes. Supports pipes. One thread. */
#pragma once

#include "formats/trace/error.h"

#include <stddef.h>
#include <sys/types.h>

struct kineto_source;

/* Opens `path`; "-" is standard input. The caller closes *ret with kineto_source_close(). -EBADMSG
 * for an empty file, else as open(2) and read(2). */
int kineto_source_open(const char *path, struct kineto_source **ret, struct fmt_error *err);
void kineto_source_close(struct kineto_source *s);

/* Fills `buf`; returns fewer than `n` bytes only at the end. -EBADMSG: the compressed data is
 * damaged or truncated; the offset is then that in the compressed file. */
ssize_t kineto_source_read(struct kineto_source *s, void *buf, size_t n, struct fmt_error *err);

/* Returns the number of bytes read from the file. */
uint64_t kineto_source_done(const struct kineto_source *s);
