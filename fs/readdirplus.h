/* SPDX-License-Identifier: Apache-2.0 */

/* Decides whether readdir should return attributes (readdirplus).
 *
 * The kernel spends more time on attributes than on the rest of a listing, and a program that only
 * reads names, such as `find`, does not use them. So after FS_READDIRPLUS_DIRECTORIES listings
 * without a lookup, listings omit attributes until the next lookup.
 *
 * Initialised with zeroes. Any number of threads may use it at once. Internal to fs/.
 */
#pragma once

#include <stdbool.h>

struct fs_readdirplus {
	_Atomic unsigned listed; /* directories listed since the last lookup */
};

/* More directories than `find | xargs cat` lists before it opens the first file. */
#define FS_READDIRPLUS_DIRECTORIES 512

static inline bool fs_readdirplus_note_list(struct fs_readdirplus *e, bool begins)
{
	unsigned listed = e->listed;

	if (begins && listed < FS_READDIRPLUS_DIRECTORIES)
		e->listed = listed + 1;
	return listed < FS_READDIRPLUS_DIRECTORIES;
}

static inline void fs_readdirplus_note_lookup(struct fs_readdirplus *e)
{
	e->listed = 0;
}
