/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Called in a forked child: resets the lock of names, which another thread of the parent may have
 * held. */
void cap_nvtx_after_fork(void);
