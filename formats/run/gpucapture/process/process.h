/* SPDX-License-Identifier: Apache-2.0 */

/* The import state of one recorded process: its objects, and the events of its calls in the order
 * in which the calls ended. Events are assigned to ranks later (trace/ranks.h), so tracks belong to
 * the process. One thread. */
#pragma once

#include "formats/raw/record.h"
#include "formats/run/clocks.h"
#include "formats/run/gpucapture/process/counts.h"
#include "formats/run/gpucapture/process/handles.h"
#include "formats/run/gpucapture/process/launches.h"
#include "formats/run/gpucapture/process/memo.h"
#include "formats/run/gpucapture/process/memory.h"
#include "formats/run/gpucapture/process/records.h"
#include "formats/trace/names.h"

#include <stdbool.h>

/* The state of a process at the end of the recording. */
enum rec_end_kind { REC_EXITED, REC_RUNNING, REC_KILLED };

struct rec_thread;

/* The end of a process, and its last call. */
struct rec_process_end {
	uint8_t how;	      /* enum rec_end_kind */
	uint8_t signal;	      /* that ended it; 0: unknown */
	bool in_call;	      /* its last call had not returned */
	int64_t last_call_ns; /* end of the call that ended last */
	fmt_str last_call;    /* its name; if in_call, of the call that had not returned */
};

/* Calls whose order is recorded in addition to their times. */
struct rec_order {
	uint64_t n;
	uint32_t track; /* of the first call */
	bool is_used;	/* several threads made such calls: they have the argument `order` */
	bool is_shared; /* by IPC handles: calls also have the argument `began` */
};

struct rec_process {
	int32_t pid;
	uint64_t started;
	uint32_t index;		       /* among all processes of the run */
	uint32_t recording;	       /* that contains it */
	const struct fmt_clock *clock; /* not owned; of its host; NULL: the reference clock */
	bool only_plan;		       /* first reading: keeps what trace/plan.h needs, no events */
	bool is_planned;	       /* second reading: its iterations are known */
	bool planned_times;	       /* first reading: also keeps the times of collectives */
	bool is_virtual;	       /* its times come from an emulated driver */
	struct fmt_names *names;       /* not owned */

	/* The segment: events and their data. */
	struct rec_event *events;
	size_t n_events, events_cap;
	struct rec_event *ranges;
	size_t n_ranges, ranges_cap;
	int64_t *values;
	size_t n_values, values_cap;
	struct rec_times times;
	struct rec_buffers buffers;

	/* The whole run. */
	struct rec_track *tracks;
	size_t n_tracks, tracks_cap;
	struct rec_thread **threads; /* the elements are not owned */
	size_t n_threads, threads_cap;
	struct rec_nccl nccl;
	struct rec_handles *handles; /* owned */
	struct rec_memory memory;
	struct rec_graphs *graphs; /* owned; NULL: none yet */
	void (*free_graphs)(struct rec_graphs *);
	struct rec_open_range *open; /* ranges that may end on another thread */
	size_t n_open, open_cap;
	struct fmt_iteration *marks; /* starts of iterations marked by the program */
	size_t n_marks, marks_cap;
	struct rec_launches
		*launches; /* by thread and device; none if the program marks iterations */
	size_t n_launches, launches_cap;
	struct fmt_iterations cuts; /* see rec_plan_end_round(); a duration is 0 */
	struct rec_image *images;
	size_t n_images, images_cap;
	struct rec_fact *facts;
	size_t n_facts, facts_cap;
	fmt_str *unknown; /* names of functions without a description, by number */
	size_t unknown_cap;
	int64_t first_ns,
		last_ns; /* span of its calls, if has_span; set by rec_process_extend_span() */
	bool has_span;
	struct rec_process_end end;
	struct rec_order order;
	struct rec_counts counts;
	struct rec_memo memo;
};

int rec_process_new(struct fmt_names *names, int32_t pid, uint64_t started,
		    struct rec_process **ret);
void rec_process_free(struct rec_process *p);
define_cleanup(rec_process_freep, struct rec_process *, rec_process_free);

/* Append one item. Return 0 or a negative errno. */
int rec_add_event(struct rec_process *p, const struct rec_event *e, uint32_t *ret);
int rec_add_range(struct rec_process *p, const struct rec_event *e);
int rec_add_track(struct rec_process *p, const struct rec_track *track, uint32_t *ret);
int rec_add_image(struct rec_process *p, const struct cap_image_record *r);
/* Returns true if both are members of one communicator. */
bool rec_processes_share_comm(const struct rec_process *a, const struct rec_process *b);
/* Returns the latest JSON value of a fact of the process, or NULL. */
const char *rec_process_fact(const struct rec_process *p, const char *key);
int rec_add_fact(struct rec_process *p, const char *key, size_t key_len, const char *value,
		 size_t value_len);

/* Adds a collective with its messages, as operation `event` (REC_NONE: first reading). */
int rec_add_collective(struct rec_process *p, const struct rec_collective *of,
		       const struct fmt_message *messages, uint32_t event);
/* Adds a launch by a thread on a device. */
int rec_add_launch(struct rec_process *p, uint32_t track, int device,
		   const struct rec_launch *launch);
/* Extends the span of the process's calls. */
void rec_process_extend_span(struct rec_process *p, int64_t start_ns, int64_t end_ns);

/* Appends `n` values and returns the index of the first in *ret. Returns 0 or -ENOMEM. */
int rec_add_values(struct rec_process *p, const int64_t *values, size_t n, uint32_t *ret);
