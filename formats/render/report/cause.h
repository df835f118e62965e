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
	FMT_CAUSE_SEQUENCE,   /* a track has other operations, or there are other ranks */
	FMT_CAUSE_PARAMETERS, /* the same operation with other parameters */
	FMT_CAUSE_WAITS,      /* the operation waits for other events */
	FMT_CAUSE_WRITTEN,    /* it read the same bytes and wrote other bytes */
	FMT_CAUSE_READ,	      /* it read other bytes, and no digested operation wrote them */
};

struct fmt_cause_rank {
	uint64_t number;     /* of the rank */
	uint64_t operations; /* executed in both */
	uint64_t digests;    /* present in both */
	uint64_t alone;	     /* present in one of the traces only */
	uint64_t of_host;    /* not compared: functions of the host in graphs may have written it */
	uint64_t differing;  /* operations that read or wrote other bytes */
	uint64_t causes;     /* of these: those that read the same bytes */
	uint64_t unordered;  /* of the differing operations: known to be nondeterministic */
	uint64_t later[2];   /* operations that only the first or second trace has at the end of its
				last iteration: not a difference */
};

struct fmt_cause {
	enum fmt_cause_kind kind;
	int64_t rank; /* its number; -1: concerns the whole traces; then only the texts are set */
	int64_t iteration; /* number */
	int64_t start_ns;
	char track[64];			/* "stream 7" */
	fmt_number number;		/* of the event, in the first trace that contains it */
	struct text first, second;	/* "kernel scale", or "nothing" */
	struct fmt_digest buffer;	/* WRITTEN, READ: as in the first trace */
	uint32_t page;			/* the first that differs */
	struct fmt_cause_writer writer; /* READ: the copy that wrote the bytes */
	struct fmt_cause_rank *ranks;	/* owned */
	uint32_t n_ranks;
};

void fmt_cause_done(struct fmt_cause *c);

/* Appends the difference as one line of text, without a newline. */
void fmt_cause_text(const struct fmt_cause *c, struct text *out);

/* Appends lines about the ranks that read or wrote other bytes; without a difference, about ranks
 * of which one trace has more operations. */
void fmt_cause_ranks_text(const struct fmt_cause *c, struct text *out);

/* Adds the ranks as a member "gpus" of an open object, and the difference as a member
 * "difference". */
void fmt_cause_json(const struct fmt_cause *c, struct fmt_json *j);
