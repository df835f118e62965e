/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/code/kernel.h"

/* The function of a handle, and the current device. */
static CUresult resolve_function(struct emu_thread *self, CUfunction handle,
				 const struct emu_function **f, const struct emu_device **device)
{
	struct emu_context *c;
	CUresult r = emu_current(self, &c);

	if (r)
		return r;
	*device = c->device;
	*f = emu_function_of(handle);
	return *f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EMU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret, CUfunction function,
								      int block, size_t dynamic,
								      unsigned flags)
{
	EMU_ENTER(EMU_CALL_FREE);
	const struct emu_function *f;
	const struct emu_device *d;
	CUresult r = resolve_function(self, function, &f, &d);

	if (r)
		return r;
	if (block <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = block > f->entry->max_threads
		       ? 0
		       : emu_occupancy(d, f, block, dynamic + (size_t)f->entry->shared_bytes);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
							   CUfunction function,
							   CUoccupancyB2DSize dynamic_of,
							   size_t dynamic, int limit,
							   unsigned flags)
{
	EMU_ENTER(EMU_CALL_FREE);
	const struct emu_function *f;
	const struct emu_device *d;
	CUresult r = resolve_function(self, function, &f, &d);
	int best = 0;

	if (r)
		return r;
	if (limit <= 0 || limit > f->entry->max_threads)
		limit = f->entry->max_threads;
	for (int n = limit / 32 * 32; n >= 32; n -= 32) {
		size_t shared =
			(dynamic_of ? dynamic_of(n) : dynamic) + (size_t)f->entry->shared_bytes;
		int held = emu_occupancy(d, f, n, shared);

		if (held * n > best) {
			best = held * n;
			*block = n;
			*grid = held * (int)d->model.sms;
		}
	}
	return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret, CUfunction function,
							 int blocks, int block)
{
	EMU_ENTER(EMU_CALL_FREE);
	const struct emu_function *f;
	const struct emu_device *d;
	CUresult r = resolve_function(self, function, &f, &d);

	if (r)
		return r;
	if (blocks <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	double each = d->model.shared_per_sm / blocks - 1024 - f->entry->shared_bytes;
	double most = d->model.shared_per_block_optin - f->entry->shared_bytes;

	*ret = each < 0 ? 0 : (size_t)(each < most ? each : most);
	return CUDA_SUCCESS;
}

enum { PORTABLE_CLUSTER = 8 }; /* blocks: the portable maximum */

/* Blocks per cluster of a launch. */
static unsigned cluster_of(const CUlaunchConfig *c)
{
	for (unsigned i = 0; c->attrs && i < c->numAttrs; i++)
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return c->attrs[i].value.clusterDim.x * c->attrs[i].value.clusterDim.y *
			       c->attrs[i].value.clusterDim.z;
	return 1;
}

/* Returns the number of blocks of the launch that fit on the device at once, and the size of the
 * largest cluster. */
static CUresult held_of(struct emu_thread *self, CUfunction function, const CUlaunchConfig *c,
			unsigned *largest, int *ret)
{
	const struct emu_function *f;
	const struct emu_device *d;
	CUresult r = resolve_function(self, function, &f, &d);
	unsigned threads = c ? c->blockDimX * c->blockDimY * c->blockDimZ : 0;

	if (r)
		return r;
	if (threads == 0 || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*largest = d->model.compute < 9 ? 1 : PORTABLE_CLUSTER;
	*ret = threads > (unsigned)f->entry->max_threads
		       ? 0
		       : (int)d->model.sms *
				 emu_occupancy(d, f, (int)threads,
					       c->sharedMemBytes + (size_t)f->entry->shared_bytes);
	return CUDA_SUCCESS;
}

EMU_API CUresult cuOccupancyMaxPotentialClusterSize(int *ret, CUfunction function,
						    const CUlaunchConfig *c)
{
	EMU_ENTER(EMU_CALL_FREE);
	unsigned largest;
	CUresult r = held_of(self, function, c, &largest, ret);

	if (!r && (largest == 1 || *ret > (int)largest))
		*ret = (int)largest;
	return r;
}

/* Assumes that a cluster can use any multiprocessors. */
EMU_API CUresult cuOccupancyMaxActiveClusters(int *ret, CUfunction function,
					      const CUlaunchConfig *c)
{
	EMU_ENTER(EMU_CALL_FREE);
	unsigned largest, cluster;
	int held;
	CUresult r = held_of(self, function, c, &largest, &held);

	if (r || !ret)
		return r ? r : CUDA_ERROR_INVALID_VALUE;
	cluster = cluster_of(c);
	if (cluster == 0 || cluster > largest)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*ret = held / (int)cluster;
	return CUDA_SUCCESS;
}
