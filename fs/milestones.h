/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the piece of a long file that contains an offset: sums of the lengths of many pieces are
 * kept. Any number of threads may use it at once. Internal to fs/.
 */
#pragma once

#include "fs/tree.h"

/* Returns a position at most *skip bytes behind the head, and subtracts the bytes before that
 * position from *skip. If pieces cannot be counted, returns the beginning. */
struct fs_cursor fs_milestones_skip(struct fs_tree *t, const struct fs_node *where, int piece,
				    uint64_t *skip);
