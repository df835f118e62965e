/* SPDX-License-Identifier: Apache-2.0 */

/* What acts before and after a call that the capture library forwards: a chain in a fixed order,
 * allocations, digests, times; after the call in the opposite order, so that `times` stands
 * closest to the call on both sides. Recording itself is no hook, it is what calls them.
 *
 * A hook runs on the program's thread, inside its call, with errno to be kept by the caller of the
 * chain. It never prints, never exits, never waits for the program. It calls the driver through
 * cap_real(), whose calls are neither recorded nor hooked, and which may be done from threads of
 * its own as well. Hooks do not run while the thread is paused, except for the classes in
 * `always`; nor in forked children.
 */
#pragma once

#include "capture/record.h"

#include <stddef.h>
#include <stdint.h>

/* A call under way. On the stack of the call; gone when it returns. */
struct cap_call {
	uint32_t api;	/* index into formats/api; CAP_API_UNKNOWN + n: no description */
	uint16_t class; /* enum api_class */
	uint8_t depth;	/* 0: by the program itself */
	uint8_t paused;
	uint32_t how;	/* call.h's own */
	uint32_t hooks; /* bit of each hook that acts on the call: chain.h's own */
	uint64_t id;
	const uint64_t *words; /* the arguments as in struct cap_call_record */
	uint64_t start, end;   /* in the ring's clock; `end` in after() only */
	int64_t result;	       /* in after() only; 0 is success in every library */
	uint64_t room[5];      /* for the hooks: [0] allocations, [1] [2] digests, [3] [4] times */
};

struct cap_hook {
	const char *name;
	uint64_t classes;   /* bit enum api_class: which calls it wants */
	uint64_t always;    /* which of them also while paused */
	int (*start)(void); /* once a process, when cuInit() has succeeded: 0, or -errno to be
			       left out */
	/* Each may be NULL. */
	void (*before)(struct cap_call *c);
	void (*after)(struct cap_call *c);
	void (*iteration)(int64_t number, uint64_t id); /* an iteration begins, with the id of the
							   mark: the one before it has ended */
	void (*thread_end)(void);
	void (*end)(void); /* the process ends in an orderly way: what is outstanding is to come */
	void (*ended)(void); /* it has come, or was given up: write what is known of it */
};

extern const struct cap_hook cap_allocations, cap_digests, cap_times;

/* The real driver's (nccl's, cublas's) function by its exact name, as dlsym finds it in the real
 * library; NULL if it is not there or the library is not loaded. Keep it in a static: a look-up
 * costs about a microsecond.
 *
 *     static CUresult (*record)(CUevent, CUstream);
 *     if (!record && !(record = cap_real(CAP_DRIVER, "cuEventRecord")))
 *             return;
 */
enum cap_library { CAP_DRIVER, CAP_NCCL, CAP_CUBLAS, CAP_CUBLASLT, CAP_LIBRARIES };
void *cap_real(enum cap_library library, const char *name);

/* The control page; never NULL inside a hook. */
const struct cap_control *cap_control(void);

/* Now, on the clock of the recording: CLOCK_MONOTONIC ns, or virtual ns under gpuemu. */
int64_t cap_now_ns(void);

/* Whether the driver is the emulated one. */
int cap_emulated(void);

/* Writes into the calling thread's ring, from any thread; a full ring waits or drops (ring.h). */
void cap_put_times(uint64_t id, uint32_t index, int64_t start_ns, int64_t end_ns);
void cap_put_fact(const char *key, const char *value, size_t value_len);
/* Room for a record of `bytes` (a multiple of 8) in the calling thread's ring, at most an eighth of
 * it, to be filled and then published; NULL when there is none and it was counted as lost. */
void *cap_reserve(uint32_t bytes, enum cap_kind kind);
void cap_publish(void);

/* Keeps `bytes` as blob-HASH in the session folder, once for each content. 0, or a negative errno:
 * -ENOSPC when there is no room. */
int cap_put_blob(const void *bytes, uint64_t len, uint64_t ret_hash[2]);
