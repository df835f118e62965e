/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that wait until the emulated run is made, so that no thread does but the one that makes it.
 * For any number of threads. */
#pragma once

#include "fs/node.h"

#include <pthread.h>

struct fs_call {
	void (*answer)(const struct fs_call *c);
	void *request; /* whatever `answer` replies to */
	fs_ino ino;
	size_t size;
	uint64_t offset;
	char name[FS_NAME_MAX + 1];
	struct fs_call *next; /* internal */
};

struct fs_later {
	struct fs *fs;
	pthread_mutex_t lock;
	struct fs_call *waiting;
	pthread_t emulator;
	bool emulating;
};

void fs_later_init(struct fs_later *l, struct fs *fs);

/* Has the call answered: now, or in the thread that makes the emulated run if it is about that and
 * it is missing. `inside`: it looks into the directory c->ino, and not just at it. 0, or a negative
 * errno, and then nobody answers it. */
int fs_later_call(struct fs_later *l, const struct fs_call *c, bool inside);

/* True when nothing uses the fs any more. Else the emulated run is still being made, and goes on
 * until the process ends. */
bool fs_later_done(struct fs_later *l);
