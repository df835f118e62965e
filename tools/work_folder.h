/* SPDX-License-Identifier: Apache-2.0 */

/* A temporary folder that is locked while its process lives. The next process removes the folder of
 * a killed one. Not thread-safe. */
#pragma once

#include <limits.h>

struct work_folder {
	int lock_fd;	     /* 0: not locked */
	char path[PATH_MAX]; /* "": not made */
};

/* Makes the folder `prefix`XXXXXX with a random XXXXXX. First removes unlocked folders of this user
 * with the same prefix: all of them, or with `only` those that contain nothing but a file `only`.
 * `f` must be zeroed. Returns 0 or a negative errno. */
int work_folder_make(struct work_folder *f, const char *prefix, const char *only);

/* Removes the folder if it was made. */
void work_folder_done(struct work_folder *f);

/* Removes a folder and its contents. Returns 0 or a negative errno. */
int work_folder_remove(const char *path);
