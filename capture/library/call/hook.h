/* SPDX-License-Identifier: Apache-2.0 */

/* Hooks: functions that the library runs before and after calls that it forwards. A chain runs them
 * in a fixed order before the call, and in the opposite order after it.
 *
 * A hook runs on the program's thread, within its call; the chain keeps errno. A hook never prints,
 * never exits and never waits for the program. It calls the driver through cap_cu or cap_real():
 * such calls are neither recorded nor passed to hooks, and may be made from the library's own
 * threads, too. Hooks do not run while the thread is paused, except for the classes in `always`;
 * nor in forked children.
 */
#pragma once

#include "formats/raw/record.h"

#include <stddef.h>
#include <stdint.h>

/* A call under way. On the stack of the call; gone when it returns. */
struct cap_call {
	uint32_t api;	/* index into formats/api; CAP_API_UNKNOWN + n: no description */
	uint16_t class; /* enum api_class */
	uint8_t depth;	/* 0: called by the program itself */
	uint8_t paused;
	uint32_t how;	/* for call.h */
	uint32_t hooks; /* bit of each hook that acts on the call: for chain.h */
	uint64_t id;
	const uint64_t *words;	     /* the arguments as in struct cap_call_record */
	const struct cap_step *plan; /* steps that are left: plan.h */
	uint64_t start, end;	     /* in the ring's clock; `end` in after() only */
	uint64_t order;		     /* cap_order() when it returned, if the ring is ordered */
	int64_t result;		     /* in after() only; 0 is success in every library */
	/* State of hooks between before() and after(); zero before the first hook runs. */
	struct cap_call_notes {
		void *digests_context;		     /* a context that may end */
		struct cap_timed_context *ending;    /* the same, for the hook `times` */
		struct cap_stream *stream;	     /* the operation is timed on it */
		struct cap_timed_parts *timed_parts; /* times/op_queue.h */
	} notes;
};

struct cap_hook {
	uint64_t classes;   /* bit enum api_class: calls that it handles */
	uint64_t always;    /* those that it handles while paused, too */
	uint32_t launches;  /* enum cap_launch_hooks: how it handles launches; 0: CHAINED */
	int (*start)(void); /* once a process, when cuInit() has succeeded: 0, or -errno: the hook
			       is not used */
	/* Each may be NULL. */
	void (*before)(struct cap_call *c);
	void (*after)(struct cap_call *c);
	/* Iteration `number` begins, and the one before it has ended; `id` is that of the mark. */
	void (*iteration)(int64_t number, uint64_t id);
	void (*thread_end)(void);
	/* The process ends in an orderly way: hurry what is outstanding; then, when that is
	   collected or was given up: write what is known of it. */
	void (*end)(void);
	void (*ended)(void);
};
