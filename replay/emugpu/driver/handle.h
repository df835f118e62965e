/* SPDX-License-Identifier: Apache-2.0 */

/* Handles are addresses of objects. Each object begins with, or contains, a magic number that is
 * cleared when the object is destroyed. Any thread. */
#pragma once

#include <stdint.h>

/* Returns 1 if an object is alive: its magic number is the expected one. A real driver may crash on
 * the handle of a destroyed object; with $GPUEMU_STRICT, this function ends the process and prints
 * the kind of object, `noun`. */
int emu_is_alive(uint32_t magic, uint32_t expected, const char *noun);

/* Returns a number unique among the objects of the process. */
uint64_t emu_new_id(void);
