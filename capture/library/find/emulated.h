/* SPDX-License-Identifier: Apache-2.0 */

/* The emulated driver (gpuemu) and pauses of its clock. Any thread. */
#pragma once

#include "capture/library/find/clock.h"

/* Looks the emulated driver up, and sets the clock of the recording to its clock if it is loaded.
 */
void cap_emulated_find(void);

/* Between the two calls the emulated clock of the thread is stopped: the library's own work takes
 * no time of the program. Calls nest. No effect on a real driver. */
void cap_clock_pause(void);
void cap_clock_resume(void);
