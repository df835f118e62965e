/* SPDX-License-Identifier: Apache-2.0 */

/* Counts the lengths of pieces, so that the size of a file is known before it is rendered.
 * Thread-safe. Functions return 0 or a negative errno. Internal to fs/. */
#pragma once

#include "fs/tree.h"

/* The text of a slice in a file. A longer one is rendered and cached in windows. */
struct fs_piece {
	struct fs_tree *tree;
	int number; /* enum fmt_table, or FS_PIECE_TIMELINE */
	uint32_t rank, slice;
	uint32_t window;
};

/* Sets p->rank and p->slice to the next slice. Returns false at the end. */
static inline bool fs_piece_next(struct fs_piece *p, struct fmt_walk *w)
{
	if (!fmt_walk_next(w))
		return false;
	p->rank = w->rank;
	p->slice = w->slice;
	return true;
}

/* Returns 1 + the length; 0 if unknown. */
uint64_t fs_piece_known(const struct fs_piece *p);

/* Returns the length. If unknown, counts it; for a table, counts the slice's pieces of all
 * tables. */
int fs_piece_length(const struct fs_piece *p, uint64_t *ret);

/* Counts the unknown lengths of a file on all processors if there are many; otherwise leaves them
 * to fs_piece_length(). */
int fs_lengths_of_file(struct fs_tree *t, const struct fs_node *where, int piece);
