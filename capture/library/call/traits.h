/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Properties of a call that are known at compile time. */
#define CAP_TRAITS(class, n_words, flags) ((uint32_t)(class) | (uint32_t)(n_words) << 8 | (flags))
#define CAP_TRAITS_CLASS(traits) ((traits)&0xff)
#define CAP_TRAITS_WORDS(traits) ((traits) >> 8 & 0xff)
#define CAP_TRAITS_ALWAYS (1u << 16)	 /* also recorded while paused */
#define CAP_TRAITS_RAW (1u << 17)	 /* no description */
#define CAP_TRAITS_PER_THREAD (1u << 18) /* stream 0 is the per-thread default stream */
#define CAP_TRAITS_WIDE (1u << 19)	 /* the result has more than 32 bits */
#define CAP_TRAITS_COPIES (1u << 20)	 /* it has a plan of memory to copy */
#define CAP_TRAITS_CAPTURES (1u << 22)	 /* begins or ends the capture of a stream */
#define CAP_TRAITS_QUERY (1u << 30)	 /* changes no state: see poll_filter.h */

/* Word `word` (below 32) points to the only result, 4 or 8 bytes: cap_call_leave() copies it
 * without a plan. For calls that return a status. */
#define CAP_TRAITS_OUT (1u << 23)
#define CAP_TRAITS_OUTPUT(word, bytes)                                                             \
	(CAP_TRAITS_OUT | (uint32_t)(word) << 24 | ((bytes) == 8 ? CAP_TRAITS_OUT_WIDE : 0))
#define CAP_TRAITS_OUT_WORD(traits) ((traits) >> 24 & 0x1f)
#define CAP_TRAITS_OUT_WIDE (1u << 29)
