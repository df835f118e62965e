/* SPDX-License-Identifier: Apache-2.0 */

/* Parity of a chunk that others need: the exclusive or of its blocks. With it any damage within one
 * block is repaired; which block it was is found by trying, since the chunk's own checksums tell
 * when it is right again. */
#pragma once

#include "formats/store/chunk.h"

/* Appends the payload of the parity chunk of `data`: a whole chunk with its header. */
void fmt_parity_put(struct text *t, const void *data, size_t len);

/* How many bytes right before the parity chunk its payload covers. */
uint64_t fmt_parity_covers(const uint8_t *payload, size_t payload_len);

/* Repairs `data` in place. 0 and what its header says; or -EBADMSG, and then it is as it was. */
int fmt_parity_repair(uint8_t *data, size_t len, const uint8_t *payload, size_t payload_len,
		      struct fmt_chunk *ret);
