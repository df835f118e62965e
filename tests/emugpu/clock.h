/* SPDX-License-Identifier: Apache-2.0 */

/* Programs of random steps: the emulated driver runs them (clock_run.c), replay/clock gets only
 * their dependencies (clock_graph.c), and clock.c compares the times. */
#pragma once

#include <stdint.h>

enum {
	MAX_GPUS = 4,
	/* of a GPU: 0 is the null stream, 1 is a blocking stream, the others are non-blocking */
	STREAMS = 5,
	EVENTS = 4, /* of a GPU */
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
	/* GPU, stream and event of the step; the event belongs to the GPU */
	uint32_t gpu, stream, event;
	/* another GPU: the destination of COPY_PEER, the owner of WAIT's event */
	uint32_t other;
	uint32_t blocks, size;
	int64_t ns; /* duration of a kernel */

	/* Times on the emulated driver. */
	int64_t start_ns; /* start of a kernel, in virtual time */
	int64_t after_ns; /* the calling thread's clock after the step */
};

/* The steps of one host thread. */
struct thread {
	int64_t begin_ns; /* its clock before the first step */
	uint32_t n;
	struct step steps[MAX_STEPS];
};

/* One thread for all GPUs, or one for each GPU; collectives only with the latter. */
struct program {
	uint32_t gpus, threads;
	struct thread thread[MAX_GPUS];
	int64_t collective_ns[SIZES];
};

/* The driver's cost model, as the emulation needs it. */
struct costs {
	int64_t launch_ns, gap_ns, event_ns, sync_ns;
	int64_t call_launch_ns, call_collective_ns, call_copy_ns, call_event_ns, call_query_ns;
	int64_t copy_ns[STEP_KINDS][SIZES]; /* as measured on idle streams */
	double blocks_held;		    /* by a whole GPU */
};

void run_setup(uint32_t gpus, struct costs *ret);
void run_program(struct program *p);

/* Prints the first time that differs, and returns how many differ. */
unsigned graph_compare(const struct program *p, const struct costs *c);
