/* SPDX-License-Identifier: Apache-2.0 */

/* What recorder.c and build.c share. */
#pragma once

#include "capture/recorder/processes.h"
#include "capture/recorder/recorder.h"
#include "capture/recorder/session.h"
#include "capture/recorder/spool.h"
#include "capture/recorder/trace/making.h"

/* A ring that is read. */
struct tap {
	struct cap_drain *drain; /* owned */
	uint32_t number;
	struct cap_drain_status told; /* as the spool has it */
};

struct program {
	int32_t pid;
	uint64_t started;
};

struct rec_recorder {
	struct rec_session session;
	struct cap_control settings;
	char folder[PATH_MAX]; /* of the session, which may be gone */
	struct cap_clock clock;
	size_t clock_told; /* segments that are in the spool */
	struct rec_spool spool;
	uint32_t spool_version; /* of what was read of it */
	struct tap *taps;
	size_t n_taps, taps_cap;
	uint64_t *reached; /* by ring: 1 + how far the spool is with it; 0: it is not there */
	size_t reached_cap;
	struct program *programs;
	size_t n_programs, programs_cap;
	int64_t round_ns; /* when the last one was */
	uint64_t bad_rings;
	struct rec_processes *processes; /* of what was read again */
	struct rec_window window;	 /* of the trace that is made */
	char *path;			 /* owned: of that */
	struct rec_making *making;	 /* owned; NULL: it is written at once */
	uint64_t least;			 /* the first stretch reaches so far in the spool */
	unsigned restarts;
	bool follows;	 /* another process takes what is in the rings */
	bool whole;	 /* it has to be written at once */
	bool has_failed; /* the making */
};

/* What the spool says of where the recorder is; `recorder` is one. */
int rec_recall(void *recorder, const struct rec_piece *piece);

/* Begins to read a ring, see rec_session_rings(). */
int rec_take_ring(void *recorder, int dir, const char *name, uint32_t number);
