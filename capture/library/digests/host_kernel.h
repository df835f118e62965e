/* SPDX-License-Identifier: Apache-2.0 */

/* The host kernel of gd128 for emulated GPUs. */
#pragma once

/* No effect on a real driver. */
void cap_host_kernel_register(void);
