/* SPDX-License-Identifier: Apache-2.0 */

/* Matches the collectives of all processes, by the order in their communicators
 * (formats/run/collectives/by_order.h). One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/run.h"

struct rec_pair {
	uint32_t comm; /* in the names; FMT_NO_COMM: unknown */
	int64_t seq;
	fmt_str peers; /* list for FMT_KEY_PEERS; 0: all ranks */
};

struct rec_pairing {
	struct fmt_participant *participants; /* owned; `owner` is the index of the process, `from`
						 the number of its collective */
	size_t n, n_processes;
	uint32_t *n_collectives; /* owned: number of collectives, by process */
	struct rec_pair **pairs; /* owned: by process and number of the collective */
};

/* Names the communicators and matches all collectives. Returns 0 or a negative errno. */
int rec_pairing_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		     struct fmt_names *names, struct rec_pairing *ret);
void rec_pairing_done(struct rec_pairing *m);

/* Stores the match of each collective in its operation, for operations of a process before `end`,
 * and removes these from the process's collectives. *unmatched counts those of unknown
 * communicators. Returns 0 or a negative errno. */
int rec_pairing_apply(const struct rec_pairing *m, struct rec_process *p, uint32_t end,
		      uint64_t *unmatched);
