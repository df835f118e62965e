/* SPDX-License-Identifier: Apache-2.0 */

/* Mount options (-o) from the command line, mount(8) or /etc/fstab. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mount_options {
	char *fuse;	  /* owned: options for libfuse, without fsname */
	char *fsname;	  /* owned; or NULL: the trace */
	int64_t cache_mb; /* 0: the default */
};

/* Parses `given`, which may be NULL. Returns 0; -EINVAL after printing the error; -ENOMEM. */
int mount_options_parse(const char *given, struct mount_options *ret);
void mount_options_done(struct mount_options *o);

/* Returns the option list for libfuse, with `fsname` escaped, which the caller frees; NULL if out
 * of memory. */
char *mount_options_join(const struct mount_options *o, const char *fsname);
