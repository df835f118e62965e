/* SPDX-License-Identifier: Apache-2.0 */

/* What files hold. A file is rendered whole; or it is a head, a piece for each slice of its scope,
 * and a tail, of which only what is read is rendered. Any number of threads may read at once.
 * Functions return 0 or a negative errno. Internal to fs/.
 */
#pragma once

#include "fs/node.h"
#include "fs/tree.h"
#include "fs/view.h"

enum fs_made {
	FS_WHOLE,     /* by `render`, of a scope that may be all of the run */
	FS_QUICK,     /* the same, where it needs no slice */
	FS_PIECES_OF, /* pieces number `piece` */
};

struct fs_file {
	const char *name;
	enum fs_made made;
	int piece; /* enum fmt_table, or FS_PIECE_TIMELINE */
	int (*render)(struct fs_tree *t, const struct fs_place *where, struct text *out);
	/* Of FS_QUICK: how many bytes `render` makes, where that is known before; or NULL. */
	int (*size)(struct fs_tree *t, const struct fs_place *where, uint64_t *ret);
};

/* Which part of the run the files of a directory are about. */
struct fs_scope fs_scope_of(const struct fs_place *where);

int fs_content_size(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t *ret);

/* Whether the size is known, or found without rendering anything that takes long. */
int fs_content_is_quick(struct fs_tree *t, const struct fs_place *where,
			const struct fs_file *file);

/* Adds what lies in [offset, offset + size) to *view, which may be less only at the end of the
 * file.
 */
int fs_content_read(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		    uint64_t offset, size_t size, struct fs_view *view);

/* The window that contains `offset`, as fs_window(). */
int fs_content_window(struct fs_tree *t, const struct fs_place *where, const struct fs_file *file,
		      uint64_t offset, struct fs_window *ret);
