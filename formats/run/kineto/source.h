/* SPDX-License-Identifier: Apache-2.0 */

/* The bytes of a file: plain, or unpacked from gzip or zstd, which are detected by their first
 * bytes. Pipes are supported. One thread. */
#pragma once

#include "formats/trace/error.h"

#include <stddef.h>
#include <sys/types.h>

struct kineto_source;

/* Opens `path`; "-" is standard input. The caller ends *ret with kineto_source_close(). -EBADMSG
 * for an empty file, else as open(2) and read(2). */
int kineto_source_open(const char *path, struct kineto_source **ret, struct fmt_error *err);
void kineto_source_close(struct kineto_source *s);

/* Fills `buf` as far as there are bytes: fewer than `n` at the end only. -EBADMSG where the packing
 * is damaged or cut short; the offset is then in the packed file. */
ssize_t kineto_source_read(struct kineto_source *s, void *buf, size_t n, struct fmt_error *err);

/* Bytes of the file that have been read. */
uint64_t kineto_source_done(const struct kineto_source *s);
