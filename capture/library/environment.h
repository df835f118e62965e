/* SPDX-License-Identifier: Apache-2.0 */

/* What a program that is started is told. A script that sets LD_PRELOAD for an allocator of its own
 * leaves this library out, and yet means to be recorded. On the stack of a child that may share its
 * parent's memory, or be a fork of one with threads: no locks, no heap.
 *
 *     size_t room = cap_environment_room(envp);
 *     char *const *told = room ? cap_environment_put(envp, __builtin_alloca(room)) : envp;
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether a program that is told this may join our session. */
bool cap_environment_names_session(char *const envp[]);

/* Bytes that an environment takes which names this library as well; 0: it is to stay as it is. That
 * is so of one that does not name our session. */
size_t cap_environment_room(char *const envp[]);
char *const *cap_environment_put(char *const envp[], void *room);
