/* SPDX-License-Identifier: Apache-2.0 */

/* The difference between two traces that comes first by cause (cause_find.h), as text and as
 * JSON. */
#pragma once

#include "base/text.h"
#include "formats/render/report/cause_writer.h"
#include "formats/trace/json.h"

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

/* The difference as a text of one line, without its end. */
void fmt_cause_text(const struct fmt_cause *c, struct text *out);

/* Lines about the ranks that read or wrote other bytes; without a difference, about those of which
 * one trace has more. */
void fmt_cause_ranks_text(const struct fmt_cause *c, struct text *out);

/* The ranks as a member "gpus" of an open object, and the difference as a member "difference". */
void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j);
