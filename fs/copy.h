/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the tree of a trace into a directory, like a copy of a mount. */
#pragma once

#include "fs/node.h"

#define FS_COPY_TABLES 1u    /* the tables, device.json, communicators */
#define FS_COPY_TIMELINES 2u /* timeline.json and timeline.svg */

/* Copies the tree below `ino` (1: all), except emulated/, into the directory `path`, which is
 * created if missing. `what` is a mask of FS_COPY_. Files get the time of the run; none may exist
 * yet. Files that cannot be rendered because the trace is damaged are omitted and counted in
 * *left_out. stopped() is called before each file; if it returns non-zero, the copy ends with
 * -ECANCELED.
 *
 * Returns 0 or a negative errno. After an error, files already written remain, and `failed` (of
 * `size` bytes) contains the name of the failed file. */
int fs_copy(struct fs *fs, fs_ino ino, const char *path, unsigned what, int (*stopped)(void),
	    uint64_t *left_out, char *failed, size_t size);
