/* SPDX-License-Identifier: Apache-2.0 */

/* Whether who lists directories wants the attributes of files with their names.
 *
 * What the kernel makes of them takes longer than all the rest of a listing, and who only wants
 * names, as `find`, has no use for it. So now and then a directory shows its files without, and
 * until somebody asks for something by its name, so do those that follow. Begins as zeroes; any
 * number of threads may use it at once. Internal to fs/.
 */
#pragma once

#include <stdbool.h>

struct fs_eager {
	_Atomic unsigned listed; /* directories, since something was asked for */
};

/* More than `find | xargs cat` lists before it opens the first file. */
#define FS_EAGER_DIRECTORIES 512

static inline bool fs_eager_list(struct fs_eager *e, bool begins)
{
	unsigned listed = e->listed;

	if (begins && listed < FS_EAGER_DIRECTORIES)
		e->listed = listed + 1;
	return listed < FS_EAGER_DIRECTORIES;
}

static inline void fs_eager_asked(struct fs_eager *e)
{
	e->listed = 0;
}
