/* SPDX-License-Identifier: Apache-2.0 */

/* The state of the FUSE server, shared by the request handlers (fuse.c) and the session
 * (fuse_session.c). Internal to fs/fuse*.
 */
#pragma once

#include "fs/fuse.h"

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>

#include "fs/ahead.h"
#include "fs/eager.h"
#include "fs/pool.h"

struct fs_server {
	struct fs *fs;
	struct fuse_session *session;
	const struct fs_mount *mount;
	struct fs_pool pool;
	struct fs_pool emulator;  /* one thread: it emulates a run, then answers the call */
	bool no_open, no_opendir; /* answered with ENOSYS: the kernel stops asking */
	uid_t owner;
	gid_t group;
	struct fs_eager eager;
	struct fs_ahead ahead;
};

/* The request handlers. Their userdata is a struct fs_server. */
extern const struct fuse_lowlevel_ops fs_fuse_ops;
