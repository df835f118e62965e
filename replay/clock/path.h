/* SPDX-License-Identifier: Apache-2.0 */

/* The critical path of a run: the chain of times, each of which determines the next, from the start
 * of the first iteration to the end of the last one. While a rank is slow, the path runs through
 * it. Run 0 is the emulated run; run k + 1 is variant k of the clock.
 *
 * To bound memory, the path covers only the last iterations, at most PATH_TIMES times in all runs.
 *
 * Not thread-safe. Functions return 0 or -ENOMEM. */
#pragma once

#include "formats/trace/names.h"

#include "replay/clock/sim.h"

#define PATH_TIMES (1u << 24)

/* The kind of the interval between two times of the path. Each kind but the last four scales with
 * the key of the same name in a changed run. */
enum path_kind {
	PATH_GPU, /* kernels and memsets, and waits for kernels that fill the device */
	PATH_COPY,
	PATH_NETWORK,  /* collectives, after the last rank has arrived */
	PATH_HOST,     /* the program's own time between calls */
	PATH_LAUNCH,   /* calls that do not wait */
	PATH_BLOCKING, /* own costs of calls that wait */
	PATH_LATENCY,  /* from a call to the start of its operation */
	PATH_GAP,      /* between operations, of a stream or after an event */
	PATH_START,    /* the start of the recording */
	PATH_KINDS,
};

extern const char *const path_kind_names[PATH_KINDS];

/* Returns the kind of the time before a point: `end` of its event, of the kind `kind`, `inside`
 * another call, determined by the wait, or NULL; `from`: the kind of the event that it waited
 * for. */
enum path_kind path_kind_before(uint8_t kind, int end, int inside, const struct sim_wait *w,
				uint8_t from);

/* Time on the path, of a kind and a name. */
struct path_row {
	enum path_kind kind;
	int is_kernel; /* the name is a kernel's */
	fmt_str name;  /* of the kernel, the kind of collective, the call (host: the next call) */
	int64_t *ns;   /* by run; owned */
};

struct path_summary {
	uint32_t n_runs, n_ranks;
	int64_t n_iterations;  /* number of covered iterations; 0: none */
	int64_t *total_ns;     /* by run: the sum of all kinds */
	int64_t *kinds_ns;     /* by run, then kind */
	int64_t *ranks_ns;     /* by run, then rank: work of its device */
	struct path_row *rows; /* by the largest time in any run */
	size_t n_rows, rows_cap;
};

int path_summary_init(struct path_summary *s, uint32_t n_runs, uint32_t n_ranks);

/* Finds or adds a row; NULL if out of memory. */
struct path_row *path_summary_row(struct path_summary *s, enum path_kind kind, int is_kernel,
				  fmt_str name);
void path_summary_done(struct path_summary *s);

/* Make a summary of several traversals: begin with run 0 of one traversal; then add the runs of
 * each, where run k + 1 becomes of[k] + 1; then sort the rows. Return 0 or -ENOMEM; call
 * path_summary_done() in any case. */
int path_summary_begin(struct path_summary *s, uint32_t n_runs, const struct path_summary *like);
int path_summary_merge(struct path_summary *s, const struct path_summary *from, const uint32_t *of);
void path_summary_sort(struct path_summary *s);

struct path;

/* `first[rank]`: the first slice to store; source[rank]: the recorded rank with its names. */
int path_new(const struct fmt_names *names, uint32_t n_ranks, uint32_t n_runs,
	     const uint32_t *first, const uint32_t *source, struct path **ret);
void path_free(struct path *p);

/* Keeps the next finished block of the rank, before its release. The clock must record causes
 * (sim_record_causes()). */
int path_add_block(struct path *p, const struct sim *sim, uint32_t rank,
		   const struct fmt_slice *slice, struct sim_block *b);

/* Sets the time span of an iteration on a rank in a run: the iteration ends with the slice of the
 * last path_add_block() call. `thread`: the thread with its annotation. Call for run 0 first. */
void path_set_iteration(struct path *p, uint32_t run, uint32_t rank, const struct fmt_slice *slice,
			uint32_t thread, int64_t start_ns, int64_t end_ns);

/* Finds the paths, after the last slice and before the clock is freed. */
int path_follow(struct path *p);

/* Returns what path_follow() found. Call once; the caller ends it by path_summary_done(). */
struct path_summary path_take(struct path *p);
