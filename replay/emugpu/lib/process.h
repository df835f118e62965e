/* SPDX-License-Identifier: Apache-2.0 */

/* Other processes of this machine: whether one still runs, and whose child it is. */
#pragma once

#include <stdint.h>

/* When a process was started, in the kernel's own units; 0 where there is none. With its id it
 * names a process for good, since ids are used again. */
uint64_t emu_process_started(uint64_t pid);

/* The process that it is a child of; 0 where there is none. */
uint64_t emu_process_parent(uint64_t pid);

/* 1 while it runs; 0 when it is gone or only waits to be buried by its parent. */
int emu_process_lives(uint64_t pid, uint64_t started);
