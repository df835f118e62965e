/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes of a file, in order, which remain cached until fs_view_done(). One thread. */
#pragma once

#include "fs/cache.h"

#include <stdint.h>
#include <sys/uio.h>

/* The cache item of a part, and the function that releases it. */
struct fs_held {
	struct fs_item *item;
	void (*put)(struct fs_cache *c, struct fs_item *item);
};

struct fs_view {
	struct iovec *parts;
	size_t n;
	struct fs_held *held; /* one for each part */
	size_t parts_cap, held_cap;
	struct fs_cache *cache;
};

/* Returns a copy of all bytes, which the caller frees; NULL if out of memory. */
char *fs_view_join(const struct fs_view *view, size_t *size);

void fs_view_done(struct fs_view *view);
