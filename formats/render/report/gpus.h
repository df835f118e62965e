/* SPDX-License-Identifier: Apache-2.0 */

/* Finds the ranks that ran on the same GPU. A GPU is identified by its host and its UUID, or its
 * PCI address if no UUID was recorded. A rank with neither has its own GPU. Any thread. */
#pragma once

#include "formats/trace/store/trace.h"

/* Sets *ret to an array by rank, which the caller frees: the first rank on the same GPU, possibly
 * the rank itself. Returns 0 or -ENOMEM. */
int fmt_report_gpus(const struct fmt_trace *t, uint32_t **ret);

/* Returns the number of different GPUs of all ranks of the trace; 0: out of memory. */
uint32_t fmt_report_n_gpus(const struct fmt_trace *t);
