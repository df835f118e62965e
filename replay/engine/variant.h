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

/* The number of the scale with these factors, one for each variant; 0: all are 1. There are at most
 * SIM_SCALES. */
#define SIM_SCALES 65535
int sim_scale(struct sim *s, const double *factors, uint16_t *ret);
