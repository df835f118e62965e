/* SPDX-License-Identifier: Apache-2.0 */

/* The changed runs that are emulated beside a recorded one, as variants of every time of the clock
 * (sim.h). Variant i is that of specs[i]. The last variant is a run whose device operations take no
 * time: it shows the time of the host alone.
 *
 * A time is scaled by a factor for each variant. Times with equal factors share one scale number
 * (sim_get_scale()). Factors of several changes multiply.
 *
 * Not thread-safe. Functions that return a scale return 0, "not scaled", if the change is NULL.
 * They also do so if out of memory, and change_error() then returns the error. */
#pragma once

#include "formats/trace/names.h"

#include "replay/clock/variant.h"
#include "replay/what_if/what_if.h"

struct change;
struct copies;

/* `numbers[i]` is the recorder's number of rank i. The specs, names and numbers must outlive the
 * change. Returns 0; -ENOMEM; or -EINVAL for a spec that names a rank, kernel or communicator which
 * is not in the trace, with its index in *bad and the reason in *err. */
int change_new(struct what_if *const *specs, uint32_t n_specs, const struct fmt_names *names,
	       const uint32_t *numbers, uint32_t n_ranks, struct change **ret, uint32_t *bad,
	       struct what_if_error *err);

/* Sets another number of copies, which changes the run's collectives. change_new() must have got
 * the ranks of the changed run, with the numbers of the recorded ranks that they repeat. */
void change_set_copies(struct change *c, const struct copies *copies);
void change_free(struct change *c);

/* Sets the number of variants of the clock, which the returned scales then belong to. */
int change_attach(struct change *c, struct sim *sim);

/* Returns true if straggler=none is requested. The caller must then set factors[rank * n_templates
 * + template], which multiply the times of a kernel template on a rank and must outlive the
 * change. */
int change_has_straggler(const struct change *c);
void change_set_straggler(struct change *c, const float *factors, uint32_t n_templates);

/* Returns the number of variants, including the one without device time. */
uint32_t change_n_variants(const struct change *c);

/* Returns 0 or -ENOMEM. */
int change_error(const struct change *c);

/* Return the scales of times on a rank (by index): between the calls of a thread; within a call; of
 * a device operation that is not a collective (another GPU model uses one of its durations); of a
 * collective on communicator `comm` (UINT32_MAX: without participants on other ranks, which only
 * the last variant scales) with a message of `bytes` (-1: unknown). */
uint16_t change_host_scale(struct change *c, uint32_t rank);
uint16_t change_launch_scale(struct change *c, uint32_t rank);
uint16_t change_op_scale(struct change *c, uint32_t rank, uint32_t template, int64_t duration_ns);
uint16_t change_collective_scale(struct change *c, uint32_t rank, uint32_t template, uint32_t comm,
				 int64_t bytes);

/* Returns true if the kernel is scaled for another GPU model, but only its number of threads is
 * known. */
int change_has_no_model(const struct change *c, uint32_t template);

/* Returns true if a variant changes latency or bandwidth of such collectives but their latency is
 * unknown: their transfer then counts as bytes / bandwidth (network.h). */
int change_has_no_latency(const struct change *c, uint32_t template, uint32_t comm, int64_t bytes);

/* Returns the expected transfers of the recorded network for collectives of this template,
 * communicator and size; all 0 if no variant changes the network, or if they are unknown. */
struct sim_expected change_expected_transfer(const struct change *c, uint32_t template,
					     uint32_t comm, int64_t bytes);

/* Returns the scale of device work without a template. */
uint16_t change_device_scale(struct change *c, uint32_t rank);

/* Returns the factor of the host's own time on a rank in variant i. */
double change_host_factor(const struct change *c, uint32_t variant, uint32_t rank);

/* Returns true if variant i changes latency and bandwidth of collectives differently. */
int change_splits_network(const struct change *c, uint32_t variant);

/* Returns true if variant i depends on the waits between ranks: it changes the network, or the
 * speed of a rank relative to others. */
int change_needs_ranks(const struct change *c, uint32_t variant);
