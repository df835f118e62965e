/* SPDX-License-Identifier: Apache-2.0 */

/* Compares two traces: what the GPUs did, stream by stream over the whole run, with which
 * parameters, after which waits, and which bytes it read and wrote if both hold digests; and what
 * threads called. Reports the difference that comes first by cause: the operation with the earliest
 * start, over all ranks, that did something else, or wrote other bytes although all that it read is
 * the same. A collective is a cause only if what every rank put in is the same. An operation that
 * only read other bytes counts if there is nothing else, with the copy that brought them. A call
 * counts last.
 *
 * Times are not compared, nor is what a recorder numbers or what depends on chance: ranks are
 * matched by number, tracks by what they did, allocations by kind, length and order, iterations not
 * at all. Calls that only ask and calls that load code are left out. Not thread-safe.
 */
#pragma once

#include "base/text.h"
#include "formats/render/report/cause_scope.h"
#include "formats/render/report/cause_writer.h"
#include "formats/trace/json.h"
#include "formats/trace/store/trace.h"

#include <stdbool.h>

enum fmt_cause_kind {
	FMT_CAUSE_NONE,	      /* no difference */
	FMT_CAUSE_SEQUENCE,   /* a track did something else, or there are other ranks */
	FMT_CAUSE_PARAMETERS, /* the same operation with other parameters */
	FMT_CAUSE_WAITS,      /* after other waits for events */
	FMT_CAUSE_WRITTEN,    /* the same was read, other bytes were written */
	FMT_CAUSE_READ,	      /* other bytes were read, which nothing that was digested wrote */
};

struct fmt_cause_rank {
	uint64_t number;     /* of the rank */
	uint64_t operations; /* that both did */
	uint64_t digests;    /* that both hold */
	uint64_t alone;	     /* digests that one of the traces does not hold */
	uint64_t differing;  /* operations that read or wrote other bytes */
	uint64_t causes;     /* of these: those that read the same */
	uint64_t unordered;  /* of those that differ: known to differ from themselves */
	uint64_t later[2];   /* what one trace has at the end of its last iteration, and the other
				does not: not a difference */
};

struct fmt_cause {
	enum fmt_cause_kind kind;
	int64_t rank;	   /* its number; -1: of the whole traces, then only the texts are set */
	int64_t iteration; /* number */
	int64_t start_ns;
	char track[64];			/* "stream 7" */
	fmt_number number;		/* of the event, in the first trace that has it */
	struct text first, second;	/* "kernel scale", or "nothing" */
	struct fmt_digest buffer;	/* WRITTEN, READ: as in the first trace */
	uint32_t page;			/* the first that differs */
	struct fmt_cause_writer writer; /* READ: the copy that brought the bytes */
	struct fmt_cause_rank *ranks;	/* owned */
	uint32_t n_ranks;
};

void fmt_cause_done(struct fmt_cause *c);

/* 0 or a negative errno as fmt_slice_load(), with *err. The caller ends *ret in any case. */
int fmt_cause_find(struct fmt_trace *a, struct fmt_trace *b, const struct fmt_cause_scope *scope,
		   struct fmt_cause *ret, struct fmt_error *err);

/* The difference as a text of one line, without its end. */
void fmt_cause_text(const struct fmt_cause *c, struct text *out);

/* Lines about the ranks that read or wrote other bytes; without a difference, about those of which
 * one trace has more. */
void fmt_cause_ranks_text(const struct fmt_cause *c, struct text *out);

/* The ranks as a member "gpus" of an open object, and the difference as a member "difference". */
void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j);
