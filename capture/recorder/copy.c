/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/recorder/copy.h"

#include "formats/api/fields.h"

#include <string.h>

static enum rec_side host_side(const struct rec_call *c, uint64_t address)
{
	return rec_spans_find(&c->process->locked, address) ? REC_PINNED : REC_PAGEABLE;
}

/* cuMemcpy itself takes any address. */
static enum rec_side any_side(const struct rec_call *c, uint64_t address)
{
	if (rec_spans_find(&c->process->memory, address))
		return REC_DEVICE;
	return rec_spans_find(&c->process->locked, address) ? REC_PINNED : REC_PAGEABLE;
}

enum { MEMORY_HOST = 1, MEMORY_UNIFIED = 4 };

static enum rec_side side_in(const struct rec_call *c, const struct api_view *v, const char *type,
			     const char *host, const char *device)
{
	uint64_t kind = api_number(v, type);
	uint64_t address = api_number(v, kind == MEMORY_HOST ? host : device);

	if (kind == MEMORY_UNIFIED)
		return any_side(c, address);
	return kind == MEMORY_HOST ? host_side(c, address) : REC_DEVICE;
}

/* CUDA_MEMCPY2D, and CUDA_MEMCPY3D, which has planes. */
static int read_struct(const struct rec_call *c, struct rec_copy *copy)
{
	struct api_view v;

	if (!rec_view(c, "pCopy", &v))
		return 0;
	copy->from = side_in(c, &v, "srcMemoryType", "srcHost", "srcDevice");
	copy->to = side_in(c, &v, "dstMemoryType", "dstHost", "dstDevice");
	copy->bytes = (int64_t)(api_number(&v, "WidthInBytes") * api_number(&v, "Height") *
				(api_field(v.layout, "Depth") ? api_number(&v, "Depth") : 1));
	return 1;
}

static void read_copy(const struct rec_call *c, struct rec_copy *copy)
{
	uint64_t from = (uint64_t)rec_value(c, "src", rec_value(c, "srcHost", 0));
	uint64_t to = (uint64_t)rec_value(c, "dst", rec_value(c, "dstHost", 0));

	copy->bytes = rec_value(c, "ByteCount", -1);
	if (read_struct(c, copy))
		return;
	copy->peer = strstr(c->name, "Peer") != NULL;
	copy->from = copy->to = REC_DEVICE;
	if (rec_arg(c, "srcHost") >= 0)
		copy->from = host_side(c, from);
	else if (rec_arg(c, "src") >= 0)
		copy->from = any_side(c, from);
	if (rec_arg(c, "dstHost") >= 0)
		copy->to = host_side(c, to);
	else if (rec_arg(c, "dst") >= 0)
		copy->to = any_side(c, to);
}

struct rec_copy rec_copy_of(const struct rec_call *c)
{
	struct rec_copy copy = {.from = REC_DEVICE, .to = REC_DEVICE, .bytes = -1};

	read_copy(c, &copy);
	return copy;
}
