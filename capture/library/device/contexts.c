/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/device/contexts.h"

#include "capture/library/device/aside.h"
#include "capture/library/device/cu.h"
#include "capture/library/device/place.h"

#include <string.h>

static bool is_active(int device)
{
	unsigned flags;
	int active = 0;

	return cap_cu.cuDevicePrimaryCtxGetState(device, &flags, &active) == 0 && active;
}

/* Asking for it makes the primary context of a device that has none. */
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
	const struct api_arg *device = cap_arg_of(call, API_MEANING_DEVICE);

	return device ? (int)c->words[device->word] : -1;
}

void *cap_context_ending(const struct cap_call *c, const struct api_call *call)
{
	const struct api_arg *context = cap_arg_of(call, API_MEANING_CONTEXT);
	int device = device_of(c, call);
	void *primary;

	if (context || device < 0)
		return context ? (void *)c->words[context->word] : NULL;
	cap_aside_begin();
	primary = primary_of(device);
	cap_aside_end();
	return primary;
}

/* Whoever else retains a primary context keeps it from being released, but not from being reset. */
bool cap_context_ended(const struct cap_call *c, const struct api_call *call)
{
	int device = device_of(c, call);
	bool kept = false;

	if (c->result == 0 && device >= 0 && !strstr(call->name, "Reset")) {
		cap_aside_begin();
		kept = is_active(device);
		cap_aside_end();
	}
	return c->result == 0 && !kept;
}
