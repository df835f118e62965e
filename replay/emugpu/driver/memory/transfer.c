/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/memory/transfer.h"
#include "replay/cost/kernel.h"
#include "replay/emugpu/data.h"
#include "replay/emugpu/driver/capture.h"
#include "replay/emugpu/driver/memory.h"
#include "replay/emugpu/driver/memory/absent.h"
#include "replay/emugpu/driver/missing.h"
#include "replay/emugpu/driver/observed.h"
#include "replay/emugpu/driver/stream.h"
#include "replay/emugpu/driver/timing.h"

#include <string.h>
#include <sys/mman.h>

/* Pageable copies to the device up to this size return when staged. */
#define STAGED_BYTES 65536
#define HOST_BYTES_PER_S 10e9
/* Smaller copies are assumed to reuse touched pages. */
#define TOUCH_BYTES 16384
#define PAGE 4096u

static size_t total_bytes(const struct emu_copy_op *c)
{
	return c->width_bytes * c->height * c->depth;
}

void emu_copy_classify(struct emu_copy_op *c, struct emu_device *d)
{
	struct emu_region to = emu_region_find((uintptr_t)c->to);
	struct emu_region from = emu_region_find((uintptr_t)c->from);
	int to_device = to.device || to.kind == EMU_MANAGED;
	int from_device = from.device || from.kind == EMU_MANAGED;

	c->peer = NULL;
	c->pageable = to.kind == EMU_UNKNOWN || from.kind == EMU_UNKNOWN;
	if (to_device && from_device) {
		c->kind = EMU_D2D;
		if (to.device && from.device && to.device != from.device) {
			c->kind = EMU_P2P;
			c->peer = to.device == d ? from.device : to.device;
		}
	} else {
		c->kind = to_device ? EMU_H2D : from_device ? EMU_D2H : EMU_H2H;
	}
}

static int copy_keep_source(struct emu_op *op)
{
	/* The caller may change or read pageable memory as soon as the call returns. */
	return !(op->copy.pageable && op->copy.kind != EMU_D2D);
}

static void move_line(const struct emu_copy_op *c, size_t to, size_t from)
{
	if (c->kind == EMU_H2H || emu_moves(total_bytes(c)))
		emu_absent_copy(c->to + to, c->from + from, c->width_bytes);
	else if (c->kind == EMU_D2H)
		memset(c->to + to, 0, c->width_bytes);
}

static void move_bytes(const struct emu_copy_op *c)
{
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			move_line(c, (z * c->to_height + y) * c->to_pitch,
				  (z * c->from_height + y) * c->from_pitch);
}

/* Untouched pages of [at, at + bytes). The first write to each waits until the system has allocated
 * and cleared it. */
static size_t untouched_pages(const uint8_t *at, size_t bytes)
{
	uintptr_t from = (uintptr_t)at & ~(uintptr_t)(PAGE - 1), end = (uintptr_t)at + bytes;
	unsigned char resident[4096];
	size_t untouched = 0;

	for (; from < end; from += sizeof(resident) * PAGE) {
		size_t pages = (end - from + PAGE - 1) / PAGE;

		pages = pages < sizeof(resident) ? pages : sizeof(resident);
		if (mincore((void *)from, pages * PAGE, resident) < 0)
			return 0;
		for (size_t i = 0; i < pages; i++)
			untouched += !(resident[i] & 1);
	}
	return untouched;
}

/* Additional time of pageable copies: the driver copies through its page-locked buffers. */
static int64_t first_touch_ns(const struct emu_copy_op *c, const struct cost_gpu *m)
{
	if (c->kind != EMU_D2H || !c->pageable || c->height * c->depth > 1 ||
	    c->width_bytes < TOUCH_BYTES)
		return 0;
	return (int64_t)(m->first_touch_ns * (double)untouched_pages(c->to, c->width_bytes));
}

static int64_t recorded_ns(const struct emu_copy_op *c)
{
	static const char *const names[2][EMU_H2H] = {
		{[EMU_H2D] = "in", [EMU_D2H] = "out", [EMU_D2D] = "within", [EMU_P2P] = "peer"},
		{[EMU_H2D] = "pageable in",
		 [EMU_D2H] = "pageable out",
		 [EMU_D2D] = "within",
		 [EMU_P2P] = "peer"},
	};

	return c->kind == EMU_H2H ? -1
				  : emu_timing_ns(names[c->pageable][c->kind], 0, total_bytes(c));
}

/* Returns the recorded duration, else that of the model. If one GPU cannot access the other, the
 * copy is staged in host memory, a part at a time: a second copy waits for the first one. */
static int64_t copy_ns(const struct emu_copy_op *c, const struct emu_device *d)
{
	const struct cost_gpu *m = &d->model;
	double speed = HOST_BYTES_PER_S, fixed = m->copy_ns;
	int64_t ns = recorded_ns(c);

	if (ns >= 0)
		return ns;
	if (c->kind == EMU_H2D || c->kind == EMU_D2H)
		speed = c->pageable ? m->pageable_bytes_per_s
				    : m->pcie_bytes_per_s * m->pcie_efficiency;
	if (c->kind == EMU_D2D)
		return (int64_t)(fixed + cost_stream_ns(m, 2 * (double)total_bytes(c), 0.5));
	if (c->kind == EMU_P2P) {
		int linked = m->nvlink_bytes_per_s > 0 && emu_peers(d, c->peer);

		speed = linked ? m->nvlink_bytes_per_s * m->link_efficiency
			       : m->pcie_bytes_per_s * m->pcie_efficiency;
		fixed += linked ? m->nvlink_ns : m->event_ns + m->copy_ns;
	}
	return (int64_t)(fixed + 1e9 * (double)total_bytes(c) / speed) + first_touch_ns(c, m);
}

static int64_t copy_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	static const enum emu_resource resources[] = {[EMU_H2D] = EMU_COPY_IN,
						      [EMU_D2H] = EMU_COPY_OUT,
						      [EMU_D2D] = EMU_MEMORY,
						      [EMU_P2P] = EMU_COPY_OUT,
						      [EMU_H2H] = EMU_COPY_OUT};
	const struct emu_copy_op *c = &op->copy;
	struct emu_device *d = track->device;
	int64_t ns = copy_ns(c, d);
	struct emu_taken taken = emu_device_take(d, resources[c->kind], ready_ns, ns, 1, 0);
	int64_t end_ns = taken.end_ns;

	if (c->peer)
		end_ns = moment_wait(
			emu_device_take(c->peer, EMU_COPY_IN, taken.start_ns, ns, 1, 0).end_ns,
			end_ns, 0);
	__atomic_add_fetch(&d->totals->copied_bytes, total_bytes(c), __ATOMIC_RELAXED);
	move_bytes(c);
	if (c->kind != EMU_H2H)
		emu_missing_copied(c->to, c->from, total_bytes(c), c->kind == EMU_D2H);
	emu_op_ran(op, track, taken.start_ns, end_ns);
	return end_ns;
}

const struct emu_op_type emu_copy_type = {
	.name = "copy",
	.node = CU_GRAPH_NODE_TYPE_MEMCPY,
	.own = copy_keep_source,
	.run = copy_run,
};

/* Reserved addresses without a mapping are invalid. */
static int is_there(const void *at)
{
	return at && emu_region_find((uintptr_t)at).kind != EMU_RESERVED;
}

CUresult emu_copy(struct emu_thread *self, struct emu_stream *s, struct emu_copy_op *c,
		  int blocking)
{
	struct emu_op op = {.type = &emu_copy_type};
	CUresult r = blocking ? emu_capture_check(self) : CUDA_SUCCESS;

	if (r || total_bytes(c) == 0)
		return r;
	if (!is_there(c->to) || !is_there(c->from))
		return CUDA_ERROR_INVALID_VALUE;
	emu_copy_classify(c, s->track.device);
	op.copy = *c;
	r = emu_submit(self, s, &op);
	if (r || s->capture)
		return r;
	if (blocking && c->kind != EMU_D2D && c->kind != EMU_P2P)
		return emu_stream_wait(self, s);
	if (c->pageable && (c->kind != EMU_H2D || total_bytes(c) > STAGED_BYTES))
		return emu_stream_wait(self, s);
	return CUDA_SUCCESS;
}

/* Returns the start of one side of a 3D copy; NULL for arrays. */
static uint8_t *side_start(CUmemorytype type, const void *host, CUdeviceptr device, size_t x,
			   size_t y, size_t z, size_t pitch, size_t height)
{
	uint8_t *base = type == CU_MEMORYTYPE_HOST ? (uint8_t *)(uintptr_t)host : (uint8_t *)device;

	if (type == CU_MEMORYTYPE_ARRAY)
		return NULL;
	return base + x + (y + z * height) * pitch;
}

CUresult emu_copy_from_3d(const CUDA_MEMCPY3D *p, struct emu_copy_op *ret)
{
	struct emu_copy_op c = {
		.width_bytes = p->WidthInBytes,
		.height = p->Height,
		.depth = p->Depth,
		.to_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes,
		.from_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
		.to_height = p->dstHeight ? p->dstHeight : p->Height,
		.from_height = p->srcHeight ? p->srcHeight : p->Height,
	};

	if (p->srcMemoryType == CU_MEMORYTYPE_ARRAY || p->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		emu_refuse_use("libcuda.so.1", "cuMemcpy3D (arrays)");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (c.to_pitch < c.width_bytes || c.from_pitch < c.width_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	c.to = side_start(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY,
			  p->dstZ, c.to_pitch, c.to_height);
	c.from = side_start(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY,
			    p->srcZ, c.from_pitch, c.from_height);
	*ret = c;
	return CUDA_SUCCESS;
}

CUresult emu_copy_3d(struct emu_thread *self, struct emu_stream *s, const CUDA_MEMCPY3D *p,
		     int blocking)
{
	struct emu_copy_op c;
	CUresult r = p ? emu_copy_from_3d(p, &c) : CUDA_ERROR_INVALID_VALUE;

	return r ? r : emu_copy(self, s, &c, blocking);
}

/* ---- fills ---- */

/* Returns 1 if a fill writes: with --no-data, only if it is small, or to host memory. */
static int fill_writes(const struct emu_set_op *s)
{
	struct emu_region at = {0};

	if (emu_moves(s->width * s->item_bytes * s->height))
		return 1;
	at = emu_region_find((uintptr_t)s->to);
	return !at.device && at.kind != EMU_MANAGED;
}

static void fill_line(uint8_t *to, uint32_t value, uint32_t item_bytes, size_t n)
{
	if (value == 0 && n * item_bytes > EMU_ABSENT_BYTES) {
		emu_absent_clear(to, n * item_bytes);
		return;
	}
	if (item_bytes == 1) {
		memset(to, (int)value, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * item_bytes, &value, item_bytes);
}

static int64_t set_run(struct emu_op *op, struct emu_track *track, int64_t ready_ns)
{
	const struct emu_set_op *s = &op->set;
	const struct cost_gpu *m = &track->device->model;
	double bytes = (double)s->width * s->item_bytes * (double)s->height;
	int64_t ns = (int64_t)(m->kernel_ns + cost_stream_ns(m, bytes, 0));
	struct emu_taken taken = emu_device_take(track->device, EMU_MEMORY, ready_ns, ns, 1, 0);

	for (size_t y = 0; y < s->height && fill_writes(s); y++)
		fill_line(s->to + y * s->pitch, s->value, s->item_bytes, s->width);
	emu_missing_filled(s->to);
	emu_op_ran(op, track, taken.start_ns, taken.end_ns);
	return taken.end_ns;
}

const struct emu_op_type emu_set_type = {
	.name = "set",
	.node = CU_GRAPH_NODE_TYPE_MEMSET,
	.run = set_run,
};

CUresult emu_set(struct emu_thread *self, struct emu_stream *s, const struct emu_set_op *set,
		 int blocking)
{
	struct emu_op op = {.type = &emu_set_type, .set = *set};
	CUresult r = blocking ? emu_capture_check(self) : CUDA_SUCCESS;

	if (r || set->width == 0 || set->height == 0)
		return r;
	struct emu_region at = emu_region_find((uintptr_t)set->to);

	if (at.kind == EMU_UNKNOWN || (uintptr_t)set->to % set->item_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r = emu_submit(self, s, &op);
	/* Fills of host memory are synchronous. */
	if (!r && blocking && !s->capture && at.kind != EMU_DEVICE && at.kind != EMU_MAPPED)
		r = emu_stream_wait(self, s);
	return r;
}
