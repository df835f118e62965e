/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/process/range.h"

#include "capture/library/call/chain.h"
#include "capture/library/ring/put.h"
#include "capture/library/ring/ticks.h"
#include "formats/raw/iteration_name.h"

#include <errno.h>
#include <string.h>

#define MAX_TEXT 4096

static uint32_t text_length(const char *s)
{
	return s ? (uint32_t)strnlen(s, MAX_TEXT) : 0;
}

uint64_t cap_put_range(unsigned flags, uint64_t key, const struct cap_text *text)
{
	uint32_t text_len = text_length(text->text), domain_len = text_length(text->domain);
	uint32_t bytes = (uint32_t)sizeof(struct cap_range_record) + text_len + domain_len;
	struct cap_range_record *r = cap_reserve((bytes + 7) & ~7u, CAP_RANGE);

	if (!r)
		return 0;
	r->head.flags = (uint8_t)flags;
	r->text_len = text_len;
	r->domain_len = domain_len;
	r->at = cap_ticks(&cap_self);
	r->key = key;
	r->id = cap_self.next_id;
	r->color = text->color;
	r->category = text->category;
	if (text_len)
		memcpy(r->data, text->text, text_len);
	if (domain_len)
		memcpy(r->data + text_len, text->domain, domain_len);
	cap_publish();
	return cap_self.next_id;
}

bool cap_range_is_iteration(const char *name, int64_t *ret)
{
	struct cap_iteration_name step;

	if (!name || !cap_iteration_name(name, text_length(name), &step) || !step.is_iteration)
		return false;
	*ret = step.number;
	return __atomic_load_n(&cap_process.iteration, __ATOMIC_RELAXED) < 0;
}

void cap_range_begin_iteration(int64_t number, unsigned flags, uint64_t key,
			       const struct cap_text *text)
{
	bool is_ready = cap_process.session && cap_ring_prepare(&cap_self);
	uint64_t id;

	if (is_ready)
		cap_chain_before_iteration(number);
	id = cap_put_range(flags, key, text);
	if (is_ready)
		cap_chain_iteration(number, id);
}

/* A negative number: the next one. */
void gpucapture_mark_numbered(int64_t number)
{
	const struct cap_control *control = cap_process.control;
	uint64_t id;
	int kept = errno;

	if (!cap_process.session || !cap_ring_prepare(&cap_self))
		return;
	if (number < 0)
		number = __atomic_add_fetch(&cap_process.iteration, 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&cap_process.iteration, number, __ATOMIC_RELAXED);
	cap_chain_before_iteration(number);
	id = cap_put_range(CAP_RANGE_ITERATION, (uint64_t)number, &(struct cap_text){0});
	if (control->first_iteration >= 0)
		__atomic_store_n(&cap_live.is_recording,
				 number >= control->first_iteration &&
					 number <= control->last_iteration,
				 __ATOMIC_RELAXED);
	cap_chain_iteration(number, id);
	errno = kept;
}

void gpucapture_mark_iteration(void)
{
	gpucapture_mark_numbered(-1);
}
