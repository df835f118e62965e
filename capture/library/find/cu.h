/* SPDX-License-Identifier: Apache-2.0 */

/* Driver functions that the capture library itself calls: neither recorded nor passed to hooks.
 * Declared here, since the library is also built without CUDA's headers: handles are pointers, a
 * CUresult is an int. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CAP_CU_CALLS(X)                                                                            \
	X(cuCtxGetCurrent, (void **ret))                                                           \
	X(cuCtxPushCurrent_v2, (void *context))                                                    \
	X(cuCtxPopCurrent_v2, (void **ret))                                                        \
	X(cuCtxGetDevice, (int *ret))                                                              \
	X(cuDevicePrimaryCtxGetState, (int device, unsigned *ret_flags, int *ret_active))          \
	X(cuDevicePrimaryCtxRetain, (void **ret, int device))                                      \
	X(cuDevicePrimaryCtxRelease_v2, (int device))                                              \
	X(cuDeviceGetAttribute, (int *ret, int attribute, int device))                             \
	X(cuCtxSynchronize, (void))                                                                \
	X(cuStreamGetCtx, (void *stream, void **ret))                                              \
	X(cuStreamCreate, (void **ret, unsigned flags))                                            \
	X(cuStreamGetFlags, (void *stream, unsigned *ret))                                         \
	X(cuStreamSynchronize, (void *stream))                                                     \
	X(cuStreamIsCapturing, (void *stream, int *ret))                                           \
	X(cuThreadExchangeStreamCaptureMode, (int *mode))                                          \
	X(cuEventCreate, (void **ret, unsigned flags))                                             \
	X(cuEventRecord, (void *event, void *stream))                                              \
	X(cuEventDestroy_v2, (void *event))                                                        \
	X(cuEventQuery, (void *event))                                                             \
	X(cuEventSynchronize, (void *event))                                                       \
	X(cuEventElapsedTime, (float *ret_ms, void *from, void *to))                               \
	X(cuMemHostAlloc, (void **ret, size_t bytes, unsigned flags))                              \
	X(cuMemGetAddressRange_v2, (uint64_t * ret_base, size_t * ret_bytes, uint64_t address))    \
	X(cuPointerGetAttribute, (void *ret, int attribute, uint64_t address))                     \
	X(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream))             \
	X(cuModuleLoadData, (void **ret, const void *image))                                       \
	X(cuModuleGetFunction, (void **ret, void *module, const char *name))                       \
	X(cuLaunchKernel,                                                                          \
	  (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,        \
	   unsigned bz, unsigned shared_bytes, void *stream, void **params, void **extra))

/* Functions for graphs, since CUDA 12.3. */
#define CAP_CU_GRAPH_CALLS(X)                                                                      \
	X(cuGraphGetNodes, (void *graph, void **ret, size_t *n))                                   \
	X(cuGraphGetEdges_v2,                                                                      \
	  (void *graph, void **ret_from, void **ret_to, uint64_t *ret_data, size_t *n))            \
	X(cuGraphNodeGetType, (void *node, int *ret))                                              \
	X(cuGraphKernelNodeGetParams_v2, (void *node, void *ret))                                  \
	X(cuGraphMemcpyNodeGetParams, (void *node, void *ret))                                     \
	X(cuGraphMemsetNodeGetParams, (void *node, void *ret))                                     \
	X(cuGraphChildGraphNodeGetGraph, (void *node, void **ret))                                 \
	X(cuStreamGetCaptureInfo_v3,                                                               \
	  (void *stream, int *ret_status, uint64_t *ret_id, void **ret_graph,                      \
	   void *const **ret_deps, const void **ret_edges, size_t *ret_n))

struct cap_cu {
#define X(name, parameters) int(*name) parameters;
	CAP_CU_CALLS(X)
	CAP_CU_GRAPH_CALLS(X)
#undef X
};

/* Values of the driver's own enumerations. */
#define CU_LEGACY_STREAM ((void *)1)
#define CU_PER_THREAD_STREAM ((void *)2)
#define CU_NON_BLOCKING 1u
#define CU_INVALID_VALUE 1
#define CU_NOT_READY 600
#define CU_EVENT_WITHOUT_TIME 2u
#define CU_CAPTURE_RELAXED 2
#define CU_MULTIPROCESSOR_COUNT 16
#define CU_PAGEABLE_MEMORY_ACCESS 88
#define CU_CONCURRENT_MANAGED_ACCESS 89
#define CU_POINTER_MEMORY_TYPE 2
#define CU_POINTER_DEVICE_ORDINAL 9
#define CU_LOCATION_DEVICE 1
#define CU_REGISTER_IO_MEMORY 4u
#define CU_PEER_ACCESS_NOT_ENABLED 705
#define CU_HOST_PORTABLE 1u
#define CU_HOST_DEVICEMAP 2u
enum { CU_NODE_KERNEL, CU_NODE_MEMCPY, CU_NODE_MEMSET, CU_NODE_GRAPH = 4 };

/* Filled by cap_cu_load(), which fails if a function of the first list is missing. */
extern struct cap_cu cap_cu;

/* Between the two calls the calling thread may load code, allocate memory and query events,
 * although another thread's capture would forbid it. Calls nest. */
int cap_cu_relax_begin(void);
void cap_cu_relax_end(int mode);

/* Returns 0, or -ENOSYS: the driver is older than the oldest supported one. May be called
 * repeatedly. */
int cap_cu_load(void);
/* Also loads the functions for graphs. Returns as cap_cu_load(). */
int cap_cu_load_graphs(void);
