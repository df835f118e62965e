/* SPDX-License-Identifier: Apache-2.0 */

/* Matches the operations of a collective by their ends, for recordings that do not number all
 * collectives. No rank can end a collective before every rank has begun it, so the operations of
 * one collective end at nearly the same time.
 *
 * A *row* contains the operations of one rank for one process group, on one stream, or on several
 * if the recorder named the group. Rows are first grouped into communicators: by the name of the
 * process group if recorded; else rows whose collectives repeatedly have the same name and end.
 * Then the collectives of each communicator are numbered.
 *
 * One thread. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/run/clocks.h"
#include "formats/trace/names.h"

/* The number of participants of an operation. */
enum fmt_ends_kind {
	FMT_ENDS_COLLECTIVE, /* all ranks of the communicator */
	FMT_ENDS_MESSAGE,    /* two: a send or receive */
	FMT_ENDS_EITHER,     /* a SendRecv kernel: an all-to-all, or a send */
};

struct fmt_ends_op {
	int64_t start_ns, end_ns; /* on one clock for all ranks */
	int64_t seq;		  /* its number in the communicator as recorded; -1: unknown */
	fmt_str name;		  /* of the kernel */
	uint8_t kind;		  /* enum fmt_ends_kind */
	uint32_t op;		  /* owned by the caller; ascending within a rank */
};

struct fmt_ends_row {
	uint32_t rank, stream; /* the stream of one of its operations */
	uint8_t any_stream;    /* its operations may be on several streams */
	fmt_str group;	       /* name of the process group, or 0 */
	fmt_str ranks;	       /* recorded text of the group's ranks, or 0 */
	fmt_str description;   /* of the group, or 0 */
	uint32_t first, n;     /* its operations are ops[first .. + n), by start */
	uint32_t comm;	       /* out: index of comms */
};

/* A communicator. */
struct fmt_ends_comm {
	uint32_t first, n; /* its rows are members[first .. + n) */
};

/* All rows, by rank. The caller fills rows and ops; functions below fill the rest. */
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

/* One participant of a collective. */
struct fmt_participation {
	uint32_t rank, op; /* op as in struct fmt_ends_op */
	uint32_t comm;	   /* index of comms */
	int64_t seq;
};

/* Numbers the collectives of each communicator by the recorded numbers, else in the order of their
 * ends. *ret has one entry for each of the n_ops operations, by rank and op; the caller frees
 * it. */
int fmt_collectives_match_by_ends(const struct fmt_ends *e, struct fmt_participation **ret);

/* Returns a copy of p[0 .. n) sorted by collective, which the caller frees; NULL if out of
 * memory. */
struct fmt_participation *fmt_participations_sort(const struct fmt_participation *p, size_t n);

/* Returns the end of the range of participations, sorted so, that belong to the collective of
 * p[first]. */
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

/* Aligns the clocks of all ranks, from the rows that agree best. A rank keeps its guess on entry if
 * no row ties it to one of a lower number. 0 or -ENOMEM. */
int fmt_sequences_align_clocks(const struct fmt_ends *e, struct fmt_clock *clocks);
