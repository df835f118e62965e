/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A buffer at one point of a stream, for one digest record. */
struct cap_buffer {
	uint64_t id;	 /* of the call that reads or writes the buffer */
	uint32_t output; /* 0: read, 1: written; CAP_DIGEST_LIVE */
	uint64_t at;	 /* of CAP_DIGEST_LIVE: its time in the ring's clock */
	uint64_t address, bytes;
	uint64_t allocation, offset_bytes;
	bool is_external; /* the contents come from the host or from other GPUs */
};
