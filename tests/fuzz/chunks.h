/* SPDX-License-Identifier: Apache-2.0 */

/* A trace without checksums and compression, so that a fuzzer can change any byte. A sequence of
 *
 *     u8 tag     'F' the header of a file, 'C' a chunk
 *     varint n   and n bytes: the header's body
 *     varint n   and n bytes: the payload of 'C'
 *
 * Sealing adds checksums and lengths and makes a packed file without an index, so that decoding
 * continues after the checksums. Not thread-safe. */
#pragma once

#include "base/text.h"

#include <stdint.h>

/* Seals rows up to the first invalid one. Returns 0 or -ENOMEM. */
int chunks_seal(const uint8_t *data, size_t len, struct text *packed);

/* Makes the rows of a packed file. Returns 0 or a negative errno. */
int chunks_unseal(const char *path, struct text *rows);
