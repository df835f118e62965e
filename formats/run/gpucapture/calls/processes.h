/* SPDX-License-Identifier: Apache-2.0 */

/* Builds the processes of one recording from the contents of their rings. The caller passes the
 * bytes of rings in recorded order, round by round (ring_reader.h). One thread. Functions return 0
 * or a negative errno. */
#pragma once

#include "formats/raw/raw.h"
#include "formats/run/gpucapture/calls/ring_reader.h"

struct rec_processes;

/* All processes of a run, from one or several recordings, by index. */
struct rec_process_list {
	struct rec_process **all; /* the elements are owned, the array `all` belongs to the list */
	size_t n, cap;
	struct fmt_names *names; /* not owned */
};

/* One recording of the run: its number and its clocks. */
struct rec_source {
	uint32_t recording;
	const struct cap_clock *ticks; /* converts time stamps to host time; not owned */
	const struct fmt_clock *host;  /* converts host time to the time of the run; NULL: they are
					  equal; not owned */
	bool only_plan, planned_times; /* as in struct rec_process */
};

/* Adds processes to `list`. `list` and all pointers in `source` must outlive `ret`. */
int rec_processes_new(const struct rec_source *source, struct rec_process_list *list,
		      struct rec_processes **ret);
void rec_processes_free(struct rec_processes *p);

/* Reports a damaged chunk of the recording. The next pieces come from the chunk after the gap. */
void rec_processes_note_gap(struct rec_processes *p);
/* Reports that the rest of the recording cannot be read. */
void rec_processes_note_damage(struct rec_processes *p);

/* Ends a round, after a piece of every ring. `last`: no more records will follow. */
int rec_processes_end_round(struct rec_processes *p, bool last);

/* Adds a piece of a raw recording (raw.h); `processes` is a struct rec_processes. Skips bytes of a
 * ring that were added before. Counts missing bytes as damage. */
int rec_processes_add_piece(void *processes, const struct rec_piece *piece);

/* Adds the lost events that the rings counted to the counts of the processes. */
void rec_processes_add_losses(struct rec_processes *p);

/* Determines how each process ended, and the last call of processes that were killed. Sums
 * processes that still ran, and processes that ended by a signal or without an exit record. */
struct rec_end_counts {
	uint32_t running, killed;
};
int rec_processes_find_endings(const struct rec_processes *p, struct rec_end_counts *sum);

/* A process that was killed or aborted. */
struct rec_killed {
	int32_t pid;
	int signal;		      /* 0: unknown */
	bool in_call;		      /* last_call had not returned */
	char name[64], last_call[64]; /* of the executable; of a call; "": unknown */
	uint64_t calls, ops;
};

/* Lists the killed processes, after rec_processes_find_endings(). The caller frees *ret, which must
 * be NULL on entry. Returns 0 or -ENOMEM. */
int rec_list_killed(const struct rec_process_list *list, struct rec_killed **ret, size_t *n);

/* Returns a name like "SIGKILL", or NULL for 0 and for signals that do not end processes. */
const char *rec_signal_name(int signal);
