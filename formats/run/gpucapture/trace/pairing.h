/* SPDX-License-Identifier: Apache-2.0 */

/* The communicators of all processes and what was done in them, as formats/run/collectives/order.h
 * pairs it. One thread. */
#pragma once

#include "formats/run/gpucapture/trace/ranks.h"
#include "formats/run/run.h"

struct rec_pair {
	uint32_t comm; /* of the names; FMT_NO_COMM: its communicator is not known */
	int64_t seq;
	fmt_str peers; /* a list for FMT_KEY_PEERS; 0: all who meet */
};

struct rec_pairing {
	struct fmt_participant *participants; /* owned; `owner` is the process's index, `from` the
				      number of a collective */
	size_t n, n_processes;
	uint32_t *n_of;	      /* owned: by process, its collectives */
	struct rec_pair **of; /* owned: by process and number of its collective */
};

/* Names the communicators, and pairs all collectives. 0 or a negative errno. */
int rec_pairing_find(struct rec_process *const *processes, size_t n, const struct rec_ranks *ranks,
		     struct fmt_names *names, struct rec_pairing *ret);
void rec_pairing_done(struct rec_pairing *m);

/* Writes down in the operations of a process before `end` which collective each is: these are no
 * longer among its collectives. *unmatched counts those whose communicator is not known. 0 or a
 * negative errno. */
int rec_pairing_apply(const struct rec_pairing *m, struct rec_process *p, uint32_t end,
		      uint64_t *unmatched);
