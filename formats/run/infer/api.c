/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/infer/api.h"

#include <string.h>

/* The name after cuda, cu or hip; `prefix` if versions and variants follow. */
static const struct row {
	const char *name;
	unsigned char prefix;
	unsigned char api;
} rows[] = {
	{"EventQuery", 0, INFER_API_POLL},
	{"StreamQuery", 0, INFER_API_POLL},
	{"EventRecord", 1, INFER_API_RECORD_EVENT},
	{"StreamWaitEvent", 1, INFER_API_STREAM_WAIT},
	{"StreamSynchronize", 1, INFER_API_STREAM_SYNC},
	{"EventSynchronize", 1, INFER_API_EVENT_SYNC},
	{"DeviceSynchronize", 1, INFER_API_DEVICE_SYNC},
	{"CtxSynchronize", 1, INFER_API_DEVICE_SYNC},
	{"ThreadSynchronize", 1, INFER_API_DEVICE_SYNC},
	{"FreeAsync", 1, INFER_API_OTHER},
	{"Free", 0, INFER_API_MAY_SYNC},
	{"FreeHost", 0, INFER_API_MAY_SYNC},
	{"FreeArray", 0, INFER_API_MAY_SYNC},
	{"MemFree", 0, INFER_API_MAY_SYNC},
	{"MemFree_v2", 0, INFER_API_MAY_SYNC},
	{"MemFreeHost", 0, INFER_API_MAY_SYNC},
	{"MallocAsync", 1, INFER_API_OTHER},
	{"Malloc", 1, INFER_API_MAY_SYNC},
	{"MemAlloc", 0, INFER_API_MAY_SYNC},
	{"MemAlloc_v2", 0, INFER_API_MAY_SYNC},
	{"MemAllocHost", 1, INFER_API_MAY_SYNC},
	{"MemHostAlloc", 0, INFER_API_MAY_SYNC},
	{"HostAlloc", 0, INFER_API_MAY_SYNC},
	{"HostMalloc", 1, INFER_API_MAY_SYNC},
	{"HostRegister", 1, INFER_API_MAY_SYNC},
	{"HostUnregister", 1, INFER_API_MAY_SYNC},
	{"ModuleUnload", 0, INFER_API_MAY_SYNC},
	{"MemUnmap", 0, INFER_API_MAY_SYNC},
	{"GraphLaunch", 1, INFER_API_GRAPH},
	{"Memcpy", 1, INFER_API_COPY},
};

enum infer_api_class infer_classify_api(const char *name)
{
	static const char *const families[] = {"cuda", "hip", "cu"};

	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		size_t n = strlen(families[f]);

		if (strncmp(name, families[f], n) != 0)
			continue;
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct row *r = &rows[i];

			if (r->name[0] != name[n]) /* most calls have no effect on time */
				continue;
			if (r->prefix ? strncmp(name + n, r->name, strlen(r->name)) == 0
				      : strcmp(name + n, r->name) == 0)
				return (enum infer_api_class)r->api;
		}
		return INFER_API_OTHER;
	}
	return INFER_API_OTHER;
}
