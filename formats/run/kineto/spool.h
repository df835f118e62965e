/* SPDX-License-Identifier: Apache-2.0 */

/* Stores ranges and instants from reading until their slice is written: in runs sorted by start,
 * which are kept in memory if small, else in an unnamed file. Memory is bounded by one run.
 *
 * A spool belongs to a rank; all spools of an import share a spill. One thread. */
#pragma once

#include "formats/run/kineto/templates.h"

#define KINETO_RUN (1u << 19) /* records in a run */

/* The unnamed file, created when first needed. */
struct kineto_spill {
	const char *directory; /* not owned: folder of the file */
	int fd;		       /* -1: not created yet */
	uint64_t bytes;	       /* size of the file */
	uint64_t resident;     /* bytes of runs kept in memory, of all spools */
};

void kineto_spill_init(struct kineto_spill *p, const char *directory);
void kineto_spill_done(struct kineto_spill *p);

struct kineto_run {
	uint64_t offset, bytes, records;
};

struct kineto_spool {
	struct kineto_spill *spill;
	const struct kineto_templates *templates;
	struct fmt_event *events; /* the run that is being filled or was kept in memory; `template`
				     is the importer's */
	int64_t *values;
	size_t n, cap, n_values, values_cap;
	struct kineto_run *runs;
	size_t n_runs, runs_cap;
};

void kineto_spool_init(struct kineto_spool *p, struct kineto_spill *spill,
		       const struct kineto_templates *templates);
void kineto_spool_done(struct kineto_spool *p);

/* `values` has one value for each varying argument of the template. Returns 0 or -errno. */
int kineto_spool_add(struct kineto_spool *p, const struct fmt_event *e, const int64_t *values);

/* Ends adding. */
int kineto_spool_end(struct kineto_spool *p);

/* Reads a spool in the order of starts. The spool must not change meanwhile. */
struct kineto_spool_reader;

int kineto_spool_read(const struct kineto_spool *p, struct kineto_spool_reader **ret);
void kineto_spool_reader_free(struct kineto_spool_reader *r);

/* Returns the next range: 1, 0 at the end, or -errno. *values is valid until the next call. */
int kineto_spool_next(struct kineto_spool_reader *r, struct fmt_event *ret, const int64_t **values);
