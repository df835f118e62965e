/* SPDX-License-Identifier: Apache-2.0 */

/* Which operations are one collective, by their ends: for recordings that do not number all
 * collectives. No rank can end a collective that another has not begun, so the operations of one
 * collective end at nearly the same time.
 *
 * A *row* is what one rank does for one process group on one stream, or on several where the
 * recorder named the group. Rows are first grouped into
 * communicators: rows of the same process group, where the recorder names it; else rows whose
 * collectives have the same name and end at the same time, again and again. Then the collectives of
 * each communicator are numbered.
 *
 * One thread. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/trace/names.h"

/* Whether all ranks of a communicator take part in an operation. */
enum fmt_ends_kind {
	FMT_ENDS_COLLECTIVE, /* all */
	FMT_ENDS_MESSAGE,    /* two: a send or receive */
	FMT_ENDS_EITHER,     /* a SendRecv kernel may be an all-to-all, or a send */
};

struct fmt_ends_op {
	int64_t start_ns, end_ns; /* on one clock for all ranks */
	int64_t seq;		  /* as the recorder numbered it in its communicator; -1 */
	fmt_str name;		  /* of the kernel */
	uint8_t kind;		  /* enum fmt_ends_kind */
	uint32_t op;		  /* the caller's; rises within a rank */
};

struct fmt_ends_row {
	uint32_t rank, stream; /* the stream of one of its operations */
	uint8_t any_stream;    /* its operations may be on several */
	fmt_str group;	       /* name of the process group, or 0 */
	fmt_str ranks;	       /* the recorder's text of its ranks, or 0 */
	fmt_str description;   /* of the group, or 0 */
	uint32_t first, n;     /* its operations are ops[first .. + n), by start */
	uint32_t comm;	       /* out: index of comms */
};

/* A communicator. */
struct fmt_ends_comm {
	uint32_t first, n; /* its rows are members[first .. + n) */
};

/* All rows, by rank. The caller fills rows and ops; the rest is found. */
struct fmt_ends {
	const struct fmt_names *names; /* not owned */
	struct fmt_ends_row *rows;
	struct fmt_ends_op *ops;
	struct fmt_ends_comm *comms;
	uint32_t *members;
	uint32_t n_rows, n_ranks, n_comms;
	size_t rows_cap, ops_cap, n_ops, comms_cap;
};

void fmt_ends_done(struct fmt_ends *e);

/* Groups the rows into communicators. */
int fmt_ends_find_comms(struct fmt_ends *e);

/* An operation's part in a collective. */
struct fmt_participation {
	uint32_t rank, op; /* op as in struct fmt_ends_op */
	uint32_t comm;	   /* index of comms */
	int64_t seq;
};

/* Numbers the collectives of each communicator in the order of their ends, or as the recorder did.
 * *ret has one entry for each of the n_ops operations, by rank and op; owned by the caller. */
int fmt_collectives_by_ends(const struct fmt_ends *e, struct fmt_participation **ret);

/* A copy of p[0 .. n) in the order of collectives; owned by the caller. NULL: no memory. */
struct fmt_participation *fmt_participations_sort(const struct fmt_participation *p, size_t n);

/* The index behind the last participation of the collective of p[first], in that order. */
size_t fmt_participations_end(const struct fmt_participation *p, size_t first, size_t n);

/* ---- sequence.c ----
 *
 * Rows compared by their order alone, whatever the clocks say: the collectives of one communicator
 * follow each other in the same order on all ranks, and each ends on all ranks at nearly the same
 * time. */

/* The alignment of two rows: operation k of the first is operation k + shift of the second. */
struct fmt_sequence {
	int64_t shift;
	int64_t ahead_ns; /* by which ends of the second row are later, most often */
	int64_t apart_ns; /* the mean distance from that; more if operations remain unmatched */
	uint32_t n;	  /* operations that were compared */
};

/* The shift at which they agree best; recordings begin or end at nearly the same collective. 0 if
 * they do not: names differ, the rows hardly overlap, or some ends do not agree. */
int fmt_sequences_compare(const struct fmt_ends *e, const struct fmt_ends_row *a,
			  const struct fmt_ends_row *b, struct fmt_sequence *ret);

/* Corrects ahead_ns[], by how much the clock of each rank is ahead: from the rows that agree best.
 * A rank keeps its guess if no row ties it to one of a lower number. 0 or -ENOMEM. */
int fmt_sequences_clocks(const struct fmt_ends *e, int64_t *ahead_ns);
