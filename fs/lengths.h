/* SPDX-License-Identifier: Apache-2.0 */

/* Counts how long pieces are, so that the size of a file is known before it is rendered. Any number
 * of threads may count at once. Functions return 0 or a negative errno. Internal to fs/.
 */
#pragma once

#include "fs/piece.h"

/* Counts a piece; of a table also those of the slice's other tables. */
int fs_lengths_of_piece(const struct fs_piece *p);

/* Counts the unknown lengths of a file on all processors, if that takes long; else leaves them to
 * fs_lengths_of_piece(). */
int fs_lengths_of_file(struct fs_tree *t, struct fs_scope scope, int piece);
