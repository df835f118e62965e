/* SPDX-License-Identifier: Apache-2.0 */

/* Calls that give or take memory, and where their arguments say which. Any thread. */
#pragma once

#include "formats/api/api.h"

/* Whether a call of this name gives or takes memory or addresses, of a device or of page-locked
 * host memory: by the description of the call; of CUDA's runtime and HIP by its name. */
bool fmt_is_allocation(const char *call);

#define FMT_ALLOCATION_KEY_BYTES 64

/* The key of the argument with the address of the memory that the call gave or took: "ptr.out"
 * after the call, where `ptr` leads to the caller's variable. "" where a call has no address
 * (cuMemCreate). NULL where the call has no description. */
const char *fmt_allocation_address(const char *call, char ret[FMT_ALLOCATION_KEY_BYTES]);
