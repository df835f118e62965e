/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/contexts.h"

#include "capture/library/find/cu.h"
#include "capture/library/find/emulated.h"

#include <string.h>

int cap_context_enter(void *context)
{
	void *current = NULL;

	cap_cu.cuCtxGetCurrent(&current);
	return current != context && cap_cu.cuCtxPushCurrent_v2(context) == 0;
}

void cap_context_leave(int entered)
{
	void *context;

	if (entered)
		cap_cu.cuCtxPopCurrent_v2(&context);
}

int cap_context_device(void *context)
{
	int entered = cap_context_enter(context), device;

	if (cap_cu.cuCtxGetDevice(&device))
		device = -1;
	cap_context_leave(entered);
	return device;
}

static bool is_active(int device)
{
	unsigned flags;
	int active = 0;

	return cap_cu.cuDevicePrimaryCtxGetState(device, &flags, &active) == 0 && active;
}

/* Only for a device with an active primary context: retaining would create one. */
static void *primary_of(int device)
{
	void *context;

	if (!is_active(device) || cap_cu.cuDevicePrimaryCtxRetain(&context, device))
		return NULL;
	cap_cu.cuDevicePrimaryCtxRelease_v2(device);
	return context;
}

static int device_of(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *device = api_arg_of(call, API_MEANING_DEVICE);

	return device ? (int)c->words[device->word] : -1;
}

void *cap_context_to_destroy(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *context = api_arg_of(call, API_MEANING_CONTEXT);
	int device = device_of(c, call);
	void *primary;

	if (context || device < 0)
		return context ? (void *)c->words[context->word] : NULL;
	cap_clock_pause();
	primary = primary_of(device);
	cap_clock_resume();
	return primary;
}

/* A primary context survives its release if it is retained elsewhere, but not a reset. */
bool cap_context_is_destroyed(const struct cap_call *c, const struct api_call *call)
{
	int device = device_of(c, call);
	bool kept = false;

	if (c->result == 0 && device >= 0 && !strstr(call->name, "Reset")) {
		cap_clock_pause();
		kept = is_active(device);
		cap_clock_resume();
	}
	return c->result == 0 && !kept;
}
