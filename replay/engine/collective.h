/* SPDX-License-Identifier: Apache-2.0 */

/* Who numbered_by_trace where: moment.h says what comes of it.
 *
 * A *group* is a set of ranks; its collectives have sequence numbers. Who takes part in a
 * collective is not known beforehand: a recording may have begun later on one rank, or have been
 * cut off. So ranks *declare* what they will join, some at a time, and seal what they declared: a
 * member that has sealed beyond a number without declaring it does not come. A collective is over
 * when each of its members has joined, or does not come.
 *
 * Not thread-safe. Functions return 0 or -ENOMEM, where nothing else is said.
 */
#pragma once

#include "replay/engine/moment.h"

#include <stddef.h>
#include <stdint.h>

struct sim_collective {
	int64_t seq;
	struct moment_collective when;
	int64_t end_ns; /* SIM_PENDING until it is over */
	uint32_t group;
	uint32_t unknown; /* members that may still declare */
	uint32_t expected, joined, unread;
	uint32_t declarer;	 /* the member that declared last */
	uint32_t next;		 /* in the bucket */
	uint32_t older, younger; /* among those of the group */
};

struct sim_collectives;

int sim_collectives_new(uint32_t n_ranks, struct sim_collectives **ret);
void sim_collectives_free(struct sim_collectives *m);

/* Makes a group of n different ranks, at any time; *ret is its number: 0, 1, 2 ... */
int sim_group(struct sim_collectives *m, const uint32_t *ranks, uint32_t n, uint32_t *ret);

/* The number of `rank` among all members of all groups, or SIM_NONE when it is not in the group. */
uint32_t sim_participant(const struct sim_collectives *m, uint32_t rank, uint32_t group);

/* The member will join collective `seq` (0 <= seq < INT64_MAX) of its group. Returns 1 and sets
 * *collective; or 0 when it cannot, because it did already, or the collective is over. */
int sim_declare(struct sim_collectives *m, uint32_t member, int64_t seq, uint32_t *collective);

/* What `rank` will join up to the largest numbers declared so far is declared; with `ended`, all.
 */
void sim_seal(struct sim_collectives *m, uint32_t rank, int ended);

/* A member arrives. */
void sim_join(struct sim_collectives *m, uint32_t collective, int64_t at_ns, int64_t duration_ns);

const struct sim_collective *sim_collective(const struct sim_collectives *m, uint32_t collective);

/* A member has seen the end; the collective is gone after its last. */
void sim_leave(struct sim_collectives *m, uint32_t collective);

/* Ends the collective that began first with those who are there; 0 when none has begun. */
int sim_force(struct sim_collectives *m);

/* The members of a group in which a collective ended since: sets *ranks, returns how many; 0: none.
 */
uint32_t sim_ended_group(struct sim_collectives *m, const uint32_t **ranks);
