/* SPDX-License-Identifier: Apache-2.0 */

/* The tree of files of a trace: the interface of fs/ for FUSE, the exporter and the tests.
 *
 * The tree never changes, except for what-if/ (fs_ino_changes()). Thread-safe. Functions return 0
 * (or 1 and 0 where stated) or a negative errno valid as reply of a file system; a damaged trace
 * gives -EIO. */
#pragma once

#include "fs/ino.h"
#include "fs/options.h"
#include "fs/view.h"

#include <stdbool.h>
#include <sys/stat.h>

struct fs;

/* Takes ownership of `trace`, also on failure. */
int fs_open(struct fmt_trace *trace, const struct fs_options *options, struct fs **ret,
	    struct fmt_error *err);
void fs_close(struct fs *fs);

/* Returns true while a call would have to emulate first: `ino` is in an emulated run, or is its
 * root and the call reads the directory (`inside`), not only its attributes. */
bool fs_is_pending(struct fs *fs, fs_ino ino, bool inside);

/* Emulates the run of `ino` if not yet done. After an error its tree contains only a file `errors`
 * with the reason. */
void fs_emulate_now(struct fs *fs, fs_ino ino);

struct fs_attr {
	fs_ino ino;
	mode_t mode;
	uint32_t n_links;
	uint64_t size_bytes;
	int64_t time_ns; /* of the run; the same for each file */
};

int fs_stat(struct fs *fs, fs_ino ino, struct fs_attr *ret);

/* Also finds "." and "..". -ENOENT, -ENOTDIR. A lookup in what-if/ adds a run if the name is a
 * valid spec: -ENOSPC if there are too many. */
int fs_lookup(struct fs *fs, fs_ino parent, const char *name, struct fs_attr *ret);

struct fs_entry {
	char name[FS_NAME_BYTES];
	fs_ino ino;
	mode_t type;   /* S_IFDIR, S_IFREG, S_IFLNK */
	uint64_t next; /* offset of the next entry */
};

/* Returns the entry of directory `dir` at `offset` (initially 0): 1 and *ret, or 0 at the end. */
int fs_list(struct fs *fs, fs_ino dir, uint64_t offset, struct fs_entry *ret);

/* Returns true if fs_stat() of `ino` is quick: it renders small texts only. */
bool fs_is_cheap(struct fs *fs, fs_ino ino);

/* Returns true if rendering the file, or a file in the directory, takes so long that other requests
 * should not wait for it. */
bool fs_is_expensive(struct fs *fs, fs_ino ino);

/* Copies the target of a link, without NUL, truncated to `size` bytes. Returns its length. */
long fs_link(struct fs *fs, fs_ino ino, char *buf, size_t size);

/* Reads the bytes [offset, offset + size) of a file; fewer only at its end. The caller zeroes
 * `view` before, and always calls fs_view_done() afterwards. */
int fs_read(struct fs *fs, fs_ino ino, uint64_t offset, size_t size, struct fs_view *view);

/* Returns the size of the trace on disk. */
uint64_t fs_total_bytes(struct fs *fs);
