/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that wait for an emulated run. They are queued, so that only the thread that emulates is
 * blocked; it computes one run after the other. Any number of threads may use it at once. */
#pragma once

#include "fs/call.h"

#include <pthread.h>

struct fs_later {
	struct fs *fs;
	pthread_mutex_t lock;
	struct fs_call *waiting;
	pthread_t emulator;
	bool started;	/* `emulator` was, and must be joined */
	bool emulating; /* it looks for more calls */
};

void fs_later_init(struct fs_later *l, struct fs *fs);

/* Queues the call if it needs an emulated run that does not exist yet; the thread that
 * emulates answers it later. `inside`: the call reads the directory c->ino, not only its
 * attributes. 1: queued; 0: the caller can answer it now; or a negative errno. */
int fs_later_take(struct fs_later *l, const struct fs_call *c, bool inside);

/* True if no thread uses the fs any more. Otherwise the emulation is still running, and continues
 * until the process ends. */
bool fs_later_done(struct fs_later *l);
