/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels on another GPU model: the only place that asks for durations on other GPUs
 * (replay/cost/cost.h). Any thread. */
#pragma once

#include "formats/trace/names.h"

#include "replay/engine/what_if.h"

#include <stddef.h>
#include <stdint.h>

struct model;

/* From the GPU of a rank to the model `like`. The caller ends *ret by model_free(). 0, -ENOMEM, or
 * -EINVAL with the reason if one of them is not known. */
int model_new(const struct fmt_names *names, uint32_t rank, const char *like, struct model **ret,
	      struct what_if_error *err);
void model_free(struct model *m);

/* By what the duration of a kernel or memset is multiplied, given one. *unknown: nothing is known
 * of the kernel but its threads, and the factor is that of memory bandwidths. */
double model_factor(const struct model *m, const struct fmt_names *names, uint32_t template,
		    int64_t duration_ns, int *unknown);
