/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes of a file, in order, that stand in the cache until fs_view_done(). For one thread. */
#pragma once

#include "fs/cache.h"

#include <sys/uio.h>

struct fs_view {
	struct iovec *parts;
	size_t n;
	struct fs_item **items; /* whose bytes each part is */
	size_t parts_cap, items_cap;
	struct fs_cache *cache;
};

void fs_view_done(struct fs_view *view);
