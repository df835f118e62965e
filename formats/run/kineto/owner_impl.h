/* SPDX-License-Identifier: Apache-2.0 */

/* What finding owners keeps: owner.c knows parts, owner_launch.c which process launched what. */
#pragma once

#include "formats/run/kineto/owner.h"

#include <stdbool.h>

/* Pids of threads that called, or of streams that worked, by their order. */
struct owner_ids {
	struct kineto_arg *ids;
	uint32_t *of_track; /* KINETO_NOBODY */
	uint32_t n;
};

struct owner_launch {
	uint64_t correlation;
	int64_t start_ns;
	uint32_t event, process;
};

struct owner_job {
	const struct kineto_rank *k;
	const struct kineto_templates *templates;
	struct owner_ids processes, devices;
	struct owner_launch *launches; /* by correlation, process, start */
	size_t n_launches;
	uint32_t *owner;     /* of each device, the process */
	bool *shared;	     /* of each device: several processes work on it */
	uint32_t *call_of;   /* of each event, the call that launched it */
	uint32_t *ran_for;   /* of each operation, the process */
	uint64_t guessed;    /* operations that several processes may have launched */
	uint64_t *ops;	     /* by process and device */
	uint64_t *kernels;   /* likewise */
	uint32_t *part;	     /* likewise: the part that they go to */
	uint32_t *main_part; /* by process */
};

static inline int owner_kind(const struct owner_job *j, const struct fmt_event *e)
{
	return j->templates->templates[e->template].kind;
}

/* Fills owner, shared, call_of and ran_for from events, processes and devices. 0 or -ENOMEM. */
int owner_launchers(struct owner_job *j);
