/* SPDX-License-Identifier: Apache-2.0 */

/* A training run that is generated as it is read: a source of slices for replay/engine/simulate.h,
 * so that the engine can be measured at any size without a trace on disk. An iteration of a rank
 * has a number of layers. A layer launches kernels on the compute stream, and a collective that
 * waits for them on the communication stream. Each launch is a call. With `exposed`, the next layer
 * waits for the collective; otherwise only the last layer waits for the last collective. At the end
 * the host waits for the device. Durations vary from call to call. */
#pragma once

#include "replay/engine/simulate.h"

struct made_run_options {
	uint32_t gpus, layers, kernels; /* kernels: in each layer */
	uint64_t iterations;
	int exposed;
};

struct made_run;

int made_run_new(const struct made_run_options *options, struct made_run **ret);
void made_run_free(struct made_run *run);

/* Returns the source; the run owns it. */
const struct replay_source *made_run_source(const struct made_run *run);

/* Generates all slices, one iteration of all ranks at a time, and frees them: the cost of the run
 * itself. Returns 0 or -ENOMEM. */
int made_run_drain(struct made_run *run);

struct made_run_counts {
	uint64_t ops, events, edges;
	uint64_t bytes;	   /* bytes of the slices */
	uint64_t checksum; /* of all times */
};

const struct made_run_counts *made_run_counts(const struct made_run *run);
