/* SPDX-License-Identifier: Apache-2.0 */

/* The changed runs that are emulated beside a recorded one: variants of every time of the clock
 * (sim.h). Variant i is that of specs[i]; one more, the last, is a run whose device operations take
 * no time, which shows how much the host alone determines.
 *
 * A time is scaled by a factor for each variant; what is scaled alike has the same number of
 * factors (sim_scale()). Factors of several changes multiply.
 *
 * Not thread-safe. Functions that return a scale return 0, "not scaled", if the change is NULL, and
 * if memory is exhausted, which also sets change_error().
 */
#pragma once

#include "formats/trace/names.h"

#include "replay/engine/variant.h"
#include "replay/engine/what_if.h"

struct change;
struct copies;

/* `numbers[i]` is the recorder's number of rank i. The specs, names and numbers must outlive it.
 * 0, -ENOMEM, or -EINVAL for a spec that names a rank, kernel or communicator which the trace does
 * not have: then *bad is its index and *err the reason. */
int change_new(struct what_if *const *specs, uint32_t n_specs, const struct fmt_names *names,
	       const uint32_t *numbers, uint32_t n_ranks, struct change **ret, uint32_t *bad,
	       struct what_if_error *err);

/* The run has another number of copies, which change its collectives too: `n_ranks` was the number
 * of ranks then, and `numbers` those of the ranks that they repeat. */
void change_copies(struct change *c, const struct copies *copies);
void change_free(struct change *c);

/* Tells the clock how many variants there are; scales are the clock's from then on. */
int change_attach(struct change *c, struct sim *sim);

/* Whether straggler=none is asked for. Then the times of a kernel template on a rank are multiplied
 * by factors[rank * n_templates + template], which must outlive the change. */
int change_has_straggler(const struct change *c);
void change_straggler(struct change *c, const float *factors, uint32_t n_templates);

/* The number of variants, including the one without device time. */
uint32_t change_variants(const struct change *c);

/* 0 or -ENOMEM. */
int change_error(const struct change *c);

/* The scales of times on a rank (by index): between the calls of a thread, within a call, of an
 * operation on the device that is not a collective (one of its durations matters to other GPU
 * models), of a collective on communicator `comm`
 * (UINT32_MAX: one without participants on other ranks, which only the last variant changes) with a
 * message of `bytes` (-1: unknown). */
uint16_t change_host(struct change *c, uint32_t rank);
uint16_t change_launch(struct change *c, uint32_t rank);
uint16_t change_op(struct change *c, uint32_t rank, uint32_t template, int64_t duration_ns);
uint16_t change_collective(struct change *c, uint32_t rank, uint32_t template, uint32_t comm,
			   int64_t bytes);

/* Whether the kernel is scaled for another GPU model with nothing known of it but its threads. */
int change_lacks_model(const struct change *c, uint32_t template);

/* Whether latency or bandwidth changes in a variant, but the latency of such collectives is not
 * known: their transfer counts as bytes over bandwidth (formats/run/infer/network.h). */
int change_lacks_latency(const struct change *c, uint32_t template, uint32_t comm);

/* The transfer time that the recorded network is expected to need for collectives of this template,
 * communicator and size; see sim_expect_transfer(). 0, 0 if no variant changes the network, or if
 * it is not known. */
void change_expected(const struct change *c, uint32_t template, uint32_t comm, int64_t bytes,
		     int64_t *line_ns, double *noise_share);

/* Device work of the rank that has no template. */
uint16_t change_device(struct change *c, uint32_t rank);

/* The factor of the host's own time on a rank in variant i. */
double change_host_factor(const struct change *c, uint32_t variant, uint32_t rank);

/* Whether variant i changes latency and bandwidth of collectives differently. */
int change_splits_network(const struct change *c, uint32_t variant);

/* Whether variant i depends on how long ranks wait for each other: another network, or a rank whose
 * speed changes against the others'. */
int change_needs_ranks(const struct change *c, uint32_t variant);
