/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/digests/payload.h"

#include "capture/library/find/cu.h"
#include "capture/library/ring/process.h"
#include "capture/library/ring/put.h"

#include <stdlib.h>

static int64_t iteration = -1;

void cap_payload_iteration(int64_t number)
{
	__atomic_store_n(&iteration, number, __ATOMIC_RELAXED);
}

bool cap_payload_is_on(void)
{
	return cap_control()->first_payload >= 0;
}

/* Whether the current iteration is in the range. Live memory is for keyframes. */
static bool is_kept(const struct cap_buffer *b)
{
	const struct cap_control *control = cap_control();
	int64_t now = __atomic_load_n(&iteration, __ATOMIC_RELAXED);

	return b->output != CAP_DIGEST_LIVE &&
	       (now < 0 || (now >= control->first_payload && now <= control->last_payload));
}

void cap_payload_host(const struct cap_buffer *b, const void *data)
{
	struct cap_payload_record *r;
	uint64_t hash[2] = {0, 0};
	int kept;

	if (!cap_payload_is_on())
		return;
	kept = data && is_kept(b) && cap_put_blob(data, b->bytes, hash) >= 0;
	r = cap_reserve(sizeof(*r), CAP_PAYLOAD);
	if (!r)
		return;
	r->head.flags = (uint8_t)(b->output | (kept ? 0 : CAP_DIGEST_EMPTY));
	r->index = b->index;
	r->spare = 0;
	r->id = b->id;
	r->allocation = b->allocation;
	r->offset_bytes = b->offset_bytes;
	r->length_bytes = b->bytes;
	r->hash[0] = hash[0];
	r->hash[1] = hash[1];
	cap_publish();
}

/* The buffer's contents, which the caller frees; NULL. */
static void *read_back(const struct cap_stream_ref *ref, const struct cap_buffer *b)
{
	void *copy = malloc(b->bytes);

	if (copy && (cap_cu.cuMemcpyDtoHAsync_v2(copy, b->address, b->bytes, ref->stream) != 0 ||
		     cap_cu.cuStreamSynchronize(ref->stream) != 0)) {
		free(copy);
		return NULL;
	}
	return copy;
}

void cap_payload_keep(const struct cap_stream_ref *ref, const struct cap_buffer *buffers, size_t n)
{
	if (!cap_payload_is_on())
		return;
	for (size_t i = 0; i < n; i++) {
		void *copy = is_kept(&buffers[i]) ? read_back(ref, &buffers[i]) : NULL;

		cap_payload_host(&buffers[i], copy);
		free(copy);
	}
}
