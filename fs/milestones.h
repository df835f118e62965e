/* SPDX-License-Identifier: Apache-2.0 */

/* Where in a long file a read begins: the lengths of many pieces are summed up once. Any number of
 * threads may use it at once. Internal to fs/.
 */
#pragma once

#include "fs/tree.h"

/* Returns the position to begin at so as to be *skip bytes behind the head, or somewhat before, and
 * subtracts the bytes that lie before that position from *skip. Where pieces cannot be counted it
 * is the begin. */
struct fs_cursor fs_milestones_skip(struct fs_tree *t, const struct fs_place *where, int piece,
				    uint64_t *skip);
