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
#define FS_PAGES 1024u /* 2 MiB, on average */

struct fs_page {
	fs_ino ino;
	uint64_t page;	    /* offset in the file */
	uint32_t from, end; /* the known bytes of the page */
	char *bytes;	    /* owned; NULL: unused */
};

struct fs_pages {
	pthread_mutex_t lock;
	struct fs_page *slots; /* owned; FS_PAGES, or NULL before the first */
};

void fs_pages_init(struct fs_pages *e);
void fs_pages_done(struct fs_pages *e);

/* Adds bytes of one page. If the page is then complete, copies it to `page` and returns true. */
bool fs_pages_add(struct fs_pages *e, fs_ino ino, uint64_t offset, const char *bytes, size_t size,
		  char page[FS_PAGE]);
