/* SPDX-License-Identifier: Apache-2.0 */

/* Computes factors for kernels on another GPU model: the only file that uses durations on other
 * GPUs (replay/cost/cost.h). Thread-safe. */
#pragma once

#include "formats/trace/names.h"

#include "replay/what_if/what_if.h"

#include <stddef.h>
#include <stdint.h>

struct model;

/* Converts from the GPU of a rank to the model `like`. The caller ends *ret by model_free().
 * Returns 0, -ENOMEM, or -EINVAL with the reason if one of the GPUs is unknown. */
int model_new(const struct fmt_names *names, uint32_t rank, const char *like, struct model **ret,
	      struct what_if_error *err);
void model_free(struct model *m);

/* Returns the factor of the duration of a kernel or memset, given one duration. *unknown: only the
 * number of threads is known, and the factor is the ratio of memory bandwidths. */
double model_factor(const struct model *m, const struct fmt_names *names, uint32_t template,
		    int64_t duration_ns, int *unknown);
