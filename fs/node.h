/* SPDX-License-Identifier: Apache-2.0 */

/* The tree of files of a trace: the interface of fs/ for FUSE, the exporter and the tests.
 *
 * The tree never changes, except for what-if/ (fs_ino_changes()). Any number of threads may use it
 * at once. Functions return 0 (or 1 and 0 where stated) or a negative errno that a file system may
 * reply with; a damaged trace gives -EIO.
 */
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

/* True while a call would have to emulate first: `ino` is in an emulated run, or is its root and
 * the call reads the directory (`inside`), not only its attributes. */
bool fs_is_pending(struct fs *fs, fs_ino ino, bool inside);

/* Emulates the run of `ino` if that was not done yet. On failure its tree has only a file `errors`
 * with the reason. */
void fs_emulate_now(struct fs *fs, fs_ino ino);

struct fs_attr {
	fs_ino ino;
	mode_t mode;
	uint32_t n_links;
	uint64_t size_bytes;
	int64_t time_ns; /* of the run, and so of each file */
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

/* The entry of directory `dir` at `offset` (0 to begin with): 1 = *ret is set, 0 = end. */
int fs_list(struct fs *fs, fs_ino dir, uint64_t offset, struct fs_entry *ret);

/* True if fs_stat() of it is quick: it renders small texts only. */
bool fs_is_quick(struct fs *fs, fs_ino ino);

/* True if rendering the file, or a file in the directory, takes so long that other requests should
 * not wait for it. */
bool fs_is_long(struct fs *fs, fs_ino ino);

/* The target of a link, without a final NUL, cut to `size` bytes. Returns its length. */
long fs_link(struct fs *fs, fs_ino ino, char *buf, size_t size);

/* The bytes [offset, offset + size) of a file; fewer only at its end. The caller zeroes `view`
 * before, and calls fs_view_done() afterwards in any case. */
int fs_read(struct fs *fs, fs_ino ino, uint64_t offset, size_t size, struct fs_view *view);

/* The window that contains `offset`; -ENOENT for files that are rendered as a whole. */
int fs_window(struct fs *fs, fs_ino ino, uint64_t offset, struct fs_window *ret);

/* Size of the trace on disk. */
uint64_t fs_total_bytes(struct fs *fs);
