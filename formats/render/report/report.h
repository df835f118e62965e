/* SPDX-License-Identifier: Apache-2.0 */

/* The report of `gputrace info`, and of the summaries in a mount: about a trace, an iteration of
 * it, or one GPU in an iteration.
 *
 * fmt_report_new() reads the operations of the part; the report is then printed as text or JSON. It
 * refers to the names of the trace, which must outlive it, but not to its events. Not thread-safe.
 */
#pragma once

#include "base/scope.h"
#include "base/text.h"
#include "formats/render/bandwidth.h"
#include "formats/render/report/busy.h"
#include "formats/trace/store/part.h"

/* One GPU in one iteration, or in the whole run. */
struct fmt_report_gpu {
	struct fmt_iteration iteration; /* of the annotation on the host; FMT_BEFORE and FMT_AFTER
					   have a row too. Whole run: number FMT_ANY */
	uint32_t rank;			/* index */
	struct fmt_busy busy;
	int64_t waiting_ns; /* wait time of collectives within that span */
	uint64_t n_records;
	uint32_t n_damaged; /* slices that could not be read */
};

/* All operations with one name. */
struct fmt_report_op {
	fmt_str name;
	uint8_t kind; /* FMT_KERNEL, FMT_MEMCPY, FMT_MEMSET */
	uint64_t n;
	int64_t total_ns, min_ns, max_ns;
	uint64_t bytes; /* of copies and memsets, if recorded */
};

/* All collectives of one communicator, kind, type and size. An *instance* is one collective over
 * all its ranks. Its transfer time is the shortest duration of any rank, and the rest is wait time;
 * known if two ranks or more were recorded. fmt_report_bandwidth() uses the mean transfer time of
 * an instance. */
struct fmt_report_collective {
	int64_t comm;	   /* index, or -1 */
	fmt_str op, dtype; /* or 0 */
	int64_t bytes;	   /* of one rank's message, or -1 */
	uint32_t n_ranks;  /* of the communicator, recorded or not; 0: unknown */
	uint64_t n_instances,
		n_ops;	  /* an instance counts in each row that contains some of its operations */
	int64_t total_ns; /* over all ranks */
	int64_t transfer_ns; /* over instances: the shortest of each */
	uint64_t n_shared;   /* number of operations in instances with two or more recorded ranks */
	int64_t waiting_ns;  /* over these operations */
};

struct fmt_bandwidth fmt_report_bandwidth(const struct fmt_names *names,
					  const struct fmt_report_collective *c);

struct fmt_report {
	struct fmt_trace *trace;
	uint32_t *first_on_gpu; /* by rank: the first rank on the same GPU */
	struct fmt_part part;
	uint64_t n_records[FMT_KINDS];
	uint64_t n_all_records; /* without edges and digests */
	uint64_t n_edges, n_digests;
	struct fmt_report_gpu *gpus; /* by iteration, then rank */
	size_t n_gpus;
	struct fmt_report_gpu *runs; /* whole recording, by GPU, if the part is all of it */
	size_t n_runs;
	struct fmt_report_op *ops; /* by total time, longest first */
	size_t n_ops;
	struct fmt_report_collective *collectives; /* likewise */
	size_t n_collectives;
};

/* Reads the part of `t`; for one iteration also the slices around it (neighbours.h). Damaged slices
 * are omitted and counted, also in part->left_out. Wait times require all ranks; a report of one
 * GPU contains them only with `across` set, since that reads the other ranks' slices too. Returns
 * 0, -ENOMEM, or an error of fmt_slice_load() except -EBADMSG. */
int fmt_report_new(struct fmt_trace *t, const struct fmt_part *part, bool across,
		   struct fmt_report **ret, struct fmt_error *err);
void fmt_report_free(struct fmt_report *r);
define_cleanup(fmt_report_freep, struct fmt_report *, fmt_report_free);

struct fmt_report_style {
	bool colour;  /* for a terminal */
	unsigned top; /* rows of kernels and collectives; 0: 12 in text, all in JSON */
};

void fmt_report_text(const struct fmt_report *r, const struct fmt_report_style *style,
		     struct text *out);
void fmt_report_json(const struct fmt_report *r, const struct fmt_report_style *style,
		     struct text *out);
