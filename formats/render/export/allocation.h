/* SPDX-License-Identifier: Apache-2.0 */

/* Recognises calls that allocate or free memory, and their address arguments. Any thread. */
#pragma once

#include "formats/api/api.h"

/* Returns true if a function of this name allocates or frees device memory, addresses or pinned
 * host memory: by its description; for the CUDA runtime and HIP by its name. */
bool fmt_is_allocation(const char *call);

#define FMT_ALLOCATION_KEY_BYTES 64

/* Returns the key of the argument with the address of the allocated or freed memory: "ptr.out" if
 * the call returns it through `ptr`. "" if the call has no address (cuMemCreate). NULL if the call
 * has no description. */
const char *fmt_allocation_address(const char *call, char ret[FMT_ALLOCATION_KEY_BYTES]);
