/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Measures the speed of the reference host relative to this machine (doc/gpuemu.md): the CPU time
 * of a fixed piece of work here, the shortest of several within half a second, divided by the time
 * there. */
double gpuemu_host_speed(void);
