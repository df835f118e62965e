/* SPDX-License-Identifier: Apache-2.0 */

/* Collectives in virtual time: which ranks take part, and when the last has arrived. moment.h
 * defines the start and end.
 *
 * A *group* is a set of ranks (of a communicator, or a pair that exchanges messages); its
 * collectives have sequence numbers. A rank of the group is a *participant*. The participants of a
 * collective are not known beforehand: a recording may have begun later on one rank, or have been
 * cut off. So ranks *declare* the collectives that they will join, some at a time, and then *seal*
 * their declarations: a participant that has sealed beyond a number without declaring it is absent.
 * A collective ends when each of its participants has joined or is absent.
 *
 * Not thread-safe. Functions return 0 or -ENOMEM unless stated otherwise.
 */
#pragma once

#include "replay/clock/moment.h"

#include <stddef.h>
#include <stdint.h>

#define SIM_NONE UINT32_MAX
#define SIM_PENDING INT64_MIN /* an unknown time */

struct sim_collective {
	int64_t seq;
	struct moment_collective when;
	int64_t end_ns; /* SIM_PENDING until it ends */
	uint32_t group;
	uint32_t unknown; /* participants that may still declare the collective */
	uint32_t expected, joined, unread;
	uint32_t declarer;	 /* the participant that declared it last */
	uint64_t last;		 /* the last rank that joined: SIM_REF */
	uint32_t next;		 /* in the bucket */
	uint32_t older, younger; /* in the list of the group's collectives */
};

struct sim_collectives;

int sim_collectives_new(uint32_t n_ranks, struct sim_collectives **ret);
void sim_collectives_free(struct sim_collectives *m);

/* Makes a group of n different ranks, at any time; *ret is its number (0, 1, 2 ...). */
int sim_add_group(struct sim_collectives *m, const uint32_t *ranks, uint32_t n, uint32_t *ret);

/* Returns the number of a participant, counted over all groups; SIM_NONE if `rank` is not in the
 * group. */
uint32_t sim_participant(const struct sim_collectives *m, uint32_t rank, uint32_t group);

/* Declares that the participant will join collective `seq` (0 <= seq < INT64_MAX) of its group.
 * Returns 1 and sets *collective; 0 if it was declared before, or the collective has ended. */
int sim_declare(struct sim_collectives *m, uint32_t member, int64_t seq, uint32_t *collective);

/* Seals the declarations of `rank` up to the largest numbers declared so far; with `ended`, all. */
void sim_seal(struct sim_collectives *m, uint32_t rank, int ended);

/* Records the arrival of a participant at `at_ns`, the time of moment `who`. duration_ns is its
 * recorded duration. */
void sim_join(struct sim_collectives *m, uint32_t collective, int64_t at_ns, int64_t duration_ns,
	      uint64_t who);

/* Returns the number of collectives; their numbers are below it. */
size_t sim_n_collectives(const struct sim_collectives *m);
const struct sim_collective *sim_collective(const struct sim_collectives *m, uint32_t collective);

/* Tells that a participant has read the end. The last call frees the collective. */
void sim_leave(struct sim_collectives *m, uint32_t collective);

/* Ends the collective with the earliest arrival without its missing participants; 0 if no
 * participant has arrived at any. */
int sim_force_end(struct sim_collectives *m);

/* Returns the number of ranks of a group in which a collective has ended since the last call, and
 * sets *ranks to them; 0 if there is no such group. */
uint32_t sim_ended_group(struct sim_collectives *m, const uint32_t **ranks);
