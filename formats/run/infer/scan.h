/* SPDX-License-Identifier: Apache-2.0 */

/* Iterates over the calls of a rank in the order in which they were made. For each call that waits
 * through an event, returns its site and the operations that it may wait for. Functions return 0 or
 * -ENOMEM. */
#pragma once

#include "formats/run/infer/view.h"

#include <stdbool.h>

#define INFER_CANDIDATES 64

/* An operation after which an event was recorded. */
struct infer_candidate {
	uint32_t op;
	uint32_t nth; /* counts operations of its name and stream backwards; the newest is 0 */
};

/* A call that waits through an event: its site and candidates. */
struct infer_site {
	uint32_t call;
	uint32_t next;	   /* the next launching call of its thread, or INFER_NONE */
	uint32_t before;   /* last operation launched by its thread, or INFER_NONE */
	uint32_t earlier;  /* the operation launched before that */
	uint32_t position; /* number of such calls since then */
	uint32_t guess;	   /* likely dependency in PyTorch and NCCL, or INFER_NONE */
	uint32_t stream;   /* the stream that waits; INFER_NONE: the host waits, or unknown */
	bool for_work;	   /* it follows a collective: PyTorch's `work.wait()` */
	bool not_next;	   /* the stream of the next launch, a collective, does not wait */
	bool direct;	   /* its event was recorded directly before */
	uint32_t n;
	struct infer_candidate candidates[INFER_CANDIDATES]; /* by kind, the newest first */
};

struct infer_scan_thread {
	uint32_t launched, compute; /* newest operation; newest one on a stream of kernels */
	uint32_t earlier;	    /* the newest of the launch before */
	uint32_t seen;		    /* launches of all threads up to its last call */
	uint32_t position;	    /* calls that wait through an event since the last launch */
	uint32_t records;	    /* events recorded since its last launch or wait */
	bool took_over;		    /* another thread launched `launched` */
};

struct infer_scan {
	const struct infer_view *v;
	struct infer_scan_thread *threads;
	uint32_t *next;		  /* by call */
	uint32_t *last;		  /* by stream: last launched operation, or INFER_NONE */
	uint8_t *recorded;	  /* by operation: it is a candidate */
	uint8_t *has_kernels;	  /* by stream: it runs kernels, not only copies or collectives */
	uint32_t *candidates[2];  /* collectives; others; the oldest first */
	uint32_t n_candidates[2]; /* of each kind */
	uint32_t *awaited;	  /* by stream: newest operation up to which collectives are likely
				     awaited; INFER_NONE */
	uint8_t *in_order;	  /* by stream: a wait directly behind a collective is for the
				     oldest one that no wait was for */
	uint32_t *event_of;	  /* by call: operation whose event is passed to it (passed.h), or
				     INFER_NONE */
	uint32_t launched, earlier, compute, collective; /* as in threads, of all threads */
	uint32_t n_launches;
	uint32_t n_work_waits;		/* waits for collectives, without NCCL's own */
	uint32_t n_collectives, n_open; /* launched so far; before the last such wait */
	uint32_t *n_direct, *n_alone; /* by stream, while counting; else NULL: waits directly behind
					 a collective; those with no older collective to wait for */
	bool has_records;
	uint32_t own_before, own_after; /* number of waits that belong to launching a collective */
	uint32_t own_records;		/* of events behind it and such waits, at most 2 */
};

int infer_scan_init(struct infer_scan *s, const struct infer_view *v);
void infer_scan_done(struct infer_scan *s);

/* Advances past a call. Returns 1 and fills *ret if the call waits through an event, else 0. */
int infer_scan_call(struct infer_scan *s, uint32_t call, struct infer_site *ret);

/* Returns the first operation that the stream runs after the current call, or INFER_NONE. */
uint32_t infer_scan_next(const struct infer_scan *s, uint32_t stream);
