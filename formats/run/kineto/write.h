/* SPDX-License-Identifier: Apache-2.0 */

/* Writes a rank, slice by slice. */
#pragma once

#include "formats/run/kineto/kineto.h"
#include "formats/run/kineto/name.h"
#include "formats/run/kineto/order.h"
#include "formats/run/write.h"

/* Data of a rank, in addition to its events, between reading and writing. */
struct kineto_ready {
	struct kineto_rank *rank; /* its events and values have moved to the run */
	uint32_t *track_of;	  /* owned */
	uint32_t *call_of;	  /* owned */
	const struct kineto_options *options;
};

/* `run` is the rank's in the trace's numbers, edges and all, and `index` its number among them. */
int kineto_write_rank(struct kineto_naming *t, struct kineto_ready *ready,
		      const struct fmt_run_rank *run, uint32_t index, struct fmt_writer *writer,
		      struct fmt_error *err);
