/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/copy.h"

#include "formats/api/fields.h"

#include <stdio.h>
#include <string.h>

/* cuMemcpy itself takes any address. */
static enum rec_copy_side any_side(const struct rec_call *c, uint64_t address)
{
	const struct rec_allocation *a = rec_memory_find(&c->process->memory, address);

	if (!a)
		return REC_PAGEABLE;
	return a->kind == REC_MEMORY_HOST || a->kind == REC_MEMORY_REGISTERED ? REC_PINNED
									      : REC_DEVICE;
}

static enum rec_copy_side host_side(const struct rec_call *c, uint64_t address)
{
	return any_side(c, address) == REC_PINNED ? REC_PINNED : REC_PAGEABLE;
}

enum { MEMORY_HOST = 1, MEMORY_UNIFIED = 4 };

/* Reads a field of one side: "srcPitch" or "dstPitch". */
static uint64_t field_of(const struct api_view *v, const char *prefix, const char *side,
			 const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%s%s", prefix, side, what);
	return api_number(v, path);
}

static enum rec_copy_side side_in(const struct rec_call *c, const struct api_view *v,
				  const char *prefix, const char *side)
{
	uint64_t kind = field_of(v, prefix, side, "MemoryType");
	uint64_t address = field_of(v, prefix, side, kind == MEMORY_HOST ? "Host" : "Device");

	if (kind == MEMORY_UNIFIED)
		return any_side(c, address);
	return kind == MEMORY_HOST ? host_side(c, address) : REC_DEVICE;
}

void rec_copy_from_struct(const struct rec_call *c, const struct api_view *v, const char *prefix,
			  struct rec_copy *ret)
{
	char depth[64];

	snprintf(depth, sizeof(depth), "%sDepth", prefix);
	ret->from = side_in(c, v, prefix, "src");
	ret->to = side_in(c, v, prefix, "dst");
	ret->bytes = (int64_t)(field_of(v, prefix, "", "WidthInBytes") *
			       field_of(v, prefix, "", "Height") *
			       (api_field(v->layout, depth) ? api_number(v, depth) : 1));
}

struct rec_copy rec_copy_from_call(const struct rec_call *c)
{
	struct rec_copy copy = {.from = REC_DEVICE, .to = REC_DEVICE};
	uint64_t from = (uint64_t)rec_call_value(c, "src", rec_call_value(c, "srcHost", 0));
	uint64_t to = (uint64_t)rec_call_value(c, "dst", rec_call_value(c, "dstHost", 0));
	struct api_view v;

	copy.bytes = rec_call_value(c, "ByteCount", -1);
	if (rec_call_struct(c, "pCopy", &v)) {
		rec_copy_from_struct(c, &v, "", &copy);
		return copy;
	}
	copy.peer = strstr(c->name, "Peer") != NULL;
	if (rec_call_arg(c, "srcHost") >= 0)
		copy.from = host_side(c, from);
	else if (rec_call_arg(c, "src") >= 0)
		copy.from = any_side(c, from);
	if (rec_call_arg(c, "dstHost") >= 0)
		copy.to = host_side(c, to);
	else if (rec_call_arg(c, "dst") >= 0)
		copy.to = any_side(c, to);
	return copy;
}

int rec_copy_name(const struct rec_call *c, const struct rec_copy *copy, fmt_str *ret)
{
	static const char *const sides[] = {
		[REC_PAGEABLE] = "Pageable", [REC_PINNED] = "Pinned", [REC_DEVICE] = "Device"};
	char name[64];

	if (copy->peer)
		snprintf(name, sizeof(name), "Memcpy PtoP (Device -> Device)");
	else
		snprintf(name, sizeof(name), "Memcpy %cto%c (%s -> %s)",
			 copy->from == REC_DEVICE ? 'D' : 'H', copy->to == REC_DEVICE ? 'D' : 'H',
			 sides[copy->from], sides[copy->to]);
	return fmt_names_string(c->process->names, name, strlen(name), ret);
}
