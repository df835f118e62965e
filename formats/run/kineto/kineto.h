/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a trace from the files of the PyTorch profiler (Kineto), one a rank. README.md beside this
 * file says what becomes of what. One thread at a time.
 *
 * Memory: 40 bytes and its varying values for each call and operation of all ranks; ranges go to a
 * file without a name in the output's directory; what else is kept grows with the number of
 * different templates, strings and tracks only.
 */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/model.h"

#include <stddef.h>
#include <sys/types.h>

struct kineto_options {
	const char *const *files; /* "-" is standard input */
	size_t n_files;
	const char *output; /* a directory to make; must not exist */
	int level;	    /* of zstd; 0: the default */
	/* Called now and then with the bytes of files that have been read and that there are (0:
	 * unknown); a negative errno ends the import. May be NULL. */
	int (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* Events of one kind in one file, and their outcome. */
struct kineto_count {
	char *ph, *cat;	     /* owned; "" where there was none */
	char *why;	     /* owned; the kind that they were kept as, or why not */
	const char *outcome; /* "kept", "implied", "skipped" */
	uint64_t events;
};

struct kineto_rank_report {
	char *file; /* owned */
	int64_t rank;
	uint64_t events;		  /* read */
	uint64_t kept[FMT_KINDS];	  /* by kind */
	uint64_t names, implied, skipped; /* together with the above: events */
	uint64_t no_duration, rounded;	  /* kept, but: see tally.h */
	uint64_t not_numbers, commas;	  /* of the file, invalid in JSON: see json.h */
	uint64_t no_call;		  /* operations that no recorded call launched */
	uint64_t iterations, edges;
	struct kineto_count *counts;
	size_t n_counts;
};

struct kineto_report {
	struct kineto_rank_report *ranks; /* by rank */
	size_t n_ranks;
	uint64_t bytes;	    /* of JSON, unpacked */
	uint64_t run_ranks; /* of the run; 0: not known */
};

void kineto_report_done(struct kineto_report *r);

/* Writes the trace and fills *ret; end that with kineto_report_done() in any case. Returns 0,
 * -EBADMSG for files that are not traces of one run, the error of open(2), read(2) or write(2), or
 * that of progress(). After a failure the output may exist in part: the caller removes it. */
int kineto_import(const struct kineto_options *o, struct kineto_report *ret, struct fmt_error *err);
