/* SPDX-License-Identifier: Apache-2.0 */

/* A piece of a file: the text of one slice, rendered on first access and cached. Any number of
 * threads may read at once. Functions return 0 or a negative errno. Internal to fs/. */
#pragma once

#include "base/text.h"
#include "fs/lengths.h"

/* Rendered text, as a value of the cache. */
struct fs_blob {
	size_t len;
	char *data;
};

void fs_blob_drop(void *value);

/* Reserves space for a text of about `bytes`. */
void fs_text_expect(struct text *text, uint64_t bytes);

/* Makes a blob of a complete text; sets *bytes to its memory. */
int fs_blob_of(struct text *text, void **ret, size_t *bytes);

/* A longer piece is rendered and cached in windows of this size. */
#define FS_WINDOW_BYTES (2u << 20)

/* Returns the blob of p->window, to be released with fs_cache_put(). */
int fs_piece_get(struct fs_piece *p, struct fs_item **ret);
