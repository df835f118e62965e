/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/times/spans.h"

#include "base/array.h"
#include "capture/library/find/real.h"
#include "capture/library/ring/ring.h"
#include "formats/api/fields.h"

#include <stdio.h>

enum { MEMORY_HOST = 1, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_UNIFIED };

void cap_spans_done(struct cap_spans *s)
{
	free(s->items);
	memset(s, 0, sizeof(*s));
}

static int add_span(struct cap_spans *s, uint64_t address, uint64_t bytes, int output)
{
	if (!address || !bytes || bytes == UINT64_MAX)
		return 0;
	if (array_reserve(&s->items, s->n + 1, &s->cap) < 0)
		return -ENOMEM;
	s->items[s->n++] = (struct cap_span){address, bytes, (uint8_t)output};
	return 0;
}

/* `lines` of `width` bytes, `pitch` apart. */
static int add_lines(struct cap_spans *s, uint64_t address, uint64_t width, uint64_t lines,
		     uint64_t pitch, int output)
{
	int r = 0;

	if (width == 0 || lines == 0)
		return 0;
	if (lines == 1 || pitch == width || lines > CAP_MOST_LINES)
		return add_span(s, address, (lines - 1) * pitch + width, output);
	for (uint64_t i = 0; i < lines && r == 0; i++)
		r = add_span(s, address + i * pitch, width, output);
	return r;
}

/* Lines of several planes, `plane` bytes apart. */
static int add_planes(struct cap_spans *s, uint64_t address, uint64_t width, uint64_t lines,
		      uint64_t pitch, uint64_t planes, uint64_t plane, int output)
{
	int r = 0;

	if (plane == pitch * lines)
		return add_lines(s, address, width, lines * planes, pitch, output);
	for (uint64_t i = 0; i < planes && r == 0; i++)
		r = add_lines(s, address + i * plane, width, lines, pitch, output);
	return r;
}

/* Returns a field for one side of the copy: "srcPitch" or "dstPitch". */
static uint64_t side_field(const struct api_view *v, int output, const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", output ? "dst" : "src", what);
	return api_number(v, name);
}

/* Adds one side of CUDA_MEMCPY2D or CUDA_MEMCPY3D; missing fields are 0. */
static int add_side(struct cap_spans *s, const struct api_view *v, int output)
{
	uint64_t base, width = api_number(v, "WidthInBytes");
	uint64_t pitch = side_field(v, output, "Pitch") ?: width;
	uint64_t lines = api_number(v, "Height"), height = side_field(v, output, "Height");
	uint64_t planes = api_field(v->layout, "Depth") ? api_number(v, "Depth") : 1;
	uint64_t plane = pitch * (height ? height : lines);

	switch (side_field(v, output, "MemoryType")) {
	case MEMORY_HOST:
		base = side_field(v, output, "Host");
		break;
	case MEMORY_DEVICE:
	case MEMORY_UNIFIED:
		base = side_field(v, output, "Device");
		break;
	default:
		return 0;
	}
	base += side_field(v, output, "XInBytes") + side_field(v, output, "Y") * pitch +
		side_field(v, output, "Z") * plane;
	return add_planes(s, base, width, lines, pitch, planes, plane, output);
}

static int add_form(struct cap_spans *s, const struct api_struct *layout, const void *at)
{
	const struct api_view v = {layout, at, layout->bytes};
	int r = add_side(s, &v, 0);

	return r < 0 ? r : add_side(s, &v, 1);
}

/* cuMemcpyBatchAsync(dsts, srcs, sizes, count, ...). */
static int add_batch(struct cap_spans *s, const uint64_t *w)
{
	const uint64_t *to = (const uint64_t *)w[0], *from = (const uint64_t *)w[1];
	const uint64_t *sizes = (const uint64_t *)w[2];
	int r = 0;

	for (uint64_t i = 0; to && from && sizes && i < w[3] && r == 0; i++) {
		r = add_span(s, from[i], sizes[i], 0);
		r = r < 0 ? r : add_span(s, to[i], sizes[i], 1);
	}
	return r;
}

enum { OPERAND_POINTER = 1 }; /* CUmemcpy3DOperandType */

/* cuMemcpy3DBatchAsync(count, ops, ...). */
static int add_batch_3d(struct cap_spans *s, const struct api_struct *op, const uint64_t *w)
{
	static const char *const names[][4] = {
		{"src.type", "src.op.ptr.ptr", "src.op.ptr.rowLength", "src.op.ptr.layerHeight"},
		{"dst.type", "dst.op.ptr.ptr", "dst.op.ptr.rowLength", "dst.op.ptr.layerHeight"}};
	int r = 0;

	for (uint64_t i = 0; w[1] && i < 2 * w[0] && r == 0; i++) {
		const struct api_view v = {op, (uint8_t *)w[1] + i / 2 * op->bytes, op->bytes};
		const char *const *name = names[i % 2];
		uint64_t width = api_number(&v, "extent.width"),
			 lines = api_number(&v, "extent.height"),
			 pitch = api_number(&v, name[2]) ?: width,
			 height = api_number(&v, name[3]) ?: lines;

		if (api_number(&v, name[0]) == OPERAND_POINTER)
			r = add_planes(s, api_number(&v, name[1]), width, lines, pitch,
				       api_number(&v, "extent.depth"), pitch * height, i % 2);
	}
	return r;
}

/* cuMemsetD2D8/16/32(dst, pitch, value, width, height). */
static int add_set(struct cap_spans *s, const struct api_call *call, const uint64_t *w)
{
	uint64_t bytes = (uint64_t)atoi(call->name + strlen("cuMemsetD2D")) / 8;

	return add_lines(s, w[0], w[3] * bytes, w[4], w[1], 1);
}

/* ---- collectives */

/* Queries a communicator. Calls the pnccl function, which has no hook and is not counted on
 * emulated GPUs. NCCL then calls ncclCommGetAsyncError(), which has one: hence `asking`. */
static unsigned query_comm(const char *name, uint64_t comm)
{
	int (*f)(uint64_t, int *) = (int (*)(uint64_t, int *))cap_real(CAP_NCCL, name);
	int value = 0, r;

	if (!f)
		return 0;
	cap_self.asking++;
	r = f(comm, &value);
	cap_self.asking--;
	return r == 0 && value > 0 ? (unsigned)value : 0;
}

/* Returns 1 if this rank reads (output 0) or writes: of a scatter or broadcast only the root reads,
 * of a reduce or gather only the root writes. */
static int uses_buffer(const struct cap_call *c, const struct api_call *call, int output)
{
	const char *name = call->name;

	for (unsigned i = 0; i < call->n_args; i++) {
		uint64_t comm;

		if (strcmp(call->args[i].name, "root") != 0)
			continue;
		comm = c->words[call->args[i + 1].word];
		if ((strstr(name, "Reduce") || strstr(name, "Gather")) != output)
			return 1;
		return query_comm("pncclCommUserRank", comm) ==
		       (uint32_t)c->words[call->args[i].word];
	}
	return 1;
}

static unsigned ranks_of(const struct cap_call *c, const struct api_call *call)
{
	for (unsigned i = 0; i < call->n_args; i++)
		if (call->args[i].meaning == API_MEANING_COMM)
			return query_comm("pncclCommCount", c->words[call->args[i].word]);
	return 0;
}

static int add_args(struct cap_spans *s, const struct cap_call *c, const struct api_call *call)
{
	unsigned ranks = call->library == API_LIBRARY_NCCL ? ranks_of(c, call) : 0;
	int r = 0;

	for (unsigned i = 0; i < call->n_args && r == 0; i++) {
		const struct api_arg *a = &call->args[i];
		uint64_t bytes;

		if (a->direction < API_DIRECTION_READS)
			continue;
		bytes = api_bytes(call, i, c->words, ranks);
		if (a->direction != API_DIRECTION_WRITES && uses_buffer(c, call, 0))
			r = add_span(s, c->words[a->word], bytes, 0);
		if (r == 0 && a->direction != API_DIRECTION_READS && uses_buffer(c, call, 1))
			r = add_span(s, c->words[a->word], bytes, 1);
	}
	return r;
}

int cap_spans_from_call(const struct cap_call *c, const struct api_call *call,
			struct cap_spans *ret)
{
	const struct api_arg *first = call->n_args > 0 ? &call->args[0] : NULL;

	if (call->class == API_CLASS_COPY && first && first->layout &&
	    api_field(first->layout, "WidthInBytes"))
		return c->words[0] ? add_form(ret, first->layout, (const void *)c->words[0]) : 0;
	if (strncmp(call->name, "cuMemcpyBatchAsync", 18) == 0)
		return add_batch(ret, c->words);
	if (strncmp(call->name, "cuMemcpy3DBatchAsync", 20) == 0)
		return add_batch_3d(ret, call->args[1].layout, c->words);
	if (strncmp(call->name, "cuMemsetD2D", 11) == 0)
		return add_set(ret, call, c->words);
	return add_args(ret, c, call);
}
