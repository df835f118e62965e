/* SPDX-License-Identifier: Apache-2.0 */

/* Orders the calls of all threads of a process: one at a time, in the order in which they returned
 * in the recording. An NCCL call may also start while a call that returned earlier is in progress,
 * if it can have begun before that call returned: the earlier call may be waiting for it. Any
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum rex_call_kind {
	REX_CALL_INDEPENDENT, /* does not wait for other calls */
	REX_CALL_BLOCKING,    /* may wait for a device, and so for REX_CALL_NCCL calls */
	REX_CALL_NCCL,	  /* an NCCL call, or the launch of a graph: it may contain collectives */
	REX_CALL_DESTROY, /* destroys an object; such calls may wait for each other */
};

/* A recorded call. */
struct rex_ordered_call {
	uint32_t number; /* in the order of returns */
	uint32_t after;	 /* it began after this number of calls had returned, or later */
	enum rex_call_kind kind;
};

struct rex_call_order;

int rex_call_order_new(uint32_t n_threads, struct rex_call_order **ret);
void rex_call_order_free(struct rex_call_order *t);

/* Sets the thread's next call, after the previous one has returned; NULL: the thread has no more
 * calls. Set the first call of every thread before any thread begins one. */
void rex_call_order_set_next(struct rex_call_order *t, uint32_t thread,
			     const struct rex_ordered_call *call);
/* Returns the number of the call that returned first in the recording, among calls in progress and
 * next calls; UINT32_MAX: none. */
uint32_t rex_call_order_first(struct rex_call_order *t);
/* Waits until the thread may begin its next call. Returns false if the run was aborted. */
bool rex_call_order_wait(struct rex_call_order *t, uint32_t thread);
/* Aborts the run: wakes all threads. */
void rex_call_order_abort(struct rex_call_order *t);
