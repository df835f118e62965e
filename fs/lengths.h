/* SPDX-License-Identifier: Apache-2.0 */

/* Counts the lengths of pieces, so that the size of a file is known before it is rendered. Any
 * number of threads may count at once. Functions return 0 or a negative errno. Internal to fs/.
 */
#pragma once

#include "fs/piece.h"

/* Counts a piece; if it belongs to a table, counts the slice's pieces of all tables. */
int fs_lengths_of_piece(const struct fs_piece *p);

/* Counts the unknown lengths of a file on all processors if there are many; otherwise leaves them
 * to fs_lengths_of_piece(). */
int fs_lengths_of_file(struct fs_tree *t, struct fs_scope scope, int piece);
