/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Properties of a call that are known at compile time. */
#define CAP_HOW(class, n_words, flags) ((uint32_t)(class) | (uint32_t)(n_words) << 8 | (flags))
#define CAP_HOW_CLASS(how) ((how)&0xff)
#define CAP_HOW_WORDS(how) ((how) >> 8 & 0xff)
#define CAP_HOW_ALWAYS (1u << 16)     /* also recorded while paused */
#define CAP_HOW_RAW (1u << 17)	      /* no description */
#define CAP_HOW_PER_THREAD (1u << 18) /* stream 0 is the per-thread default stream */
#define CAP_HOW_WIDE (1u << 19)	      /* the result has more than 32 bits */
#define CAP_HOW_COPIES (1u << 20)     /* it has a plan of memory to copy */
#define CAP_HOW_CAPTURES (1u << 22)   /* begins or ends the capture of a stream */
#define CAP_HOW_QUERY (1u << 30)      /* changes no state: see poll_filter.h */

/* Word `word` (below 32) points to the only result, 4 or 8 bytes: cap_leave() copies it without a
 * plan. For calls that return a status. */
#define CAP_HOW_OUT (1u << 23)
#define CAP_HOW_OUTPUT(word, bytes)                                                                \
	(CAP_HOW_OUT | (uint32_t)(word) << 24 | ((bytes) == 8 ? CAP_HOW_OUT_WIDE : 0))
#define CAP_HOW_OUT_WORD(how) ((how) >> 24 & 0x1f)
#define CAP_HOW_OUT_WIDE (1u << 29)
