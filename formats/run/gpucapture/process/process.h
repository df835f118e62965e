/* SPDX-License-Identifier: Apache-2.0 */

/* One traced process while it is recorded: what its handles stand for, and the events that its
 * calls made, in the order in which the calls ended. Which rank they are part of is decided later
 * (run.h), so tracks are the process's own. One thread.
 */
#pragma once

#include "formats/api/api.h"
#include "formats/raw/record.h"
#include "formats/run/clocks.h"
#include "formats/run/collectives/order.h"
#include "formats/run/gpucapture/process/counts.h"
#include "formats/run/gpucapture/process/handles.h"
#include "formats/run/gpucapture/process/memory.h"
#include "formats/run/gpucapture/process/symbol.h"
#include "formats/run/gpucapture/process/times.h"
#include "formats/run/rows.h"
#include "formats/trace/names.h"

#include <stdbool.h>

#define REC_NONE UINT32_MAX
#define REC_MOST_UNKNOWN 65535
#define REC_LATEST_NS (INT64_MAX / 4) /* what is later was scribbled: sums of times are safe */

/* A call or an operation, or a range; ops have a duration of REC_NO_TIME until their times come. */
struct rec_event {
	int64_t start_ns, duration_ns;
	uint64_t correlation; /* 1 + id of the call; ops have their call's */
	uint32_t first_value; /* of the process's values; of a call, the row of its track's calls */
	uint32_t template, track;
	uint32_t call;	/* ops: the event that launched it; else REC_NONE */
	uint32_t index; /* ops: among those of their call */
	int16_t device; /* -1: unknown */
	uint8_t kind;	/* enum fmt_kind */
	uint8_t keeps;	/* calls: a window keeps it from before its first iteration */
};

struct rec_track {
	uint8_t kind;	/* enum fmt_track_kind */
	int16_t device; /* of a stream; of a thread: the first that it launched on, or -1 */
	int64_t number; /* thread id, or number of the stream */
	fmt_str name;
	uint32_t timed;		/* of streams: the last event whose times came; 0: none */
	struct fmt_rows *calls; /* owned; of threads: the values of their calls */
};

/* What one rank of a communicator did, as one operation. */
struct rec_collective {
	uint32_t event; /* the operation; REC_NONE: it was forgotten */
	uint32_t comm;	/* of the process */
	fmt_str op;	/* "all_reduce" */
	fmt_str dtype;
	int64_t bytes;
	fmt_str parts; /* JSON, for FMT_KEY_PARTS; 0: it is of one call */
	uint8_t is_message;
	uint8_t per_rank; /* the bytes are to be multiplied by the communicator's ranks */
	uint32_t first_message, n_messages; /* of the process */
	uint32_t number;		    /* among all of the process, from 0 on */
	int64_t start_ns, end_ns;	    /* of the operation, once it was forgotten */
};

struct rec_comm {
	uint64_t id;	 /* the same on all ranks, and of no other communicator */
	uint64_t parent; /* id of what it was split from, where rank is its rank; 0: none */
	int64_t key;	 /* what ranks of a split are ordered by */
	uint32_t rank, n;
	uint32_t splits; /* so many were made of it */
	int16_t device;
};

struct rec_fact {
	fmt_str key, value; /* value: JSON */
};

struct rec_digest {
	uint64_t id;
	uint32_t index;
	uint32_t event;		  /* once it was looked for; REC_NONE: not found */
	struct fmt_digest digest; /* pages are the process's; op is not set */
};

/* A code image that was loaded. */
struct rec_image {
	uint64_t name[2]; /* of its content */
	uint64_t bytes, offset_bytes;
	fmt_str file, build_id; /* where it lies, where it is not a content; the second in hex */
	uint8_t kind;		/* enum fmt_image_kind */
	uint8_t stored;		/* the content is in the session folder */
};

/* A range that has begun. */
struct rec_open {
	int64_t start_ns;
	fmt_str text, domain;
	uint64_t key;
};

/* How a process was found when the recording ended. */
enum rec_ending { REC_EXITED, REC_RUNNING, REC_KILLED };

struct rec_thread;
struct rec_kernel_template;

struct rec_process {
	int32_t pid;
	uint64_t started;
	uint32_t index;		       /* among all processes of the run */
	uint32_t recording;	       /* that it is in */
	const struct fmt_clock *clock; /* not owned; of its host; NULL: the reference */
	bool is_virtual;	       /* its times are those of an emulated driver */
	uint8_t ending;		       /* enum rec_ending */
	uint8_t signal;		       /* that ended it; 0: not known */
	bool in_call;		       /* its last call had not returned */
	int64_t last_call_ns;	       /* end of the call that ended last */
	fmt_str last_call;	       /* its name; in_call: of the one that had not returned */
	struct fmt_names *names;       /* not owned; of the recorder */
	struct rec_handles *things;
	struct rec_symbols symbols;
	struct rec_memory memory;

	int64_t first_ns, last_ns; /* of events that were forgotten, if has_span */
	bool has_span;

	struct rec_event *events;
	size_t n_events, events_cap;
	struct rec_event *ranges;
	size_t n_ranges, ranges_cap;
	int64_t *values;
	size_t n_values, values_cap;
	struct rec_track *tracks;
	size_t n_tracks, tracks_cap;
	struct rec_collective *collectives;
	size_t n_collectives, collectives_cap;
	uint32_t collectives_made; /* with those that were forgotten */
	struct fmt_message *messages;
	size_t n_messages, messages_cap;
	struct rec_comm *comms;
	size_t n_comms, comms_cap;
	struct rec_times times;
	struct rec_waits due; /* digests and contents that are to come, by call */
	struct rec_digest *digests;
	size_t n_digests, digests_cap;
	struct rec_digest *contents; /* names of contents in place of digests */
	size_t n_contents, contents_cap;
	struct rec_image *images;
	size_t n_images, images_cap;
	uint64_t *pages;
	size_t n_pages, pages_cap;
	struct rec_fact *facts;
	size_t n_facts, facts_cap;
	uint32_t *last_templates; /* owned: 1 + that of the last call of each function of
				     formats/api */
	struct rec_kernel_template *kernel_templates; /* owned: of launches; see work.c */
	fmt_str *unknown; /* names of calls without a description, by number */
	size_t unknown_cap;
	struct rec_open *open; /* ranges that may end on another thread */
	size_t n_open, open_cap;
	struct fmt_iteration *marks; /* where the program says that one begins; no durations */
	size_t n_marks, marks_cap;
	struct rec_graphs *graphs; /* owned; NULL: none yet */
	void (*free_graphs)(struct rec_graphs *);
	uint64_t ordered;	     /* calls whose order is recorded apart from their times */
	uint32_t ordered_track;	     /* of the first of them */
	bool is_ordered;	     /* several threads made them: they have the argument `order` */
	struct rec_thread **threads; /* owned, what they lead to is not: those that are looked at */
	size_t n_threads, threads_cap;
	struct rec_counts counts;
};

int rec_process_new(struct fmt_names *names, int32_t pid, uint64_t started,
		    struct rec_process **ret);
void rec_process_free(struct rec_process *p);
/* Drops what a run was made of: events, ranges, and values but those of calls. */
void rec_process_forget(struct rec_process *p);
define_cleanup(rec_process_freep, struct rec_process *, rec_process_free);

/* Each appends one; 0 or a negative errno. */
int rec_add_event(struct rec_process *p, const struct rec_event *e, uint32_t *ret);
int rec_add_range(struct rec_process *p, const struct rec_event *e);
int rec_add_track(struct rec_process *p, const struct rec_track *track, uint32_t *ret);
int rec_add_times(struct rec_process *p, const struct cap_times_record *t);
int rec_add_node_times(struct rec_process *p, const struct cap_nodes_record *t);
int rec_add_image(struct rec_process *p, const struct cap_image_record *r);
/* Whether both are in one communicator. */
bool rec_comms_meet(const struct rec_process *a, const struct rec_process *b);
/* The latest JSON of a fact of the process; NULL. */
const char *rec_fact(const struct rec_process *p, const char *key);
int rec_add_fact(struct rec_process *p, const char *key, size_t key_len, const char *value,
		 size_t value_len);

/* The operation is that collective, with its messages. */
int rec_add_collective(struct rec_process *p, const struct rec_collective *of,
		       const struct fmt_message *messages, uint32_t event);

/* The event's values, n of them, that are written next; or -ENOMEM. */
int rec_add_values(struct rec_process *p, const int64_t *values, size_t n, uint32_t *ret);
