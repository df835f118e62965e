/* SPDX-License-Identifier: Apache-2.0 */

/* One rank while it is read: calls and operations in memory, ranges in a spool, and facts. Numbers
 * of strings, templates and tracks are the importer's. One thread. */
#pragma once

#include "formats/run/kineto/kineto.h"
#include "formats/run/kineto/spool.h"
#include "formats/run/kineto/tally.h"
#include "formats/run/run.h"

struct kineto_track {
	uint32_t kind;		    /* enum fmt_track_kind */
	struct kineto_arg pid, tid; /* FMT_INT, else the number of a text */
	uint32_t name;
	uint64_t ops; /* number of device operations on it */
};

struct kineto_fact {
	uint32_t key, json;
};

/* A range that is needed to import the rank: an iteration, or the parameters of a collective. */
struct kineto_note {
	int64_t start_ns, duration_ns;
	uint32_t track, template;
	int64_t seq; /* the argument "Seq"; -1: none */
};

struct kineto_notes {
	struct kineto_note *notes;
	size_t n, cap;
};

struct kineto_name {	     /* an M event */
	uint32_t name, args; /* args as JSON text */
	struct kineto_arg pid, tid;
};

struct kineto_rank {
	const char *path; /* not owned */
	int64_t number;	  /* from the file; -1: unknown */
	size_t position;  /* among the files, in command-line order */
	int64_t base_ns;  /* added to all times after reading the file */
	struct kineto_track *tracks;
	size_t n_tracks, tracks_cap;
	struct fmt_hash_table track_table;
	struct fmt_event *events; /* calls, operations and synchronisations in file order */
	size_t n_events, events_cap;
	int64_t *values;
	size_t n_values, values_cap;
	struct kineto_spool spool;
	struct kineto_fact *facts;
	size_t n_facts, facts_cap;
	struct kineto_name *names;
	size_t n_names, names_cap;
	struct kineto_notes notes[KINETO_ROLES]; /* by role */
	struct fmt_run_group *groups;		 /* by event; strings have the importer's numbers */
	size_t n_groups, groups_cap;
	int64_t first_ns, last_ns; /* span of all kept events */
	struct kineto_tally tally;
	uint32_t *call_of;  /* owned: of each event, the call that launched it (sort.h) */
	uint32_t *track_of; /* owned: new number of each track after kineto_sort_events(); for the
			       ranges */

	/* Set if the file has several GPUs (split.h). */
	uint8_t split;
	uint32_t process; /* from 1; equal for GPUs that share threads; 0: shares no threads */
	int64_t ordinal;  /* of its device; -1: unknown */
	const struct kineto_spool *ranges; /* ranges of the file, not owned; NULL: `spool` */
	uint32_t *track_here; /* owned: this rank's number for each of the file's tracks;
				 UINT32_MAX: of another rank */
};

struct kineto_import;

/* kineto_rank_ranges() returns the spool of the rank's ranges, which GPUs of one file share.
 * kineto_rank_has_range() returns 1 if range `e` of the spool belongs to this rank, and sets
 * e->track to the rank's track. */
const struct kineto_spool *kineto_rank_ranges(const struct kineto_rank *k);
int kineto_rank_has_range(const struct kineto_rank *k, struct fmt_event *e);

void kineto_rank_init(struct kineto_rank *k, struct kineto_import *im, const char *path);
void kineto_rank_done(struct kineto_rank *k);

/* Keeps an event and sets *disposition. Returns 0 or -errno. */
int kineto_rank_event(struct kineto_rank *k, struct kineto_templates *templates,
		      const struct kineto_event *e, enum kineto_disposition *disposition);

/* Adds or replaces a fact. `json` is the number of a string. Returns 0 or -errno. */
int kineto_rank_fact(struct kineto_rank *k, uint32_t key, uint32_t json);

/* Adds a name of a process or thread. Returns 0 or -ENOMEM. */
int kineto_rank_name(struct kineto_rank *k, const struct kineto_name *name);

/* Ends reading: adds base_ns to all times. -ERANGE: they exceed 64 bits. */
int kineto_rank_end(struct kineto_rank *k);

/* State of an import while files are read. */
struct kineto_import {
	const struct kineto_options *options; /* not owned */
	struct fmt_strings strings;
	struct kineto_templates templates;
	struct kineto_spill spill;
	struct kineto_rank **ranks; /* owned */
	size_t n_ranks, ranks_cap;
	uint32_t n_processes; /* number of processes so far, of files with several GPUs */
	uint64_t done, total; /* bytes of files */
	uint64_t bytes;	      /* of JSON */
};

/* Appends an empty rank for a file. Returns 0 or -ENOMEM. */
int kineto_add_rank(struct kineto_import *im, const char *path, struct kineto_rank **ret);
