/* SPDX-License-Identifier: Apache-2.0 */

/* A temporary folder for the files of one input, removed with its contents. Not thread-safe. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct folder {
	char path[64];
};

static inline struct folder folder_make(void)
{
	const char *base = getenv("TMPDIR");
	struct folder f;

	snprintf(f.path, sizeof(f.path), "%s/fuzz-XXXXXX",
		 base && strlen(base) < 40 ? base : "/tmp");
	if (!mkdtemp(f.path))
		abort();
	return f;
}

static inline int folder_remove_one(const char *path, const struct stat *st, int type,
				    struct FTW *at)
{
	return remove(path);
}

static inline void folder_done(struct folder *f)
{
	nftw(f->path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the path of `name` in the folder. */
static inline const char *folder_in(const struct folder *f, const char *name, char ret[128])
{
	snprintf(ret, 128, "%s/%s", f->path, name);
	return ret;
}
