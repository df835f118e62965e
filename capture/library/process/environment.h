/* SPDX-License-Identifier: Apache-2.0 */

/* The environment of programs that this process starts: LD_PRELOAD is completed, since scripts that
 * set it for an allocator of their own would leave this library out. Works on the stack of a child
 * that may share its parent's memory, or be a fork of a process with threads: no locks, no heap.
 *
 *     size_t bytes = cap_environment_bytes(envp);
 *     char *const *env = bytes ? cap_environment_put(envp, __builtin_alloca(bytes)) : envp;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the environment names this session. */
bool cap_environment_names_session(char *const envp[]);

/* Returns the size of an environment with this library in LD_PRELOAD; 0: use the environment
 * unchanged, for example because it does not name this session. */
size_t cap_environment_bytes(char *const envp[]);
char *const *cap_environment_put(char *const envp[], void *space);
