/* SPDX-License-Identifier: Apache-2.0 */

/* The tree of files that a trace is shown as: what FUSE, the exporter and the tests see of fs/.
 *
 * Nothing in it ever changes, and any number of threads may use it at once. Functions return 0 (or
 * 1 and 0 where said) or a negative errno that a file system may reply with: damage of the trace
 * has become -EIO.
 */
#pragma once

#include "formats/trace/store/trace.h"
#include "fs/ino.h"
#include "fs/view.h"

#include <stdbool.h>
#include <sys/stat.h>

struct fs;

/* Makes the emulated run of a trace: a trace that the mount owns. Called once, when somebody looks
 * into emulated/, from whichever thread did. */
typedef int fs_emulate(void *context, struct fmt_trace *trace, struct fmt_trace **ret,
		       struct fmt_error *err);

struct fs_options {
	size_t cache_bytes;  /* that may be resident, about; 0: 64 MiB */
	fs_emulate *emulate; /* NULL: there is no emulated/ */
	void *context;	     /* of emulate */
};

/* Takes `trace` over, also when it fails. */
int fs_open(struct fmt_trace *trace, const struct fs_options *options, struct fs **ret,
	    struct fmt_error *err);
void fs_close(struct fs *fs);

/* True while a call would have to make the emulated run first: `ino` lies in it; or it is its root,
 * and the call looks `inside`, not just at the directory. */
bool fs_is_pending(struct fs *fs, fs_ino ino, bool inside);

/* Makes it if need be. One that fails leaves a tree with an `errors` that says why. */
void fs_emulate_now(struct fs *fs);

struct fs_attr {
	fs_ino ino;
	mode_t mode;
	uint32_t n_links;
	uint64_t size_bytes;
	int64_t time_ns; /* of the run, and so of each file */
};

int fs_stat(struct fs *fs, fs_ino ino, struct fs_attr *ret);

/* "." and ".." are found too; -ENOENT, -ENOTDIR. */
int fs_lookup(struct fs *fs, fs_ino parent, const char *name, struct fs_attr *ret);

#define FS_NAME_MAX 47

struct fs_entry {
	char name[FS_NAME_MAX + 1];
	fs_ino ino;
	mode_t type;   /* S_IFDIR, S_IFREG, S_IFLNK */
	uint64_t next; /* where to go on */
};

/* The entry of directory `dir` at `offset` (0 to begin with): 1 = *ret is set, 0 = end. */
int fs_list(struct fs *fs, fs_ino dir, uint64_t offset, struct fs_entry *ret);

/* Whether fs_stat() of it is quick: rendering nothing but small texts. */
bool fs_is_quick(struct fs *fs, fs_ino ino);

/* Whether what this file holds takes so long to render that others should not wait for it; of a
 * directory: what its files hold. */
bool fs_is_long(struct fs *fs, fs_ino ino);

/* The target of a link, not terminated: as much as fits into `buf`. Returns its length. */
long fs_link(struct fs *fs, fs_ino ino, char *buf, size_t size);

/* What lies in [offset, offset + size) of a file; less only at its end. `view` is zeroed by the
 * caller, who ends it with fs_view_done() in any case. */
int fs_read(struct fs *fs, fs_ino ino, uint64_t offset, size_t size, struct fs_view *view);

/* A range of a file that is rendered at little more cost than any part of it. */
struct fs_window {
	uint64_t from, end;
	bool is_last; /* the file ends at `end` */
};

/* The window that contains `offset`; -ENOENT for files that are rendered as a whole. */
int fs_window(struct fs *fs, fs_ino ino, uint64_t offset, struct fs_window *ret);

/* The bytes that the trace takes on disk. */
uint64_t fs_total_bytes(struct fs *fs);
