/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/place.h"

#include "capture/library/call.h"
#include "capture/library/device/cu.h"
#include "capture/library/state.h"
#include "formats/api/fields.h"

#include <string.h>

static uint32_t threads;

uint32_t cap_place_thread(void)
{
	static __thread uint32_t number __attribute__((tls_model("initial-exec")));

	if (!number)
		number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return number;
}

int cap_place_reachable(const struct cap_place *p)
{
	return p->thread == 0 || p->thread == cap_place_thread();
}

const struct api_arg *cap_arg_of(const struct api_call *call, enum api_meaning meaning)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].meaning == meaning)
			return &call->args[i];
	return NULL;
}

/* cuLaunchKernelEx() has the stream in its first argument. */
static void *stream_in_config(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *a = call->n_args > 0 ? &call->args[0] : NULL;
	struct api_view view;

	if (c->class != API_CLASS_LAUNCH || !a || !a->layout || !c->words[a->word])
		return NULL;
	view = (struct api_view){a->layout, (const void *)c->words[a->word], a->layout->bytes};
	return (void *)api_number(&view, "hStream");
}

/* The stream as the call names it; NULL: a default stream. */
static void *named_stream(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *a;

	a = cap_arg_of(call, API_MEANING_STREAM);
	return a ? (void *)c->words[a->word] : stream_in_config(c, call);
}

void cap_place_named(void *stream, bool per_thread, struct cap_place *ret)
{
	*ret = (struct cap_place){.stream = stream};
	if (!stream)
		ret->stream = per_thread ? CU_PER_THREAD_STREAM : CU_LEGACY_STREAM;
	if (ret->stream == CU_PER_THREAD_STREAM)
		ret->thread = cap_place_thread();
	if (cap_place_is_default(ret->stream))
		cap_cu.cuCtxGetCurrent(&ret->context);
}

void cap_place_stream(const struct cap_call *c, const struct api_call *call, struct cap_place *ret)
{
	cap_place_named(named_stream(c, call), c->how & CAP_HOW_PER_THREAD, ret);
}

void cap_place_of(const struct cap_call *c, const struct api_call *call, struct cap_place *ret)
{
	cap_place_stream(c, call, ret);
	ret->sync = (c->class == API_CLASS_COPY || c->class == API_CLASS_SET) &&
		    !cap_arg_of(call, API_MEANING_STREAM);
	if (!cap_place_is_default(ret->stream) && cap_cu.cuStreamGetCtx(ret->stream, &ret->context))
		cap_cu.cuCtxGetCurrent(&ret->context);
}

int cap_place_enter(void *context)
{
	void *current = NULL;

	cap_cu.cuCtxGetCurrent(&current);
	return current != context && cap_cu.cuCtxPushCurrent_v2(context) == 0;
}

void cap_place_leave(int entered)
{
	void *context;

	if (entered)
		cap_cu.cuCtxPopCurrent_v2(&context);
}

int cap_place_device(void *context)
{
	int entered = cap_place_enter(context), device;

	if (cap_cu.cuCtxGetDevice(&device))
		device = -1;
	cap_place_leave(entered);
	return device;
}

int cap_place_capturing(const struct cap_place *p)
{
	int status = 0;

	if (__atomic_load_n(&cap_process.capturing, __ATOMIC_RELAXED) == 0)
		return 0;
	return cap_cu.cuStreamIsCapturing(p->stream, &status) != 0 || status != 0;
}
