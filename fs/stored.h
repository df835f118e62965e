/* SPDX-License-Identifier: Apache-2.0 */

/* Stored code images and buffers by name: the entries of modules/ and contents/. The lists are made
 * on first use. Thread-safe. Internal to fs/. */
#pragma once

#include "formats/trace/images.h"
#include "formats/trace/store/trace.h"
#include "fs/ino.h"

struct fs_stored_item {
	uint64_t name[2];
	uint64_t bytes;
	uint8_t kind; /* enum fmt_image_kind; FMT_IMAGE_OTHER for a buffer */
};

struct fs_stored_list {
	struct fs_stored_item *items; /* by name */
	size_t n;
};

struct fs_stored;

int fs_stored_new(struct fmt_trace *trace, struct fs_stored **ret);
void fs_stored_free(struct fs_stored *s);

/* Returns the code images, or the buffers. An unreadable list is empty: `errors` contains the
 * reason. */
const struct fs_stored_list *fs_stored_list(struct fs_stored *s, bool images);

/* Makes the file name: DIGEST.cubin, or DIGEST. */
void fs_stored_name(const struct fs_stored_item *item, char ret[FS_NAME_BYTES]);

/* Returns the only item that can have this name; UINT64_MAX: none. */
uint64_t fs_stored_find(const struct fs_stored_list *list, const char *name);

/* Returns the item of a node in modules/ or contents/. */
const struct fs_stored_item *fs_stored_at(struct fs_stored *s, const struct fs_node *where);
