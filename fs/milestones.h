/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the piece of a long file that contains an offset, by cached sums of the lengths of many
 * pieces. Thread-safe. Internal to fs/. */
#pragma once

#include "fs/tree.h"

/* Returns a position at most *skip bytes after the head, and subtracts the bytes before that
 * position from *skip. If pieces cannot be counted, returns the beginning. */
struct fmt_walk fs_milestones_skip(struct fs_tree *t, const struct fs_node *where, int piece,
				   uint64_t *skip);
