/* SPDX-License-Identifier: Apache-2.0 */

/* The processes of one recording, made of what was in their rings. Bytes of rings are given in the
 * order in which they were taken, round by round (ring_reader.h). One thread. Functions return 0 or
 * a negative errno. */
#pragma once

#include "formats/raw/raw.h"
#include "formats/run/gpucapture/calls/ring_reader.h"

struct rec_processes;

/* All processes of a run, of one recording or several, by their index. */
struct rec_process_list {
	struct rec_process **all; /* owned, what they lead to is not */
	size_t n, cap;
	struct fmt_names *names; /* not owned */
};

/* A recording of the run: its number, and its clocks. */
struct rec_source {
	uint32_t recording;
	const struct cap_clock *ticks; /* turns the processor's counter of rings into time */
	const struct fmt_clock *host;  /* turns that into the time of the run; NULL: it is that */
	bool only_plan, planned_times; /* as in struct rec_process */
};

/* Processes are added to the list; it and what the source leads to must stay. */
int rec_processes_new(const struct rec_source *source, struct rec_process_list *list,
		      struct rec_processes **ret);
void rec_processes_free(struct rec_processes *p);

/* A chunk of the recording was damaged; the next pieces are of the chunk behind it. */
void rec_processes_gap(struct rec_processes *p);
/* The rest of the recording cannot be read. */
void rec_processes_damaged(struct rec_processes *p);

/* Every ring was read; `last`: no more records will follow. */
int rec_processes_round(struct rec_processes *p, bool last);

/* A piece of a raw recording (raw.h); `processes` is what the others take. Bytes of a ring that
 * came before are not looked at again; missing ones are counted as damage. */
int rec_processes_piece(void *processes, const struct rec_piece *piece);

/* Adds up what the rings say of losses. */
void rec_processes_losses(struct rec_processes *p);

/* Finds out how each process ended, and what it called last if it was killed. Adds up those that
 * still run, and those that ended without saying so or by abort(). */
struct rec_endings {
	uint32_t running, killed;
};
int rec_processes_endings(const struct rec_processes *p, struct rec_endings *sum);

/* A process that was killed or aborted. */
struct rec_killed {
	int32_t pid;
	int signal;		      /* 0: not known */
	bool in_call;		      /* last_call had not returned */
	char name[64], last_call[64]; /* of its executable; of a call; "": not known */
	uint64_t calls, ops;
};

/* Lists those processes; after rec_processes_endings(). The caller frees *ret, which is NULL at
 * first. 0 or -ENOMEM. */
int rec_list_killed(const struct rec_process_list *list, struct rec_killed **ret, size_t *n);

/* "SIGKILL"; NULL: a signal that does not end processes, or 0. */
const char *rec_signal_name(int signal);
