/* SPDX-License-Identifier: Apache-2.0 */

/* Which ranks of a trace ran on the same GPU. A GPU is identified by its host and its UUID, or its
 * PCI address if no UUID was recorded. A rank with neither has a GPU of its own. Any thread. */
#pragma once

#include "formats/trace/store/trace.h"

/* *ret is an array by rank, for the caller to free: the first rank on the same GPU, which may be
 * the rank itself. 0 or -ENOMEM. */
int fmt_report_gpus(const struct fmt_trace *t, uint32_t **ret);

/* Number of different GPUs of all ranks of the trace; 0: out of memory. */
uint32_t fmt_report_n_gpus(const struct fmt_trace *t);
