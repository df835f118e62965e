/* SPDX-License-Identifier: Apache-2.0 */

/* Includes cuda.h with every version of every function under its own name, as needed by a library
 * that defines them. */
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include "replay/emugpu/refuse.h"

#include <cuda.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
