/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the virtual clock over slices, wherever they come from, and hands their times back.
 *
 * Of each rank, the slices that are being worked on are held, and the times of a few before them:
 * memory does not grow with the length of a run. A rank's next slice is asked for when the rank
 * cannot go on without it.
 */
#pragma once

#include "formats/trace/error.h"
#include "formats/trace/names.h"

#include "replay/engine/program.h"

struct replay_source {
	const struct fmt_names *names;
	uint32_t n_ranks;
	const uint32_t *numbers; /* the recorder's, by rank */
	void *context;

	/* The rank's next slice, which is the source's own until taken() gets it back; *more tells
	 * that the slice after it is of the same iteration. Returns 1, or 0 after the last, or a
	 * negative errno. */
	int (*next)(void *context, uint32_t rank, struct fmt_slice **ret, int *more,
		    struct fmt_error *err);

	/* A slice that is not wanted any more, after an error. May be NULL. */
	void (*dropped)(void *context, struct fmt_slice *slice);

	/* The slice with its times: event k starts at times[2 k] and ends at times[2 k + 1]. Slices
	 * of a rank come in their order. Returns 0 or a negative errno. */
	int (*taken)(void *context, uint32_t rank, struct fmt_slice *slice, const int64_t *times,
		     struct fmt_error *err);
};

struct replay_counts {
	struct sim_counts sim;
	struct program_counts program;
};

/* 0, -ENOMEM, -EBADMSG, or what the source returned. After an error some slices were not taken. */
int replay_feed(const struct replay_source *source, struct replay_counts *ret,
		struct fmt_error *err);
