/* SPDX-License-Identifier: Apache-2.0 */

/* Temporary folders and their files. Not thread-safe; a failure ends the test. */
#pragma once

#include "base/scope.h"

#include <check.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Inverts the bits of `with` in one byte of a file. */
static inline void made_flip(const char *path, long at, uint8_t with)
{
	scoped(close_fd) int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t b;

	ck_assert_int_eq(pread(fd, &b, 1, at), 1);
	b ^= with;
	ck_assert_int_eq(pwrite(fd, &b, 1, at), 1);
}

/* Creates a temporary directory; the caller frees the path (made_remove() does). */
static inline char *made_directory(void)
{
	const char *base = getenv("TMPDIR");
	char *path;

	ck_assert(asprintf(&path, "%s/store-XXXXXX", base ? base : "/tmp") > 0);
	ck_assert_ptr_nonnull(mkdtemp(path));
	return path;
}

/* Returns "directory/name" in one of four static buffers. */
static inline const char *made_path(const char *directory, const char *name)
{
	static char path[4][512];
	static int k;

	k = (k + 1) % 4;
	snprintf(path[k], sizeof(path[k]), "%s/%s", directory, name);
	return path[k];
}

static inline void made_remove(char *path)
{
	ck_assert_int_eq(setenv("MADE", path, 1), 0);
	ck_assert_int_eq(system("rm -rf \"$MADE\""), 0);
	free(path);
}

define_cleanup(made_removep, char *, made_remove);
