/* SPDX-License-Identifier: Apache-2.0 */

/* Kinds of directories. Each has a table of files, a table of fixed subdirectories, and entries
 * that depend on the trace. Internal to fs/.
 */
#pragma once

#include "fs/content.h"

struct fs_sub {
	const char *name;
	enum fs_dir dir;
};

struct fs_more {
	/* Upper bound on the number of entries; some may not exist. */
	uint64_t (*n)(const struct fs_tree *t, const struct fs_node *dir);
	/* Returns true and sets *ret and `name` to the i-th entry, or false if it does not
	 * exist. */
	bool (*at)(const struct fs_tree *t, const struct fs_node *dir, uint64_t i,
		   struct fs_node *ret, char name[FS_NAME_BYTES]);
	/* Returns the only i that can have this name; the caller checks it. */
	uint64_t (*guess)(const struct fs_tree *t, const struct fs_node *dir, const char *name);
	/* Returns the number of entries that are directories. */
	uint32_t (*n_dirs)(const struct fs_tree *t, const struct fs_node *dir);
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

/* Returns true if the trace has this file or directory. */
bool fs_node_exists(const struct fs_tree *t, const struct fs_node *p);

/* Returns the directory that contains directory `dir`. */
struct fs_node fs_parent_of(const struct fs_tree *t, struct fs_node dir);

mode_t fs_type_of(const struct fs_node *p);

/* Returns the link count of a directory, without the roots of other runs and what-if/. */
uint32_t fs_n_links(const struct fs_tree *t, const struct fs_node *dir);
