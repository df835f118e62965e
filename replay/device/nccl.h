/* SPDX-License-Identifier: Apache-2.0 */

/* Completion of NCCL calls on non-blocking communicators, which return before they have finished.
 * Each thread keeps the communicators of its calls. */
#pragma once

#include "replay/device/build.h"

/* After a call of NCCL with this result. Waits until the communicators of the call, or of the group
 * that it ended, have finished, because the recorded program has waited, too. Returns the final
 * result. */
int64_t rex_nccl_complete(const struct rex_frame *b, int64_t result);

/* At the end of the thread. */
void rex_nccl_done(void);

/* Finds the calls whose communicators were created at the end of their group, which is the call
 * `end`, in their order. Returns their number, at most `most`. */
size_t rex_find_splits(const struct rex_process *p, const struct rex_call *end,
		       const struct rex_call **ret, size_t most);
