/* SPDX-License-Identifier: Apache-2.0 */

/* Contents of files. A file is rendered as a whole; or it consists of a head, a piece for each
 * slice of its scope, and a tail, and only the requested parts are rendered. Any number of threads
 * may read at once. Functions return 0 or a negative errno. Internal to fs/. */
#pragma once

#include "fs/tree.h"
#include "fs/view.h"

enum fs_content_kind {
	FS_WHOLE,     /* by `render`; the scope may be the whole run */
	FS_CHEAP,     /* by `render`, without decoding slices */
	FS_PIECES_OF, /* pieces with number `piece` */
};

struct fs_file {
	const char *name;
	enum fs_content_kind made;
	int piece; /* enum fmt_table, or FS_PIECE_TIMELINE */
	int (*render)(struct fs_tree *t, const struct fs_node *where, struct text *out);
	/* FS_CHEAP: returns the size if it is known before rendering; or NULL. */
	int (*size)(struct fs_tree *t, const struct fs_node *where, uint64_t *ret);
};

int fs_content_size(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
		    uint64_t *ret);

/* Returns true if the size is known, or can be found without long rendering. */
int fs_content_is_cheap(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file);

/* Appends the bytes [offset, offset + size) to *view; fewer only at the end of the file. */
int fs_content_read(struct fs_tree *t, const struct fs_node *where, const struct fs_file *file,
		    uint64_t offset, size_t size, struct fs_view *view);
