/* SPDX-License-Identifier: Apache-2.0 */

/* Compares the operations of two traces that hold digests, stream by stream over the whole run, and
 * finds the operation where they part first by cause: what it read is the same, what it wrote is
 * not, and no operation of any rank that began before did that. A collective is a cause only if
 * what every rank put in is the same. Not thread-safe.
 */
#pragma once

#include "base/text.h"
#include "formats/trace/json.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

enum fmt_cause_kind {
	FMT_CAUSE_NONE,	    /* no difference */
	FMT_CAUSE_SEQUENCE, /* a stream did something else */
	FMT_CAUSE_WRITTEN,  /* the same was read, other bytes were written */
	FMT_CAUSE_READ,	    /* other bytes were read, which nothing that was digested wrote */
};

struct fmt_cause_rank {
	uint64_t number;     /* of the rank */
	uint64_t operations; /* that both did */
	uint64_t digests;    /* that both hold */
	uint64_t alone;	     /* digests that one of the traces does not hold */
	uint64_t differing;  /* operations that read or wrote other bytes */
	uint64_t causes;     /* of these: those that read the same */
};

struct fmt_cause {
	enum fmt_cause_kind kind;
	int64_t rank, iteration; /* numbers */
	int64_t start_ns;
	char track[64];		      /* "stream 7" */
	uint64_t event;		      /* of the stream, over the whole run, from 0 */
	struct text first, second;    /* "kernel scale", or "nothing" */
	struct text buffer;	      /* "wrote 4096 bytes at 0 of allocation 3, page 0 of 1" */
	struct fmt_cause_rank *ranks; /* owned */
	uint32_t n_ranks;
};

void fmt_cause_done(struct fmt_cause *c);

/* Whether any slice of the trace has digests. */
bool fmt_cause_has_digests(const struct fmt_trace *t);

/* 0 or a negative errno as fmt_slice_load(), with *err; -EINVAL: not the same ranks. The caller
 * ends *ret in any case. */
int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, struct fmt_cause *ret,
		   struct fmt_error *err);

/* The difference as a text of one line, without its end. */
void fmt_cause_text(const struct fmt_cause *c, struct text *out);

/* The difference as a member "difference" of an open object. */
void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j);
