/* SPDX-License-Identifier: Apache-2.0 */

/* A training run that is made as it is read: a source of slices for replay/engine/feed.h, so that
 * the engine meets what it meets in a trace without a trace of any size being on disk.
 *
 * An iteration of a rank is a number of layers. A layer launches kernels on the compute stream, and
 * a collective on the communication stream that waits for them. Each launch is a call. With
 * `exposed`, the next layer waits for the collective; otherwise only the last layer waits for the
 * last. At the end the host waits for the device. Durations differ from call to call.
 */
#pragma once

#include "replay/engine/feed.h"

struct made_run_options {
	uint32_t gpus, layers, kernels; /* of a layer */
	uint64_t iterations;
	int exposed;
};

struct made_run;

int made_run_new(const struct made_run_options *options, struct made_run **ret);
void made_run_free(struct made_run *run);

/* Owned by the run. */
const struct replay_source *made_run_source(const struct made_run *run);

/* Makes all slices, an iteration of all ranks at a time, and takes them back: what the run itself
 * costs. 0 or -ENOMEM. */
int made_run_drain(struct made_run *run);

struct made_run_counts {
	uint64_t ops, events, edges;
	uint64_t bytes;	   /* that the slices occupy */
	uint64_t checksum; /* of all times */
};

const struct made_run_counts *made_run_counts(const struct made_run *run);
