/* SPDX-License-Identifier: Apache-2.0 */

/* Answers the requests of FUSE. Only this header includes libfuse. Internal to fs/. */
#pragma once

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>

#include "fs/options.h"
#include "fs/pool.h"
#include "fs/readahead.h"
#include "fs/readdirplus.h"

struct fs_server {
	struct fs *fs;
	struct fuse_session *session;
	const struct fs_mount *mount;
	struct fs_pool pool;
	struct fs_pool emulator;  /* one thread, which emulates a run, then answers the call */
	bool no_open, no_opendir; /* the kernel got ENOSYS, and no longer sends the request */
	uid_t owner;
	gid_t group;
	struct fs_readdirplus eager;
	struct fs_readahead ahead;
};

/* The request handlers. Their userdata is a struct fs_server. */
extern const struct fuse_lowlevel_ops fs_fuse_ops;
