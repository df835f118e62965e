/* SPDX-License-Identifier: Apache-2.0 */

/* A trace as an input that can be changed anywhere: without checksums, and unpacked. It is a row of
 *
 *     u8 tag     'F' the header of a file, 'C' a chunk
 *     varint n   and n bytes: the header's body
 *     varint n   and n bytes: the payload of 'C'
 *
 * Sealed, each has the checksums and lengths that it needs, and all of them are a packed file
 * without an index: what is behind the checksums is reached. One thread. */
#pragma once

#include "base/text.h"

#include <stdint.h>

/* Up to the first row that is none. -ENOMEM. */
int chunks_seal(const uint8_t *data, size_t len, struct text *packed);

/* The input that a packed file would be the sealed form of. 0 or a negative errno. */
int chunks_unseal(const char *path, struct text *rows);
