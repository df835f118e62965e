/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/api/words.h"

#include "formats/api/api.h"

static const char *const class_words[API_N_CLASSES] = {
	[API_CLASS_QUERY] = "query",
	[API_CLASS_STATE] = "state",
	[API_CLASS_CREATE] = "create",
	[API_CLASS_DESTROY] = "destroy",
	[API_CLASS_MODULE_LOAD] = "module-load",
	[API_CLASS_ALLOC] = "alloc",
	[API_CLASS_FREE] = "free",
	[API_CLASS_RESERVE] = "reserve",
	[API_CLASS_UNRESERVE] = "unreserve",
	[API_CLASS_MAP] = "map",
	[API_CLASS_UNMAP] = "unmap",
	[API_CLASS_LAUNCH] = "launch",
	[API_CLASS_COPY] = "copy",
	[API_CLASS_SET] = "set",
	[API_CLASS_PREFETCH] = "prefetch",
	[API_CLASS_HOST_CALL] = "host-call",
	[API_CLASS_MEMORY_OP] = "memory-op",
	[API_CLASS_GRAPH_LAUNCH] = "graph-launch",
	[API_CLASS_GRAPH_NODE] = "graph-node",
	[API_CLASS_CAPTURE_BEGIN] = "capture-begin",
	[API_CLASS_CAPTURE_END] = "capture-end",
	[API_CLASS_EVENT_RECORD] = "event-record",
	[API_CLASS_EVENT_WAIT] = "event-wait",
	[API_CLASS_EVENT_QUERY] = "event-query",
	[API_CLASS_STREAM_QUERY] = "stream-query",
	[API_CLASS_SYNC] = "sync",
	[API_CLASS_COLLECTIVE] = "collective",
	[API_CLASS_P2P] = "p2p",
	[API_CLASS_GROUP_BEGIN] = "group-begin",
	[API_CLASS_GROUP_END] = "group-end",
	[API_CLASS_GEMM] = "gemm",
	[API_CLASS_BLAS] = "blas",
	[API_CLASS_PROFILE] = "profile",
};

static const char *const meaning_words[API_N_MEANINGS] = {
	[API_MEANING_NONE] = "",
	[API_MEANING_NUMBER] = "number",
	[API_MEANING_SIZE] = "size",
	[API_MEANING_FLAGS] = "flags",
	[API_MEANING_ENUM] = "enum",
	[API_MEANING_STATUS] = "status",
	[API_MEANING_STRUCT] = "struct",
	[API_MEANING_BYTES] = "bytes",
	[API_MEANING_STRING] = "string",
	[API_MEANING_STRING_ADDRESS] = "string-address",
	[API_MEANING_SCALAR] = "scalar",
	[API_MEANING_ADDRESS] = "address",
	[API_MEANING_CALLBACK] = "callback",
	[API_MEANING_HOST] = "host",
	[API_MEANING_DEVPTR] = "devptr",
	[API_MEANING_IMAGE] = "image",
	[API_MEANING_PARAMS] = "params",
	[API_MEANING_EXTRA] = "extra",
	[API_MEANING_DEVICE] = "device",
	[API_MEANING_UNIQUE_ID] = "unique-id",
	[API_MEANING_REDUCTION] = "reduction",
	[API_MEANING_CONTEXT] = "context",
	[API_MEANING_GREEN_CONTEXT] = "green-context",
	[API_MEANING_STREAM] = "stream",
	[API_MEANING_EVENT] = "event",
	[API_MEANING_MODULE] = "module",
	[API_MEANING_LIBRARY] = "library",
	[API_MEANING_FUNCTION] = "function",
	[API_MEANING_KERNEL] = "kernel",
	[API_MEANING_LINKER] = "linker",
	[API_MEANING_GRAPH] = "graph",
	[API_MEANING_GRAPH_EXEC] = "graph-exec",
	[API_MEANING_GRAPH_NODE] = "graph-node",
	[API_MEANING_CONDITIONAL] = "conditional",
	[API_MEANING_USER_OBJECT] = "user-object",
	[API_MEANING_POOL] = "pool",
	[API_MEANING_MEMORY] = "memory",
	[API_MEANING_ARRAY] = "array",
	[API_MEANING_MIPMAP] = "mipmap",
	[API_MEANING_TEXREF] = "texref",
	[API_MEANING_SURFREF] = "surfref",
	[API_MEANING_TEXTURE] = "texture",
	[API_MEANING_SURFACE] = "surface",
	[API_MEANING_EXTERNAL_MEMORY] = "external-memory",
	[API_MEANING_EXTERNAL_SEMAPHORE] = "external-semaphore",
	[API_MEANING_GRAPHICS_RESOURCE] = "graphics-resource",
	[API_MEANING_EGL_CONNECTION] = "egl-connection",
	[API_MEANING_RESOURCE_DESC] = "resource-desc",
	[API_MEANING_NOTIFICATION] = "notification",
	[API_MEANING_COMM] = "comm",
	[API_MEANING_WINDOW] = "window",
	[API_MEANING_REGISTRATION] = "registration",
	[API_MEANING_BLAS] = "blas",
	[API_MEANING_BLAS_XT] = "blas-xt",
	[API_MEANING_LT] = "lt",
	[API_MEANING_LT_MATMUL] = "lt-matmul",
	[API_MEANING_LT_LAYOUT] = "lt-layout",
	[API_MEANING_LT_TRANSFORM] = "lt-transform",
	[API_MEANING_LT_PREFERENCE] = "lt-preference",
	[API_MEANING_LT_EMULATION] = "lt-emulation",
};

static const char *const direction_words[API_N_DIRECTIONS] = {
	[API_DIRECTION_NONE] = "",	     [API_DIRECTION_IN] = "in",
	[API_DIRECTION_OUT] = "out",	     [API_DIRECTION_INOUT] = "inout",
	[API_DIRECTION_READS] = "reads",     [API_DIRECTION_WRITES] = "writes",
	[API_DIRECTION_UPDATES] = "updates",
};

const char *api_class_word(enum api_class class)
{
	return class < API_N_CLASSES ? class_words[class] : NULL;
}

const char *api_meaning_word(enum api_meaning meaning)
{
	return meaning < API_N_MEANINGS ? meaning_words[meaning] : NULL;
}

const char *api_direction_word(enum api_direction direction)
{
	return direction < API_N_DIRECTIONS ? direction_words[direction] : NULL;
}
