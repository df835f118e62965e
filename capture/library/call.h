/* SPDX-License-Identifier: Apache-2.0 */

/* A call that a hook forwards: what the generated hooks are made of.
 *
 *     uint64_t words[] = {a, b};
 *     struct cap_call c;
 *     bool on = cap_enter(&c, 17, HOW, words);
 *     int r = real(words[0], words[1]);
 *     if (on)
 *             cap_leave(&c, r);
 */
#pragma once

#include "capture/library/state.h"

/* What the hook knows of its call at compile time. */
#define CAP_HOW(class, n_words, flags) ((uint32_t)(class) | (uint32_t)(n_words) << 8 | (flags))
#define CAP_HOW_CLASS(how) ((how)&0xff)
#define CAP_HOW_WORDS(how) ((how) >> 8 & 0xff)
#define CAP_HOW_ALWAYS (1u << 16)     /* also while paused */
#define CAP_HOW_RAW (1u << 17)	      /* no description */
#define CAP_HOW_PER_THREAD (1u << 18) /* stream 0 is the thread's own */
#define CAP_HOW_WIDE (1u << 19)	      /* the result has more than 32 bits */
#define CAP_HOW_RICH (1u << 20)	      /* args.c has something to copy */
#define CAP_HOW_KERNEL (1u << 21)     /* cuLaunchKernel: see launch.h */
#define CAP_HOW_CAPTURES (1u << 22)   /* begins or ends the capture of a stream */

#define CAP_HOW_ASKS (1u << 30) /* changes nothing: may be repeated, see polls.h */

/* Word `word` (below 32) leads to the only thing that is copied, 4 or 8 bytes of result: call.c
 * does that itself. For calls that return a status. */
#define CAP_HOW_OUT (1u << 23)
#define CAP_HOW_OUTPUT(word, bytes)                                                                \
	(CAP_HOW_OUT | (uint32_t)(word) << 24 | ((bytes) == 8 ? CAP_HOW_OUT_WIDE : 0))
#define CAP_HOW_OUT_WORD(how) ((how) >> 24 & 0x1f)
#define CAP_HOW_OUT_WIDE (1u << 29)

/* Words of cuLaunchKernel: CAP_HOW_KERNEL. */
#define CAP_LAUNCH_PARAMS 9
#define CAP_LAUNCH_EXTRA 10
#define CAP_LAUNCH_WORDS 11

/* Whether the call is recorded; then cap_leave() must follow. Neither changes errno. */
bool cap_enter(struct cap_call *c, uint32_t api, uint32_t how, const uint64_t *words);
void cap_leave(struct cap_call *c, int64_t result);

/* What a description says about pointers: copies before and after the call (args.c). */
void cap_args_before(struct cap_call *c);
void cap_args_after(struct cap_call *c);

/* Some handle has this pointer mode. Once one says device (not 0), scalars are not copied any more:
 * the driver may write them on a stream, and the host may not be able to read them. */
void cap_scalars_mode(int mode);

/* Writes `len` bytes as a blob of the call. */
void cap_put_bytes(const struct cap_call *c, unsigned arg, enum cap_blob_what what,
		   const void *bytes, uint64_t len);

/* The kernel parameters of a launch, or of the node of a graph; `function` may be a kernel. */
void cap_put_params(const struct cap_call *c, unsigned arg, uint64_t function, void **params,
		    void **extra);
/* The driver gave this handle: of a kernel, or of a function. */
void cap_params_note(uint64_t handle, bool kernel);
/* Modules went: what is known of their functions does not hold any longer. */
void cap_params_forget(void);

/* The code image at `image`, which argument `arg` leads to. */
void cap_put_image(const struct cap_call *c, unsigned arg, const void *image);
/* The one in a file. */
void cap_put_image_file(const struct cap_call *c, unsigned arg, const char *path);

/* What cuGetProcAddress answered, made to lead to our hooks. */
void cap_proc_address(int result, const char *symbol, void **pfn, uint64_t flags);
