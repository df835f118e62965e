/* SPDX-License-Identifier: Apache-2.0 */

/* Decides where the processes of a cut-off recording end, so that none waits for a call that
 * another process did not record. One thread. */
#pragma once

#include "replay/device/window.h"

#include <stdbool.h>

/* Returns true if the recording ends before its programs did. */
bool rex_is_cut_off(const struct fmt_trace *trace);

/* Sets stops[i] to the number of calls that process i of `n` can execute, in the order of
 * rex_process_read(), and *left_out to the number of the remaining calls. A process stops before an
 * NCCL call that other ranks did not record, or that needs missing contents. Returns 0 or a
 * negative errno as rex_process_read(), with *err. */
int rex_cut_find(struct fmt_trace *trace, struct rex_iteration_range range, uint32_t *stops,
		 uint32_t n, uint64_t *left_out, struct fmt_error *err);
