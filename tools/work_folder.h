/* SPDX-License-Identifier: Apache-2.0 */

/* A temporary folder that is locked while its process lives, so that the next process removes what
 * a killed one left. Not thread-safe. */
#pragma once

#include <limits.h>

struct work_folder {
	int lock_fd;	     /* 0: not locked */
	char path[PATH_MAX]; /* "": not made */
};

/* Makes the folder `prefix`XXXXXX, X being random. Before that, removes unused folders of this user
 * with the same prefix: all, or if `only` is not NULL those that hold nothing but `only`. `f` is
 * zeroed. 0 or a negative errno. */
int work_folder_make(struct work_folder *f, const char *prefix, const char *only);

/* Removes the folder, if it was made. */
void work_folder_done(struct work_folder *f);

/* Removes a folder with all that is in it. 0 or a negative errno. */
int work_folder_remove(const char *path);
