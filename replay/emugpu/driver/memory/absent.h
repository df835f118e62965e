/* SPDX-License-Identifier: Apache-2.0 */

/* Absent memory: pages of device memory that were never written, or that a large fill or copy
 * cleared. They read as zeros and use no host memory. A read by address would allocate them, so
 * these functions ask the memory's file. They accept host memory, too, which is never absent. Any
 * thread. */
#pragma once

#include "replay/emugpu/absent.h"

#include <stddef.h>
#include <stdint.h>

/* Copies. Absent pages of the source become absent in the destination. */
void emu_absent_copy(uint8_t *to, const uint8_t *from, size_t bytes);

/* Makes whole pages absent, and fills the rest with zeros. */
void emu_absent_clear(uint8_t *at, size_t bytes);
