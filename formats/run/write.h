/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a rank of a run, or a segment of one, slice by slice, with the ranges and digests that its
 * source provides. One thread. */
#pragma once

#include "formats/run/slicing.h"
#include "formats/trace/store/writer.h"

/* `run` has all edges, and at least one iteration; `index` is its index in the names. */
int fmt_run_write(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		  const struct fmt_run_source *source, struct fmt_writer *writer,
		  struct fmt_error *err);
/* Writes a later segment of a rank, of which `writer` already contains earlier ones. */
int fmt_run_append(const struct fmt_names *names, const struct fmt_run_rank *run, uint32_t index,
		   const struct fmt_run_source *source, struct fmt_rank_writer *writer,
		   struct fmt_error *err);

/* Numbers the events of a rank for edges from other ranks, with the source by which the rank will
 * be written. Edges to ranks without numbers are omitted. The writer has written `first` events of
 * the rank so far. */
int fmt_run_number(struct fmt_run_rank *rank, const struct fmt_run_source *source,
		   fmt_number first);

/* Stores communicator and number of each collective in its event, as found by formats/run/infer. */
void fmt_run_number_collectives(struct fmt_run_rank *run);
