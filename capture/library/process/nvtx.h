/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* In a forked child: another thread of the parent may have held the lock of names. */
void cap_nvtx_forked(void);
