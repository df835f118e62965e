/* SPDX-License-Identifier: Apache-2.0 */

/* The links between the recorded GPUs, by the GPU model (data/gpus) and NCCL's cost model
 * (replay/cost/nccl.h). A node has LINKS_NODE GPUs. Thread-safe: functions read only their
 * arguments. */
#pragma once

#include "formats/run/infer/network.h"

#include "replay/cost/nccl.h"

#define LINKS_NODE 8

struct links {
	struct cost_links model; /* without numbers of ranks and hosts */
	int known; /* the recorded GPU has a model; else the model is an H100 without its switch */
};

/* Returns 0; or -EINVAL and the reason in `why` if the models cannot be read. */
int links_init(struct links *l, const struct fmt_names *names, char *why, size_t len);

/* Returns the kind of collectives of this name; all-reduce for unknown kinds and barriers. */
enum cost_collective links_kind(const char *op);

/* Returns the time in ns of a collective on `ranks` of a run's `all` ranks. `bytes`: the larger of
 * a rank's input and output. */
double links_time_ns(const struct cost_links *l, enum cost_collective kind, uint32_t ranks,
		     uint32_t all, double bytes);

/* Returns links with `factor` times the bandwidth: within a node, or between nodes if the run has
 * several. */
struct cost_links links_faster(const struct cost_links *l, uint32_t all, double factor);

/* Returns true if a recorded time is so close to the model's that the distance is the model's own
 * error. */
int links_agree(double model_ns, double recorded_ns);

/* Returns links with which the largest recorded message takes the fitted time: those of the GPU
 * model, if its time is close enough, or with one factor on all bandwidths that were used. `bytes`
 * is the size of a message if the line does not contain the largest one. */
struct cost_links links_fit(const struct links *l, const struct fmt_network_fit *fit,
			    enum cost_collective kind, uint32_t ranks, uint32_t all, double bytes);
