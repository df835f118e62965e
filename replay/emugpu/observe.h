/* SPDX-License-Identifier: Apache-2.0 */

/* Reports of the emulated libcuda and libcudart to one observer (cupti/): calls of their public
 * functions, and operations with their virtual times. Without an observer, a call or an operation
 * costs the test of one variable. Any thread. */
#pragma once

#include <stdint.h>

enum emu_observed_kind { EMU_OBSERVED_KERNEL, EMU_OBSERVED_COPY, EMU_OBSERVED_FILL };

struct emu_observed_op {
	enum emu_observed_kind kind;
	int device;
	uint32_t context, stream;
	uint32_t correlation; /* of the call that submitted it */
	int64_t start_ns, end_ns;
	/* Kernels. The name is valid until the process exits. */
	const char *name;
	uint32_t grid[3], block[3];
	uint32_t registers, static_bytes, dynamic_bytes, local_bytes;
	/* Copies and fills. */
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind; /* enum emu_copy_kind */
	uint8_t pageable;
};

enum emu_observed_wait {
	EMU_WAIT_EVENT = 1,
	EMU_WAIT_STREAM_EVENT,
	EMU_WAIT_STREAM,
	EMU_WAIT_CONTEXT
};

struct emu_observer {
	/* Before and after a call; calls nest (the runtime calls the driver). `result`: its
	 * status. */
	void (*enter)(const char *function);
	void (*leave)(int result);
	/* Returns the number of the calling thread's outermost call; 0 outside of calls. */
	uint32_t (*correlation)(void);
	void (*ran)(const struct emu_observed_op *op);
	/* Within a call: it synchronises; stream 0: not with a stream. */
	void (*waits)(enum emu_observed_wait wait, uint32_t context, uint32_t stream);
};

/* The observer of this library, or NULL. */
extern const struct emu_observer *emu_observer_;

static inline const struct emu_observer *emu_observer(void)
{
	return __atomic_load_n(&emu_observer_, __ATOMIC_ACQUIRE);
}

/* For gen/stubs.py: around each call while emu_counting is not 0. emu_observe_enter() returns the
 * observer, which gets the end of the call even if it was removed since. */
const struct emu_observer *emu_observe_enter(const char *function);
void emu_observe_leave(const struct emu_observer *o, int result);

/* Exported by both libraries: sets the observer (NULL: none). `o` must remain valid, and may be
 * called for a moment after it was replaced. */
typedef void gpuemu_observe_fn(const struct emu_observer *o);
gpuemu_observe_fn gpuemu_observe;
