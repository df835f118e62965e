/* SPDX-License-Identifier: Apache-2.0 */

/* Variants of the times of a clock (sim.h): the same graph with other own times and lags. The clock
 * computes them as it advances, and stores them in block->variants. Not thread-safe. Functions
 * return 0 or -ENOMEM unless stated otherwise. */
#pragma once

#include "replay/clock/sim.h"

/* Adds `n` variants to each time (at most SIM_VARIANTS): own times and lags are multiplied by a
 * factor for each. Call before the first sim_init_rank(); not with capacities. */
#define SIM_VARIANTS 64
int sim_add_variants(struct sim *s, uint32_t n);
uint32_t sim_n_variants(const struct sim *s);

/* The expected transfers of a collective in the recording. 0: unknown. */
struct sim_expected {
	int64_t line_ns;       /* the shortest possible transfer */
	double noise_share;    /* share of the difference from it that is noise and is not scaled */
	int64_t first_exit_ns; /* see struct fmt_network_fit */
	int64_t exit_ns;
	uint8_t uneven;
};

/* For variants: sets the expected transfers of a collective. Each rank that declares the collective
 * calls this; the longest line applies. */
int sim_expect_transfer(struct sim *s, uint32_t collective, const struct sim_expected *e);

/* Returns the number of the scale with these factors, one for each variant; 0: all are 1. There are
 * at most SIM_SCALES. */
#define SIM_SCALES 65535
int sim_get_scale(struct sim *s, const double *factors, uint16_t *ret);
