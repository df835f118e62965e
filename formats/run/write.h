/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a rank of a run, or a segment of one, slice by slice, with the ranges and digests that its
 * source returns slice by slice. One thread. */
#pragma once

#include "formats/run/plan.h"
#include "formats/trace/store/writer.h"

/* `run` has all edges, and at least one iteration; `index` is its number among the ranks in the
 * names. */
int fmt_run_write(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		  const struct fmt_run_source *source, struct fmt_writer *writer,
		  struct fmt_error *err);
/* The same behind what `writer` has of the rank already. */
int fmt_run_write_more(const struct fmt_names *names, const struct fmt_run_rank *run,
		       uint32_t index, const struct fmt_run_source *source,
		       struct fmt_rank_writer *writer, struct fmt_error *err);

/* Numbers the events of a rank for edges to other ranks, which leave out ranks without numbers. The
 * writer has written `first` events of the rank so far. rank->number_of is the caller's. */
int fmt_run_number(struct fmt_run_rank *rank, const struct fmt_run_source *source,
		   fmt_number first);

/* Writes down in the events which collective each is, as formats/run/infer found out. */
void fmt_run_number_collectives(struct fmt_run_rank *run);
