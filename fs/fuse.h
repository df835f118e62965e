/* SPDX-License-Identifier: Apache-2.0 */

/* The tree as a mounted file system. Only fs/fuse*.c speak FUSE. */
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

/* Returned in place of 0: the emulated run is still being computed and uses `fs` until the process
 * ends. */
#define FS_STILL_EMULATING 1

/* Mounts, serves until the directory is unmounted or SIGINT, SIGTERM or SIGHUP arrives, and
 * unmounts. Returns 0 or a negative errno, with the reason in *err where one is known:
 *
 *   -ENODEV  FUSE is not available, or this user may not use it or the directory
 *   -EPERM   /etc/fuse.conf does not permit allow_other
 *
 * One mount a process.
 */
int fs_fuse_serve(struct fs *fs, const struct fs_mount *mount, struct fmt_error *err);
