/* SPDX-License-Identifier: Apache-2.0 */

/* Decides where the processes of a cut-off recording end, so that none waits for another
 * one's call that is not there. One thread. */
#pragma once

#include "replay/device/window.h"

#include <stdbool.h>

/* Whether the recording ends before its programs did. */
bool rex_is_cut_off(const struct fmt_trace *trace);

/* Sets stops[i] to the number of calls that process i can make, as rex_process_read() orders them,
 * and *left_out to the number of those that it cannot; `n` processes. A process ends before a call
 * of NCCL that other ranks do not make, or that needs a content that is not there. 0 or a negative
 * errno as rex_process_read(), with *err. */
int rex_cut_find(struct fmt_trace *trace, struct rex_range range, uint32_t *stops, uint32_t n,
		 uint64_t *left_out, struct fmt_error *err);
