/* SPDX-License-Identifier: Apache-2.0 */

/* Writes the tree of a trace into a directory: what copying a mount gives, without mounting. */
#pragma once

#include "fs/node.h"

#define FS_COPY_TABLES 1u    /* the tables, device.json, communicators */
#define FS_COPY_TIMELINES 2u /* timeline.json and timeline.svg */
#define FS_COPY_ALL 3u

/* Copies what lies below `ino` (1: all) into the directory `path`, which is made if it is not
 * there, but for emulated/. `what` is a mask of FS_COPY_. Files get the time of the run; none may
 * be there already. Files that cannot be made because the trace is damaged are left out and counted
 * in *left_out. Returns 0 or a negative errno; on failure what was written stays, and `failed` (of
 * `size` bytes) names the file in question. -ECANCELED once stopped() is not 0, which is asked
 * before each file.
 */
int fs_copy(struct fs *fs, fs_ino ino, const char *path, unsigned what, int (*stopped)(void),
	    uint64_t *left_out, char *failed, size_t size);
