/* SPDX-License-Identifier: Apache-2.0 */

/* Handles are addresses of objects, each of which begins with, or holds, a magic number that is
 * cleared when the object is destroyed. Any thread. */
#pragma once

#include <stdint.h>

/* Whether an object is alive: its magic number is the expected one. A real driver may crash on a
 * handle of an object that was destroyed; with $GPUEMU_STRICT this one ends the process, and says
 * which kind of object `noun` it was. */
int emu_is_alive(uint32_t magic, uint32_t expected, const char *noun);

/* A number unique among the objects of the process. */
uint64_t emu_new_id(void);
