/* SPDX-License-Identifier: Apache-2.0 */

/* When operations ran. Any thread. */
#pragma once

#include "capture/library/device/place.h"

/* The stream waits for, or does, what is no operation of the program's: the end of the last one
 * does not tell when the next can begin. Whether times are taken or not. */
void cap_times_interrupt(const struct cap_place *place);
