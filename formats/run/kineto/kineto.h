/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a trace from files of the PyTorch profiler (Kineto), one for each rank. README.md in this
 * folder describes the conversion. One thread at a time.
 *
 * Memory: 40 bytes and the varying values for each call and operation of all ranks. Ranges go to an
 * unnamed file in the output directory. All other data grows only with the number of different
 * templates, strings and tracks. */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/model.h"

#include <stddef.h>
#include <sys/types.h>

struct kineto_options {
	const char *const *files; /* "-" is standard input */
	size_t n_files;
	const char *output; /* a directory to create; must not exist */
	int level;	    /* of zstd; 0: the default */
	/* Called periodically with the bytes of files read so far, and their total (0: unknown). A
	 * negative return value ends the import with it. May be NULL. */
	int (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* Events of one kind in one file, and their outcome. */
struct kineto_count {
	char *ph, *cat;	     /* owned; "" if missing */
	char *why;	     /* owned; the kind that they were kept as, or the reason why not */
	const char *outcome; /* "kept", "rebuilt", "skipped" */
	uint64_t events;
};

struct kineto_rank_report {
	char *file; /* owned */
	int64_t rank;
	uint64_t events;		  /* read */
	uint64_t kept[FMT_KINDS];	  /* by kind */
	uint64_t names, rebuilt, skipped; /* together with `kept` the sum is `events` */
	uint64_t no_duration, rounded;	  /* counted in `kept`, too: see tally.h */
	uint64_t not_numbers, commas;	  /* JSON errors of the file: see json.h */
	uint64_t no_call;		  /* operations whose launching call was not recorded */
	uint64_t iterations, edges;
	struct kineto_count *counts;
	size_t n_counts;
};

struct kineto_report {
	struct kineto_rank_report *ranks; /* by rank */
	size_t n_ranks;
	uint64_t bytes;	    /* of JSON, unpacked */
	uint64_t run_ranks; /* of the run; 0: unknown */
};

void kineto_report_done(struct kineto_report *r);

/* Writes the trace and fills *ret; call kineto_report_done() even after an error. Returns 0,
 * -EBADMSG for files that are not traces of one run, the error of open(2), read(2) or write(2), or
 * that of progress(). After an error the caller removes partial output. */
int kineto_import(const struct kineto_options *o, struct kineto_report *ret, struct fmt_error *err);
