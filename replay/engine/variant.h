/* SPDX-License-Identifier: Apache-2.0 */

/* Variants of the times of a clock (sim.h): the same graph with other own times and lags. They are
 * computed while the clock advances; block->variants holds them. Not thread-safe; functions return
 * 0 or -ENOMEM, where nothing else is said. */
#pragma once

#include "replay/engine/sim.h"

/* Each time has `n` variants besides itself from now on (at most SIM_VARIANTS): own times and lags
 * are multiplied by a factor for each of them. Before the first sim_rank(); not with capacities. */
#define SIM_VARIANTS 64
int sim_variants(struct sim *s, uint32_t n);
uint32_t sim_n_variants(const struct sim *s);

/* In variants, what the transfers of a collective should take as recorded: line_ns, and the share
 * of the distance from it that is noise and is not scaled. 0, 0: not known. Each rank that declares
 * the collective calls this; the longest counts. */
int sim_expect_transfer(struct sim *s, uint32_t collective, int64_t line_ns, double noise_share);

/* The number of the scale with these factors, one for each variant; 0: all are 1. There are at most
 * SIM_SCALES. */
#define SIM_SCALES 65535
int sim_scale(struct sim *s, const double *factors, uint16_t *ret);
