/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that wait until the emulated run is made, so that no thread does but the one that makes it.
 * For any number of threads. */
#pragma once

#include "fs/call.h"

#include <pthread.h>

struct fs_later {
	struct fs *fs;
	pthread_mutex_t lock;
	struct fs_call *waiting;
	pthread_t emulator;
	bool emulating;
};

void fs_later_init(struct fs_later *l, struct fs *fs);

/* Takes the call if it is about the emulated run and that is missing: the thread that makes it
 * answers then. `inside`: the call looks into the directory c->ino, and not just at it. 1 = taken,
 * 0 = the caller can answer it now; or a negative errno. */
int fs_later_take(struct fs_later *l, const struct fs_call *c, bool inside);

/* True when nothing uses the fs any more. Else the emulated run is still being made, and goes on
 * until the process ends. */
bool fs_later_done(struct fs_later *l);
