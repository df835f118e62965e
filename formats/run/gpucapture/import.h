/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a trace from raw recordings (formats/raw/raw.h), on several threads. */
#pragma once

#include "formats/run/gpucapture/trace/trace_writer.h"

struct rec_import {
	const char *const *files; /* raw recordings, of one host or of all hosts of a run */
	size_t n_files;
	const char *output; /* a directory to create; must not exist */
	const char *folder; /* a directory for temporary files */
	size_t segment;	    /* calls and operations in a segment; 0: the default */
	int threads;	    /* 0: one for each core; the trace does not depend on it */
	struct rec_progress progress;
};

struct rec_import_report {
	struct rec_trace_counts result;
	struct rec_unrecorded unread;
	bool has_calls;		   /* false: no call was recorded, and no trace was written */
	const char *damaged_file;  /* the first damaged or truncated file; NULL: none */
	uint64_t damaged_at;	   /* offset of the first damaged byte of that file */
	uint64_t damaged_bytes;	   /* in all files */
	struct rec_killed *killed; /* owned */
	size_t n_killed;
	size_t n_processes;	   /* with operations */
	size_t n_without_keyframe; /* of them */
};

void rec_import_report_done(struct rec_import_report *r);

/* Sets parameters of malloc() for the process. Returns 0 or a negative errno, for example -EBADMSG
 * for recordings of different runs. After an error the caller removes partial output. *ret can
 * always be passed to rec_import_report_done(). */
int rec_import(const struct rec_import *options, struct rec_import_report *ret,
	       struct fmt_error *err);
