/* SPDX-License-Identifier: Apache-2.0 */

/* The loader's cache, /etc/ld.so.cache. Any thread. */
#pragma once

#include <stddef.h>

/* Writes the path of `library` according to the cache. 0 or -ENOENT. */
int cap_cache_find(const char *library, char *ret, size_t ret_bytes);
