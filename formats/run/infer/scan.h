/* SPDX-License-Identifier: Apache-2.0 */

/* Goes through the calls of a rank in the order in which they were made, and says at each call that
 * waits through an event where it stands and what it may wait for. Functions return 0 or -ENOMEM.
 */
#pragma once

#include "formats/run/infer/view.h"

#include <stdbool.h>

#define INFER_CANDIDATES 64

/* An operation behind which an event had been recorded. */
struct infer_candidate {
	uint32_t op;
	uint32_t nth; /* of its name and stream, the newest is 0 */
};

/* A call that waits through an event. */
struct infer_site {
	uint32_t call;
	uint32_t next;	   /* the call of its thread that launches next, or INFER_NONE */
	uint32_t before;   /* operation that its thread launched last, or INFER_NONE */
	uint32_t earlier;  /* the one that it launched before that */
	uint32_t position; /* of such calls since then */
	uint32_t guess;	   /* what it waits for by the habits of PyTorch and NCCL, or INFER_NONE */
	uint32_t stream;   /* which waits then; INFER_NONE: none, or the host */
	uint32_t n;
	struct infer_candidate candidates[INFER_CANDIDATES]; /* of each kind the newest first */
};

struct infer_scan_thread {
	uint32_t launched, compute; /* newest operation; the same apart from collectives */
	uint32_t earlier;	    /* by the launch before the newest one */
	uint32_t position;	    /* calls that wait through an event, since then, */
	bool is_recorded;	    /* its last call recorded an event */
};

struct infer_scan {
	const struct infer_view *v;
	struct infer_scan_thread *threads;
	uint32_t *next;		      /* by call */
	uint32_t *last;		      /* by stream: the operation launched last, or INFER_NONE */
	uint8_t *recorded;	      /* by operation: it is a candidate */
	uint32_t *candidates[2];      /* collectives and others, the oldest first */
	uint32_t n_candidates[2];     /* of each */
	uint32_t compute, collective; /* newest of all threads */
	bool has_records;
	uint32_t own_before, own_after; /* waits that belong to launching a collective */
};

int infer_scan_init(struct infer_scan *s, const struct infer_view *v);
void infer_scan_done(struct infer_scan *s);

/* Moves behind a call: 1 and fills *ret if the call waits through an event, else 0. */
int infer_scan_call(struct infer_scan *s, uint32_t call, struct infer_site *ret);

/* The operation that a stream runs next after the call at which the scan stands; or INFER_NONE. */
uint32_t infer_scan_next(const struct infer_scan *s, uint32_t stream);
