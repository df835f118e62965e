/* SPDX-License-Identifier: Apache-2.0 */

/* Memory that graphs allocate and free. An allocation node has one address range, from its creation
 * until the graph and all its executable graphs are destroyed and the memory is freed. Launches
 * allocate and free the memory when they are submitted; that counts its bytes and changes no
 * contents. Any thread. */
#pragma once

#include "replay/emugpu/driver/op.h"

#include <stddef.h>

struct emu_device;

extern const struct emu_op_type emu_graph_alloc_type, emu_graph_free_type;

/* Makes the op of an allocation node. *ret_at is the address of its memory. */
CUresult emu_graph_memory_alloc_op(struct emu_device *d, size_t bytes, struct emu_op *ret,
				   CUdeviceptr *ret_at);
/* Makes the op of a free node. CUDA_ERROR_INVALID_VALUE: no graph allocates this address. */
CUresult emu_graph_memory_free_op(CUdeviceptr at, struct emu_op *ret);

/* Returns the size of an op's memory, its address and the ordinal of its device. */
size_t emu_graph_memory_of(const struct emu_op *op, CUdeviceptr *ret_at, int *ret_device);

/* Submit any op of a launch. The first returns 1 if the op allocates memory that is still
 * allocated. The second allocates or frees; -ENOMEM. The third frees what the op allocated, if it
 * is still allocated. */
int emu_graph_memory_is_allocated(const struct emu_op *op);
int emu_graph_memory_submit(const struct emu_op *op);
void emu_graph_memory_free_allocated(const struct emu_op *op);

/* Frees memory that a launch has allocated, outside of graphs. Returns 1; 0 if no graph allocates
 * this address; or -EINVAL if it is not allocated. */
int emu_graph_memory_free(uintptr_t at);
