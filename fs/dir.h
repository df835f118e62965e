/* SPDX-License-Identifier: Apache-2.0 */

/* What each kind of directory holds: a table of files, one of directories that are always there,
 * and entries that depend on the trace. Internal to fs/.
 */
#pragma once

#include "fs/content.h"
#include "fs/node.h"

struct fs_sub {
	const char *name;
	enum fs_dir dir;
};

#define FS_NAME_BYTES (FS_NAME_MAX + 1)

struct fs_more {
	/* Entries there may be; not all of them need to exist. */
	uint64_t (*n)(const struct fs_tree *t, const struct fs_place *dir);
	/* The i-th: true and where it is and what it is called, or false for a gap. */
	bool (*at)(const struct fs_tree *t, const struct fs_place *dir, uint64_t i,
		   struct fs_place *ret, char name[FS_NAME_BYTES]);
	/* Which i has this name, if any has: the caller checks. */
	uint64_t (*guess)(const struct fs_tree *t, const struct fs_place *dir, const char *name);
	/* How many of them are directories. */
	uint32_t (*n_dirs)(const struct fs_tree *t, const struct fs_place *dir);
};

struct fs_dir_kind {
	const struct fs_file *files;
	size_t n_files;
	const struct fs_sub *subs;
	size_t n_subs;
	const struct fs_more *more; /* or NULL */
	enum fs_dir parent;
};

const struct fs_dir_kind *fs_dir_kind(enum fs_dir dir);

/* Whether there is such a file or directory in the trace. */
bool fs_place_exists(const struct fs_tree *t, const struct fs_place *p);

/* The directory that holds directory `dir`. */
struct fs_place fs_parent_of(const struct fs_tree *t, struct fs_place dir);

mode_t fs_type_of(const struct fs_place *p);

/* The link count of a directory, without the entry of emulated/. */
uint32_t fs_n_links(const struct fs_tree *t, const struct fs_place *dir);
