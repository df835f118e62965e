/* SPDX-License-Identifier: Apache-2.0 */

/* The kernel's stand-in on emulated GPUs: gd128 on the CPU. */
#pragma once

/* Does nothing on a real driver. */
void cap_twin_register(void);
