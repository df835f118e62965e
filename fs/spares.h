/* SPDX-License-Identifier: Apache-2.0 */

/* Buffers for reuse: page faults of fresh memory take as long as filling it with text. Any number
 * of threads may use it at once. Internal to fs/.
 */
#pragma once

#include "base/text.h"

#include <pthread.h>

#define FS_SPARES 8

struct fs_spare {
	char *data;
	size_t cap;
};

struct fs_spares {
	pthread_mutex_t lock;
	struct fs_spare of[FS_SPARES];
	size_t bytes, limit;
};

void fs_spares_init(struct fs_spares *s, size_t limit_bytes);
void fs_spares_done(struct fs_spares *s);

/* Gives an empty text space for `bytes` if a buffer is available. */
void fs_spares_take(struct fs_spares *s, struct text *t, size_t bytes);

/* Takes ownership of a buffer from malloc(). */
void fs_spares_give(struct fs_spares *s, char *data, size_t cap);
