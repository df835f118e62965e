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
