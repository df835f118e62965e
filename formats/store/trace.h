/* SPDX-License-Identifier: Apache-2.0 */

/* Reads a trace: a directory, a packed file, or the root of a mount. The layout is specified in
 * doc/format.md.
 *
 * A trace that is open never changes, so any number of threads may read it at once. Opening reads
 * the index and the names and no events; a slice reads what belongs to it and nothing else. Files
 * are read by pread, never mapped. Functions return 0 (or a count) or a negative errno, and store
 * nothing through `ret` when they fail:
 *
 *   -EBADMSG  not a trace, or damaged: *err (may be NULL) says which file, where, why
 *   -ENOTSUP  written by a newer version of the format
 *   other     as open(2), pread(2)
 */
#pragma once

#include "formats/error.h"
#include "formats/names.h"

/* The link in a mount's root that leads to the trace behind it. It is not listed. (No extended
 * attribute: a mount that has none is never asked for those that `ls -l` wants of each file.) */
#define FMT_MOUNT_LINK ".gputrace"

struct fmt_trace;

int fmt_trace_open(const char *path, struct fmt_trace **ret, struct fmt_error *err);
/* For what the index says: there are no names, so no slice can be read. */
int fmt_trace_open_index(const char *path, struct fmt_trace **ret, struct fmt_error *err);
void fmt_trace_close(struct fmt_trace *t);
define_cleanup(fmt_trace_closep, struct fmt_trace *, fmt_trace_close);

const struct fmt_names *fmt_trace_names(const struct fmt_trace *t);
uint32_t fmt_trace_n_ranks(const struct fmt_trace *t);
const char *fmt_trace_path(const struct fmt_trace *t);

struct fmt_rank {
	uint32_t number; /* the recorder's rank */
	uint32_t n_slices;
	uint64_t n_records[FMT_KINDS]; /* by kind, over all slices */
	uint64_t n_edges, n_digests;
	uint64_t bytes;	  /* that this rank occupies */
	int64_t start_ns; /* the first moment of anything in it */
	int64_t end_ns;
	int cut_off; /* 1: the recording did not end cleanly; what was complete is here */
	int ordered; /* 1: its slices ascend by fmt_iteration_order() */
};

/* Ranks are ordered by number. Owned by the trace. */
const struct fmt_rank *fmt_trace_rank(const struct fmt_trace *t, uint32_t rank);

/* What can be known of a slice without decoding it. */
struct fmt_slice_info {
	struct fmt_iteration iteration;
	fmt_number first_number;
	uint64_t n_records[FMT_KINDS];
	uint64_t n_edges, n_digests;
	_Atomic int damaged; /* 1: a chunk of it did not pass its checksum when the index was made
				or it was last read, by whichever thread */
};

const struct fmt_slice_info *fmt_trace_slice(const struct fmt_trace *t, uint32_t rank,
					     uint32_t slice);

/* What to decode; the rest of the slice is left empty where that saves work. */
#define FMT_WANT_CALLS 1u /* events on threads */
#define FMT_WANT_OPS 2u	  /* events on streams */
#define FMT_WANT_RANGES 4u
#define FMT_WANT_EDGES 8u
#define FMT_WANT_DIGESTS 16u
#define FMT_WANT_ALL 31u

/* Who may have a slice already: `find` sets *ret to a copy for the caller and returns 1, or 0 to
 * have it read; called by any thread. For a program that keeps slices itself, and hands the trace
 * to others that load them. Set while one thread uses the trace. */
struct fmt_slice_keeper {
	int (*find)(void *context, uint32_t rank, uint32_t slice, struct fmt_slice **ret);
	void *context;
};

void fmt_trace_set_keeper(struct fmt_trace *t, struct fmt_slice_keeper keeper);

/* A copy of its own, ended by fmt_slice_free(); NULL where there is no memory. */
struct fmt_slice *fmt_slice_copy(const struct fmt_slice *s);

int fmt_slice_load(struct fmt_trace *t, uint32_t rank, uint32_t slice, unsigned want,
		   struct fmt_slice **ret, struct fmt_error *err);
void fmt_slice_free(struct fmt_slice *s);
/* Ends what a slice that stands elsewhere holds. */
void fmt_slice_done(struct fmt_slice *s);
define_cleanup(fmt_slice_freep, struct fmt_slice *, fmt_slice_free);

/* The identity of the trace: SHA-256 Merkle root over its canonical chunks, 64 hex digits. It is
 * stored, and verified by fmt_verify(). */
const char *fmt_trace_id(const struct fmt_trace *t);

/* Total bytes of the trace's files. */
uint64_t fmt_trace_bytes(const struct fmt_trace *t);

/* Lengths of rendered files that the writer left for the mount; see fmt_writer_lengths(). Returns
 * the number there are and sets *ret, or 0. `renderer` is the version of the renderer that made
 * them.
 */
uint32_t fmt_trace_lengths(const struct fmt_trace *t, uint32_t rank, uint32_t slice,
			   uint32_t *renderer, const uint64_t **ret);

/* Damage found so far (on opening, and by failed loads): the mount's `errors`. Calls `each` in the
 * order of files and offsets. */
int fmt_trace_damage(struct fmt_trace *t, int (*each)(void *context, const struct fmt_error *e),
		     void *context);
