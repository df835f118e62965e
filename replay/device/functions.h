/* SPDX-License-Identifier: Apache-2.0 */

/* Looks up and calls functions of the driver, NCCL and cuBLAS. Any thread. */
#pragma once

#include "formats/api/api.h"

/* Opens the available libraries. If a capture library is loaded, calls go through it. */
void rex_functions_open(void);

/* Returns NULL if no library has the function. */
void *rex_function(const char *name, enum api_library library);

/* Returns the name of an error of the driver. */
const char *rex_error_name(int32_t error);

/* Calls `function` with the words of the call. Returns its 64-bit result. */
uint64_t rex_invoke(void *function, const struct api_call *call, const uint64_t *words);

/* Marks the start of an iteration for a capture library. */
void rex_mark_iteration(int64_t number);

/* Returns the GPU to use for a recorded one: `recorded` itself if `instead` is negative, else GPU
 * `instead` modulo the number of visible GPUs. */
int rex_device(int recorded, int instead);
