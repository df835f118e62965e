/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/stream_ref.h"

#include "capture/library/attributes.h"
#include "capture/library/call/traits.h"
#include "capture/library/ring/process.h"
#include "formats/api/fields.h"

#include <string.h>

static uint32_t n_threads;

uint32_t cap_stream_thread(void)
{
	static __thread uint32_t number CAP_THREAD_LOCAL;

	if (!number)
		number = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
	return number;
}

bool cap_stream_ref_is_reachable(const struct cap_stream_ref *ref)
{
	return ref->thread == 0 || ref->thread == cap_stream_thread();
}

/* cuLaunchKernelEx(): the stream is in the struct that the first argument points to. */
static void *stream_in_config(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *a = call->n_args > 0 ? &call->args[0] : NULL;
	struct api_view view;

	if (c->class != API_CLASS_LAUNCH || !a || !a->layout || !c->words[a->word])
		return NULL;
	view = (struct api_view){a->layout, (const void *)c->words[a->word], a->layout->bytes};
	return (void *)api_number(&view, "hStream");
}

/* Returns the stream that the call names; NULL: a default stream. */
static void *named_stream(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *a;

	a = api_arg_of(call, API_MEANING_STREAM);
	return a ? (void *)c->words[a->word] : stream_in_config(c, call);
}

void cap_stream_ref_from_handle(void *stream, bool per_thread, struct cap_stream_ref *ret)
{
	*ret = (struct cap_stream_ref){.stream = stream};
	if (!stream)
		ret->stream = per_thread ? CU_PER_THREAD_STREAM : CU_LEGACY_STREAM;
	if (ret->stream == CU_PER_THREAD_STREAM)
		ret->thread = cap_stream_thread();
	if (cap_stream_is_default(ret->stream))
		cap_cu.cuCtxGetCurrent(&ret->context);
}

void cap_stream_ref_no_context(const struct cap_call *c, const struct api_call *call,
			       struct cap_stream_ref *ret)
{
	cap_stream_ref_from_handle(named_stream(c, call), c->traits & CAP_TRAITS_PER_THREAD, ret);
}

void cap_stream_ref_from_call(const struct cap_call *c, const struct api_call *call,
			      struct cap_stream_ref *ret)
{
	cap_stream_ref_no_context(c, call, ret);
	ret->sync = (c->class == API_CLASS_COPY || c->class == API_CLASS_SET) &&
		    !api_arg_of(call, API_MEANING_STREAM);
	if (!cap_stream_is_default(ret->stream) &&
	    cap_cu.cuStreamGetCtx(ret->stream, &ret->context))
		cap_cu.cuCtxGetCurrent(&ret->context);
}

bool cap_stream_ref_is_capturing(const struct cap_stream_ref *ref)
{
	int status = 0;

	if (__atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		return false;
	return cap_cu.cuStreamIsCapturing(ref->stream, &status) != 0 || status != 0;
}
