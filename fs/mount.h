/* SPDX-License-Identifier: Apache-2.0 */

/* Mounts the tree as a file system and serves it. One mount per process. */
#pragma once

#include "fs/node.h"

/* Returned instead of 0: the emulated run is still being computed and uses `fs` until the process
 * exits. */
#define FS_STILL_EMULATING 1

/* Mounts, serves until the directory is unmounted or SIGINT, SIGTERM or SIGHUP arrives, and
 * unmounts. Returns 0 or a negative errno, with the reason in *err if known:
 *
 *     -ENODEV  FUSE is not available, or this user may not use it or the directory
 *     -EPERM   /etc/fuse.conf does not permit allow_other
 */
int fs_mount_serve(struct fs *fs, const struct fs_mount *mount, struct fmt_error *err);
