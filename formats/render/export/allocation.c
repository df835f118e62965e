/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/export/allocation.h"

#include "base/array.h"

#include <stdio.h>
#include <string.h>

static bool is_memory(const struct api_arg *a)
{
	return a->meaning == API_MEANING_DEVPTR || a->meaning == API_MEANING_HOST;
}

/* Physical memory, or a variable. */
static bool is_of_memory(const struct api_call *c)
{
	return c->n_args > 0 &&
	       (c->args[0].meaning == API_MEANING_MEMORY || is_memory(&c->args[0]));
}

static bool gives_or_takes(const struct api_call *c)
{
	switch ((enum api_class)c->class) {
	case API_CLASS_ALLOC:
	case API_CLASS_FREE:
	case API_CLASS_RESERVE:
	case API_CLASS_UNRESERVE:
	case API_CLASS_MAP:
	case API_CLASS_UNMAP:
		return true;
	case API_CLASS_CREATE:
	case API_CLASS_DESTROY:
		return is_of_memory(c);
	default:
		return false;
	}
}

static bool is_named_so(const char *call)
{
	static const char *const prefixes[] = {"cuda", "hip"};
	static const char *const stems[] = {
		"Malloc",	  "Free",	"HostAlloc", "HostRegister",
		"HostUnregister", "HostMalloc", "MemCreate", "MemRelease",
		"MemAddress",	  "MemMap",	"MemUnmap",  "MemAlloc",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(call, prefixes[i], n) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(stems); j++)
			if (strncmp(call + n, stems[j], strlen(stems[j])) == 0)
				return true;
	}
	return false;
}

bool fmt_is_allocation(const char *call)
{
	int index = api_find(call);

	return index >= 0 ? gives_or_takes(api_call((unsigned)index)) : is_named_so(call);
}

const char *fmt_allocation_address(const char *call, char ret[FMT_ALLOCATION_KEY_BYTES])
{
	int index = api_find(call);
	const struct api_call *c = index >= 0 ? api_call((unsigned)index) : NULL;

	if (!c)
		return NULL;
	ret[0] = '\0';
	for (unsigned i = 0; i < c->n_args && !ret[0]; i++)
		if (is_memory(&c->args[i]))
			snprintf(ret, FMT_ALLOCATION_KEY_BYTES, "%s%s", c->args[i].name,
				 c->args[i].direction == API_DIRECTION_OUT ? ".out" : "");
	return ret;
}
