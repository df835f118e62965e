/* SPDX-License-Identifier: Apache-2.0 */

/* Parity of a chunk that other chunks need: the exclusive or of its blocks. With it any damage
 * within one block can be repaired. The damaged block is found by trying each: the chunk's own
 * checksums tell when it is right again. */
#pragma once

#include "formats/trace/store/chunk.h"

/* Appends the payload of the parity chunk of `data`: a whole chunk with its header. */
void fmt_parity_put(struct text *t, const void *data, size_t len);

/* Returns how many bytes before the parity chunk its payload covers. */
uint64_t fmt_parity_covers(const uint8_t *payload, size_t payload_len);

/* Repairs `data` in place. Returns 0 and the chunk's header in *ret; or -EBADMSG, and `data` is
 * unchanged. */
int fmt_parity_repair(uint8_t *data, size_t len, const uint8_t *payload, size_t payload_len,
		      struct fmt_chunk *ret);
