/* SPDX-License-Identifier: Apache-2.0 */

/* Stores parts of long files in the kernel's page cache ahead of reads.
 *
 * A read request costs a wake-up in each direction, and the kernel requests 4 KiB (random reads) to
 * 128 KiB (sequential reads). So the whole window of FS_READAHEAD_WINDOW bytes around a read is
 * stored in the page cache. While a file is read sequentially, threads of the pool also store the
 * following windows, one thread per processor. The amount ahead doubles with each read request that
 * still arrives. One sequential reader is followed at a time.
 *
 * Storing blocks while the kernel waits for an answer to a read of the same page. So only threads
 * of the pool store, few enough that others remain to answer; and while fs_readahead_is_storing(),
 * requests must be received and answered.
 *
 * Thread-safe. Internal to fs/. */
#pragma once

#include "fs/node.h"
#include "fs/pool.h"

/* Stores whole pages, or the end of the file. Returns 0 or a negative errno. */
typedef int fs_store(void *context, fs_ino ino, uint64_t offset, const void *data, size_t size);

#define FS_PAGE 4096u
#define FS_READAHEAD_WINDOW (UINT64_C(2) << 20)
#define FS_STORING_MAX 5 /* threads; fewer than in the pool */

struct fs_readahead {
	struct fs *fs;	      /* not owned */
	struct fs_pool *pool; /* not owned */
	fs_store *store;
	void *context; /* of store */

	pthread_mutex_t lock; /* protects the following members */
	bool closing;
	struct {
		fs_ino ino; /* 0: unused */
		uint64_t from, end;
	} storing[FS_STORING_MAX];
	fs_ino ino;	/* the last read file */
	uint64_t end;	/* end of that read */
	uint64_t next;	/* the workers continue from here ... */
	uint64_t until; /* ... up to here */
	uint64_t batch; /* bytes ahead of a read */
	unsigned n_workers, max_workers;
};

void fs_readahead_init(struct fs_readahead *a, struct fs *fs, struct fs_pool *pool, fs_store *store,
		       void *context);
void fs_readahead_done(struct fs_readahead *a);

/* Notes a read, before it is answered. Returns true if a worker must be started. */
bool fs_readahead_note(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size);

/* Notes a read of a long file, before it is answered, and starts a worker if one is needed. */
void fs_readahead_before_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size);

/* For the pool, after a read of a long file through the page cache was answered: stores the rest of
 * the window. */
void fs_readahead_after_read(struct fs_readahead *a, fs_ino ino, uint64_t offset, size_t size);

/* Stops starting windows. */
void fs_readahead_close(struct fs_readahead *a);
bool fs_readahead_is_storing(struct fs_readahead *a);
