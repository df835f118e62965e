/* SPDX-License-Identifier: Apache-2.0 */

/* What stands behind -o, as a user, mount(8) or /etc/fstab wrote it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mount_options {
	char *fuse;	  /* owned: what libfuse gets, without fsname */
	char *fsname;	  /* owned; or NULL: the trace */
	int64_t cache_mb; /* 0: the default */
};

/* Prints what is wrong with them and returns -EINVAL; or -ENOMEM. `given` may be NULL. */
int mount_options_parse(const char *given, struct mount_options *ret);
void mount_options_done(struct mount_options *o);

/* The whole list for libfuse, with `fsname` escaped; the caller frees it. NULL: no memory. */
char *mount_options_join(const struct mount_options *o, const char *fsname);
