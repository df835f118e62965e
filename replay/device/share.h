/* SPDX-License-Identifier: Apache-2.0 */

/* Values that one process of a re-execution makes and others need: unique ids of communicators,
 * handles of memory and events for other processes. A recorded value of up to 128 bytes stands for
 * the one that was made in its place. The table lies in a file that all processes map; it has no
 * locks that a killed process could hold. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REX_SHARED_BYTES 128

struct rex_share;

/* Makes the file; its descriptor stays open in processes that are started. -errno. */
int rex_share_make(void);
/* Maps it. A negative descriptor: a table of this process alone. 0 or -errno. */
int rex_share_open(int fd, struct rex_share **ret);

/* -ENOSPC: the table is full. */
int rex_share_put(struct rex_share *s, const void *recorded, size_t bytes, const void *here);

/* Waits until another process or thread puts it. -ETIMEDOUT. */
int rex_share_get(struct rex_share *s, const void *recorded, size_t bytes, void *ret);

/* Adds what a process has done to the counts of all: calls, and copies of unknown contents. */
void rex_share_count(struct rex_share *s, uint64_t made, uint64_t seeded);
void rex_share_counts(const struct rex_share *s, uint64_t *made, uint64_t *seeded);
