/* SPDX-License-Identifier: Apache-2.0 */

/* The tree as a mounted file system. fs/fuse.c is the one file that speaks FUSE. */
#pragma once

#include "fs/node.h"

struct fs_mount {
	const char *options; /* of the mount, separated by commas: "fsname=x,allow_other" */
	const char *dir;     /* absolute */
	int debug;
	/* Called once the kernel has been answered for the first time; may be NULL. */
	void (*ready)(void *context);
	void *context;
};

/* Instead of 0: the emulated run was still being made, and uses the fs until the process ends. */
#define FS_STILL_EMULATING 1

/* Mounts, serves until it is unmounted or a SIGINT, SIGTERM or SIGHUP comes, and unmounts. Returns
 * 0 or a negative errno; -ENODEV where there is no FUSE or this user may not use it. *err says what
 * libfuse said. One mount a process.
 */
int fs_fuse_serve(struct fs *fs, const struct fs_mount *mount, struct fmt_error *err);
