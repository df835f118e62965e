/* SPDX-License-Identifier: Apache-2.0 */

/* Reads a trace: a directory, a packed file, or the root of a mount. The layout is specified in
 * doc/format.md.
 *
 * An open trace never changes, so any number of threads may read it at once. Opening reads the
 * index and the names but no events; loading a slice reads only data of that slice. Files are read
 * by pread, never mapped. Functions return 0 (or a count) or a negative errno; after an error `ret`
 * is unchanged:
 *
 *     -EBADMSG  not a trace, or damaged: *err (may be NULL) has file, offset and reason
 *     -ENOTSUP  written by a newer version of the format
 *     -ESTALE   opened through a mount whose trace was replaced on disk by another one
 *     other     as open(2), pread(2)
 */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

/* A link in the root of a mount: the path from which the mounted trace was opened. Directory
 * listings omit it. fmt_trace_open() follows it, and compares the trace's id with the mount's file
 * `id`, since the path may now contain another trace. (It is not an extended attribute, because `ls
 * -l` would then query the attributes of each file.) */
#define FMT_MOUNT_LINK ".gputrace"

struct fmt_trace;

int fmt_trace_open(const char *path, struct fmt_trace **ret, struct fmt_error *err);
void fmt_trace_close(struct fmt_trace *t);
define_cleanup(fmt_trace_closep, struct fmt_trace *, fmt_trace_close);

const struct fmt_names *fmt_trace_names(const struct fmt_trace *t);
uint32_t fmt_trace_n_ranks(const struct fmt_trace *t);
const char *fmt_trace_path(const struct fmt_trace *t);

/* Returns 0; or -EBADMSG and the first reason if the trace is incomplete: a file is missing,
 * unreadable, from another trace, or so damaged that unlisted slices may be missing. For callers
 * that need the whole trace. */
int fmt_trace_check_complete(const struct fmt_trace *t, struct fmt_error *err);

struct fmt_rank {
	uint32_t number; /* the recorder's rank */
	uint32_t n_slices;
	uint64_t n_records[FMT_KINDS]; /* by kind, over all slices */
	uint64_t n_edges, n_digests;
	uint64_t bytes;	  /* of the rank's file */
	int64_t start_ns; /* earliest time in the file */
	int64_t end_ns;
	/* The slices sorted by fmt_iteration_order(); NULL if they are stored in this order. */
	uint32_t *by_iteration;
};

/* Ranks are ordered by number. Owned by the trace. */
const struct fmt_rank *fmt_trace_rank(const struct fmt_trace *t, uint32_t rank);

/* Facts about a slice that need no decoding. */
struct fmt_slice_info {
	struct fmt_iteration iteration;
	fmt_number first_number;
	uint64_t n_records[FMT_KINDS];
	uint64_t n_edges, n_digests;
	_Atomic int damaged; /* 1: one of its chunks failed its checksum, when the index was read or
				at the last read by any thread */
};

const struct fmt_slice_info *fmt_trace_slice(const struct fmt_trace *t, uint32_t rank,
					     uint32_t slice);

/* Parts of a slice to decode. Other parts may remain empty. */
#define FMT_WANT_CALLS 1u /* events on threads */
#define FMT_WANT_OPS 2u	  /* events on streams */
#define FMT_WANT_RANGES 4u
#define FMT_WANT_EDGES 8u
#define FMT_WANT_DIGESTS 16u
#define FMT_WANT_ALL 31u

/* A cache of slices, queried before a slice is read. `find` may be called by any thread; it sets
 * *ret to a copy for the caller and returns 1, or returns 0 to have the slice read. Set it while
 * only one thread uses the trace. */
struct fmt_slice_keeper {
	int (*find)(void *context, uint32_t rank, uint32_t slice, struct fmt_slice **ret);
	void *context;
};

void fmt_trace_set_keeper(struct fmt_trace *t, struct fmt_slice_keeper keeper);

/* Limits the memory that the trace keeps for decoding (64 MiB by default), not counting slices
 * being decoded. Set it while only one thread uses the trace. */
void fmt_trace_set_memory(struct fmt_trace *t, size_t bytes);

/* Returns a copy that fmt_slice_free() frees; NULL if out of memory. */
struct fmt_slice *fmt_slice_copy(const struct fmt_slice *s);

int fmt_slice_load(struct fmt_trace *t, uint32_t rank, uint32_t slice, unsigned want,
		   struct fmt_slice **ret, struct fmt_error *err);
/* Checks the checksums of a slice, of its digests and of the slice that it is a patch of, without
 * decoding events. Fails as fmt_slice_load() does. A slice that passes can still be invalid if its
 * writer was broken; fmt_verify() finds that. */
int fmt_slice_check(struct fmt_trace *t, uint32_t rank, uint32_t slice, struct fmt_error *err);

void fmt_slice_free(struct fmt_slice *s);
/* Frees the arrays of a slice that is not on the heap itself. */
void fmt_slice_done(struct fmt_slice *s);
define_cleanup(fmt_slice_freep, struct fmt_slice *, fmt_slice_free);

/* Returns the identity of the trace, 64 hex digits: a SHA-256 Merkle root over its canonical
 * chunks. It is stored in the manifest, and fmt_verify() checks it. */
const char *fmt_trace_id(const struct fmt_trace *t);

/* Returns the total size of the trace's files. */
uint64_t fmt_trace_bytes(const struct fmt_trace *t);

/* Lists the damage found so far, on opening and by failed loads: the mount's `errors`. Calls `each`
 * in the order of files and offsets. */
int fmt_trace_damage(struct fmt_trace *t, int (*each)(void *context, const struct fmt_error *e),
		     void *context);
