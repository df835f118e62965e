/* SPDX-License-Identifier: Apache-2.0 */

/* Hooks: functions that the library runs before and after calls that it forwards. A chain runs them
 * in a fixed order before the call, and in reverse order after it.
 *
 * A hook runs on the program's thread, within its call; the chain keeps errno. A hook never prints,
 * never exits and never waits for the program. It calls the driver through cap_cu or cap_real():
 * such calls are neither recorded nor passed to hooks, and may also be made from the library's own
 * threads. Hooks do not run while the thread is paused, except for the classes in `always`, nor in
 * forked children. */
#pragma once

#include "formats/raw/record.h"

#include <stddef.h>
#include <stdint.h>

/* A call in progress. On the stack of the call. */
struct cap_call {
	uint32_t api;	/* index into formats/api; CAP_API_UNKNOWN + n: no description */
	uint16_t class; /* enum api_class */
	uint8_t depth;	/* 0: called by the program itself */
	uint8_t paused;
	uint32_t traits; /* for call.h */
	uint32_t hooks;	 /* bit of each hook that handles the call: for chain.h */
	uint64_t id;
	const uint64_t *words;		  /* the arguments as in struct cap_call_record */
	const struct cap_plan_step *plan; /* remaining steps: plan.h */
	uint64_t start, end;		  /* in the ring's clock; `end` in after() only */
	uint64_t began, returned;	  /* cap_order(), if the ring is ordered */
	int64_t result;			  /* in after() only; 0 is success in every library */
	/* State of hooks between before() and after(); zero before the first hook runs. */
	struct cap_call_notes {
		void *digests_context;		  /* a context that may end */
		struct cap_timed_context *ending; /* the same, of the hook `times` */
		struct cap_stream *stream;	  /* the operation is timed on it */
	} notes;
};

struct cap_hook {
	uint64_t classes;  /* bit enum api_class: classes of calls that it handles */
	uint64_t always;   /* classes that it also handles while paused */
	uint32_t launches; /* enum cap_launch_hooks: how it handles launches; 0: CHAINED */
	int (*start)(
		void); /* once per process, after cuInit(): 0, or -errno: the hook is not used */
	/* Each may be NULL. */
	void (*before)(struct cap_call *c);
	void (*after)(struct cap_call *c);
	/* Iteration `number` is about to be marked. */
	void (*before_iteration)(int64_t number);
	/* Iteration `number` begins, and the previous one has ended; `id` is that of the marker. */
	void (*iteration)(int64_t number, uint64_t id);
	void (*thread_end)(void);
	/* Called when the process exits normally. end(): finish outstanding work soon. ended():
	 * write the results, after outstanding work was collected or given up. */
	void (*end)(void);
	void (*ended)(void);
};
