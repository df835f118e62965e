/* SPDX-License-Identifier: Apache-2.0 */

/* Pages that overlap two windows. The kernel accepts whole pages only, so the part of the page in
 * the first rendered window is kept until the other window is rendered.
 *
 * The number of pages is bounded; newer pages replace older ones. Thread-safe. Internal to fs/. */
#pragma once

#include "fs/ino.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define FS_PAGE 4096u
#define FS_EDGES 1024u /* 2 MiB, on average */

struct fs_edge {
	fs_ino ino;
	uint64_t page;	    /* offset in the file */
	uint32_t from, end; /* the known bytes of the page */
	char *bytes;	    /* owned; NULL: unused */
};

struct fs_edges {
	pthread_mutex_t lock;
	struct fs_edge *slots; /* owned; FS_EDGES, or NULL before the first */
};

void fs_edges_init(struct fs_edges *e);
void fs_edges_done(struct fs_edges *e);

/* Adds bytes of one page. If the page is then complete, copies it to `page` and returns true. */
bool fs_edges_add(struct fs_edges *e, fs_ino ino, uint64_t offset, const char *bytes, size_t size,
		  char page[FS_PAGE]);
