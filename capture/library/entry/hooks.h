/* SPDX-License-Identifier: Apache-2.0 */

/* For the hooks that hooks.py generates. Any thread; functions keep errno. */
#pragma once

#include <stdint.h>

/* The hooks, by index into formats/api. */
extern void *const cap_hooks[];

/* cuInit has returned `result`: starts hooks, and writes facts about the driver. */
void cap_after_cu_init(int result);

/* cuGetProcAddress has returned *pfn: replaces it by the hook of that function. */
void cap_after_get_proc_address(int result, const char *symbol, void **pfn, uint64_t flags);
