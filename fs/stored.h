/* SPDX-License-Identifier: Apache-2.0 */

/* Stored code images and buffers by name: the entries of modules/ and contents/. The lists are made
 * on first use. Any number of threads may use them at once. Internal to fs/.
 */
#pragma once

#include "formats/trace/images.h"
#include "formats/trace/store/trace.h"
#include "fs/ino.h"

struct fs_stored_item {
	uint64_t name[2];
	uint64_t bytes;
	uint8_t kind; /* enum fmt_image_kind; FMT_IMAGE_OTHER of a buffer */
};

struct fs_stored_list {
	struct fs_stored_item *items; /* by name */
	size_t n;
};

struct fs_stored;

int fs_stored_new(struct fmt_trace *trace, struct fs_stored **ret);
void fs_stored_free(struct fs_stored *s);

/* The code images, or the buffers. A list that cannot be read is empty: `errors` says why. */
const struct fs_stored_list *fs_stored_list(struct fs_stored *s, bool images);

/* The name of its file: DIGEST.cubin, or DIGEST. */
void fs_stored_name(const struct fs_stored_item *item, char ret[FS_NAME_BYTES]);

/* The only item that can have this name; UINT64_MAX: none. */
uint64_t fs_stored_find(const struct fs_stored_list *list, const char *name);

/* The item of a node in modules/ or contents/. */
const struct fs_stored_item *fs_stored_at(struct fs_stored *s, const struct fs_node *where);
