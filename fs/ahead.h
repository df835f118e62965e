/* SPDX-License-Identifier: Apache-2.0 */

/* What a file's reader will want next, if it reads on as it does: so that other processors make it
 * while this part is on its way. One reader is followed at a time. Any number of threads may use it
 * at once. Internal to fs/.
 */
#pragma once

#include "fs/pool.h"

struct fs_ahead {
	pthread_mutex_t lock;
	struct fs *fs;	      /* not owned */
	struct fs_pool *pool; /* not owned */
	fs_ino ino;	      /* of the file that was read last */
	uint64_t end;	      /* of that read */
	uint64_t given;	      /* up to here it was read, or is to be made */
	size_t windows;	      /* as many reads are made ahead; 0: none */
};

void fs_ahead_init(struct fs_ahead *a, struct fs *fs, struct fs_pool *pool);

/* Notes a read. Returns how many windows of `size` bytes are to be made from *from on; 0 where the
 * read does not begin where the one before it ended. */
size_t fs_ahead_note(struct fs_ahead *a, fs_ino ino, uint64_t offset, size_t size, uint64_t *from);

/* Notes a read, and has the pool make what is to be made of a long file. */
void fs_ahead_read(struct fs_ahead *a, fs_ino ino, uint64_t offset, size_t size);
