/* SPDX-License-Identifier: Apache-2.0 */

/* Attributes that several parts of the capture library use. */
#pragma once

#define CAP_API __attribute__((visibility("default"))) /* exported to the program */
#define CAP_INLINE inline __attribute__((always_inline))
/* Thread-local data at a constant offset: reading it calls no function. */
#define CAP_THREAD_LOCAL __attribute__((tls_model("initial-exec")))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
