/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated driver (gpuemu) and pauses of its clock. Any thread. */
#pragma once

#include "capture/library/find/clock.h"

/* Looks up the emulated driver. If it is loaded, uses its clock as the clock of the recording. */
void cap_emulated_find(void);

/* Between the two calls the emulated clock of the thread is stopped: the library's work takes no
 * virtual time. Calls nest. No effect on a real driver. */
void cap_clock_pause(void);
void cap_clock_resume(void);

/* Advances the emulated clock of the thread to this time, unless it is later already. No effect on
 * a real driver. */
void cap_clock_not_before(uint64_t ns);
