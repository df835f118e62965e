/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Measures how many times as fast as this machine the reference host is (doc/gpuemu.md): the CPU
 * time of a fixed piece of work here, the shortest of several within half a second, divided by the
 * time there. */
double gpuemu_host_speed(void);
