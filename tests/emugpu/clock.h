/* SPDX-License-Identifier: Apache-2.0 */

/* Programs of random steps, which the emulated driver runs (clock_run.c) and of which the engine is
 * told nothing but what depends on what (clock_graph.c): clock.c compares the two. */
#pragma once

#include <stdint.h>

enum {
	MAX_GPUS = 4,
	STREAMS = 5, /* of a GPU: 0 is the null stream, 1 waits for it and it for 1, others don't */
	EVENTS = 4,  /* of a GPU */
	MAX_STEPS = 100,
	SIZES = 3, /* of copies, fills and collectives */
};

enum step_kind {
	KERNEL,
	COPY_IN,
	COPY_OUT,
	COPY_WITHIN,
	COPY_PEER,
	FILL,
	HOST_FUNCTION,
	COLLECTIVE,
	RECORD,
	WAIT,
	SYNC_STREAM,
	SYNC_EVENT,
	SYNC_GPU,
	STEP_KINDS
};

struct step {
	enum step_kind kind;
	uint32_t gpu, stream, event; /* the event is the GPU's */
	uint32_t other;		     /* another GPU: of COPY_PEER, and of WAIT the event's */
	uint32_t blocks, size;
	int64_t ns; /* of a kernel */

	/* What came of it on the emulated driver. */
	int64_t start_ns; /* of a kernel, a moment of virtual time */
	int64_t after_ns; /* the calling thread's clock */
};

/* What a host thread does. */
struct thread {
	int64_t begin_ns; /* its clock before the first step */
	uint32_t n;
	struct step steps[MAX_STEPS];
};

/* With one thread for all GPUs, or one for each; collectives only then. */
struct program {
	uint32_t gpus, threads;
	struct thread thread[MAX_GPUS];
	int64_t collective_ns[SIZES];
};

/* What the driver's model says; the rest of what the engine has to be told. */
struct costs {
	int64_t launch_ns, gap_ns, event_ns, sync_ns;
	int64_t call_launch_ns, call_copy_ns, call_event_ns, call_query_ns;
	int64_t copy_ns[STEP_KINDS][SIZES]; /* as measured on idle streams */
	double blocks_held;		    /* by a whole GPU */
};

void run_setup(uint32_t gpus, struct costs *ret);
void run_program(struct program *p);

/* How many of the moments differ, after a line for the first of them. */
unsigned graph_compare(const struct program *p, const struct costs *c);
