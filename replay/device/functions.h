/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of the driver, NCCL and cuBLAS that calls are made of. Any thread. */
#pragma once

#include "formats/api/api.h"

/* Opens the libraries that are there. With a capture library in the process calls go through it. */
void rex_functions_open(void);

/* NULL: no library here has it. */
void *rex_function(const char *name, enum api_library library);

/* Calls `function` with the words of the call. Returns its 64-bit result. */
uint64_t rex_invoke(void *function, const struct api_call *call, const uint64_t *words);

/* Marks the beginning of an iteration for a capture library. */
void rex_mark_iteration(int64_t number);

/* The GPU to use for a recorded one: number `instead`, counted around those that the process sees;
 * the same one if `instead` is negative. */
int rex_device(int recorded, int instead);
