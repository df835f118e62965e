/* SPDX-License-Identifier: Apache-2.0 */

/* Shared by recorder.c and recorder_end.c. One thread. */
#pragma once

#include "capture/consumer.h"
#include "capture/recorder/recorder.h"
#include "capture/recorder/session.h"

/* An open ring. */
struct rec_recorder_ring {
	struct cap_consumer *drain; /* owned */
	uint32_t number;
	struct cap_ring_status written; /* as last recorded */
};

struct rec_program {
	int32_t pid;
	uint64_t started;
};

struct rec_recorder {
	struct rec_session session;
	struct cap_control settings;
	char folder[PATH_MAX]; /* of the session, which may no longer exist */
	struct cap_clock clock;
	size_t n_clock_written; /* number of segments in the recording */
	struct rec_raw raw;
	struct rec_recorder_ring *open_rings;
	size_t n_open_rings, open_rings_cap;
	uint64_t *reached; /* by ring: 1 + its bytes in the recording; 0: not in it */
	size_t reached_cap;
	struct rec_program *programs;
	size_t n_programs, programs_cap;
	int appeared;	  /* inotify descriptor for contents in the session folder; 0: none yet */
	int64_t round_ns; /* time of the last round */
};

/* Appends a piece to the recording. */
int rec_recorder_put(struct rec_recorder *r, enum rec_piece_kind kind, uint32_t ring,
		     uint64_t position, const void *data, size_t bytes);
/* Copies contents that appeared in the session folder since the last call; all contents if `all`.
 * Call it before reading the rings, since their records name contents. */
void rec_recorder_copy_blobs(struct rec_recorder *r, bool all);
/* Opens new rings. */
int rec_recorder_find_rings(struct rec_recorder *r);
/* Copies the contents of all rings. Returns the number of bytes. */
long rec_recorder_poll_now(struct rec_recorder *r);
