/* SPDX-License-Identifier: Apache-2.0 */

/* CUPTI's activity and callback API, on calls whose operations are known. */
#include "tests/emugpu/check_driver.h"

#include <cupti.h>
#include <string.h>

#define CUPTI(call) TRUE((call) == CUPTI_SUCCESS)
#define BYTES 4096

enum { KERNEL, COPY, FILL, CALL, EXTERNAL, WAIT, KINDS };

static struct {
	int n[KINDS], requested, completed, enters, exits;
	uint32_t stream, launch, external_of;
	int finalise; /* in a callback: 1 at the exit of a call, 2 at its begin */
	CUpti_SubscriberHandle subscriber;
	uint64_t last_end, begun, ended;
} seen;

static void CUPTIAPI request(uint8_t **ret, size_t *bytes, size_t *most)
{
	*bytes = 512; /* a few records, so that buffers fill */
	*ret = malloc(*bytes);
	*most = 0;
	seen.requested++;
}

static void count_op(uint64_t start, uint64_t end, uint32_t device, uint32_t stream)
{
	TRUE(device == 0 && start < end && start >= seen.begun && start >= seen.last_end);
	TRUE(!seen.stream || stream == seen.stream);
	seen.stream = stream;
	seen.last_end = end;
}

static void see_kernel(const CUpti_ActivityKernel10 *k)
{
	TRUE(strcmp(k->name, "nothing") == 0 && k->gridX == 3 && k->gridY == 2 && k->blockX == 32);
	TRUE(k->dynamicSharedMemory == 64 && k->correlationId == seen.launch);
	count_op(k->start, k->end, k->deviceId, k->streamId);
	seen.n[KERNEL]++;
}

static void see_call(const CUpti_ActivityAPI *a)
{
	if (a->cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
		seen.launch = a->correlationId;
	TRUE(a->start <= a->end && a->returnValue == 0);
	TRUE(seen.finalise || a->cbid != CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
	seen.n[CALL]++;
}

static void see(const CUpti_Activity *r)
{
	const CUpti_ActivityMemcpy6 *c = (const void *)r;
	const CUpti_ActivityMemset4 *s = (const void *)r;
	const CUpti_ActivityExternalCorrelation *x = (const void *)r;

	switch (r->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		seen.launch = seen.external_of;
		see_kernel((const void *)r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		TRUE(c->bytes == BYTES && c->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
		TRUE(c->srcKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
		count_op(c->start, c->end, c->deviceId, c->streamId);
		seen.n[COPY]++;
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		TRUE(s->bytes == BYTES && s->value == 7);
		count_op(s->start, s->end, s->deviceId, s->streamId);
		seen.n[FILL]++;
		break;
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		TRUE(x->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0);
		TRUE(x->externalId == 42);
		seen.external_of = x->correlationId;
		seen.n[EXTERNAL]++;
		break;
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		TRUE(((const CUpti_ActivitySynchronization2 *)(const void *)r)->type ==
		     CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
		seen.n[WAIT]++;
		break;
	default:
		TRUE(r->kind == CUPTI_ACTIVITY_KIND_DRIVER);
		see_call((const void *)r);
	}
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			      size_t valid)
{
	CUpti_Activity *r = NULL;

	seen.completed++;
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		see(r);
	free(buffer);
}

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *what)
{
	const CUpti_CallbackData *c = what;
	int version;

	TRUE(data == &seen && domain == CUPTI_CB_DOMAIN_DRIVER_API);
	TRUE(strcmp(c->functionName, "cuLaunchKernel") == 0);
	if (c->callbackSite == CUPTI_API_ENTER && seen.finalise > 1) {
		CUPTI(cuptiFinalize());
	} else if (c->callbackSite == CUPTI_API_ENTER) {
		*c->correlationData = 5;
		seen.enters++;
	} else if (seen.finalise) {
		CUPTI(cuptiUnsubscribe(seen.subscriber));
		CUPTI(cuptiFinalize());
	} else {
		TRUE(*c->correlationData == 5 && *(CUresult *)c->functionReturnValue == 0);
		OK(cuDriverGetVersion(&version)); /* within the launch: it has no record */
		seen.exits++;
	}
}

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Three calls with an operation each, and one that waits. */
static void work(CUfunction f, CUstream s, CUdeviceptr to)
{
	static char from[BYTES];
	CUcontext current;

	OK(cuMemcpyHtoDAsync(to, from, BYTES, s));
	OK(cuMemsetD8Async(to, 7, BYTES, s));
	CUPTI(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42));
	OK(cuLaunchKernel(f, 3, 2, 1, 32, 1, 1, 64, s, NULL, NULL));
	CUPTI(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL));
	OK(cuCtxGetCurrent(&current));
	OK(cuStreamSynchronize(s));
}

/* A client may finalise in a callback, and begin again. */
static void finalise_in_call(CUfunction f, CUstream s, CUdeviceptr to)
{
	for (seen.finalise = 1; seen.finalise <= 2; seen.finalise++) {
		int calls = seen.n[CALL];

		CUPTI(cuptiSubscribe(&seen.subscriber, called, &seen));
		CUPTI(cuptiEnableCallback(1, seen.subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
		work(f, s, to);
		CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
		work(f, s, to);
		CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
		CUPTI(cuptiActivityFlushAll(0));
		TRUE(seen.n[CALL] == calls + 5); /* with cuCtxGetCurrent */
	}
}

static void check_refusals(void)
{
	const char *name;
	uint64_t id;

	TRUE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING) == CUPTI_ERROR_NOT_SUPPORTED);
	TRUE(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id) ==
	     CUPTI_ERROR_QUEUE_EMPTY);
	CUPTI(cuptiGetResultString(CUPTI_ERROR_NOT_SUPPORTED, &name));
	TRUE(strcmp(name, "CUPTI_ERROR_NOT_SUPPORTED") == 0);
	CUPTI(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
				   CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &name));
	TRUE(strncmp(name, "cudaLaunchKernel", 16) == 0);
}

int main(void)
{
	CUpti_SubscriberHandle subscriber;
	CUdeviceptr to;
	CUfunction f;
	CUstream s;

	use_device(0);
	f = load_kernel(PTX(ENTRY("nothing()")), "nothing");
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&to, BYTES));
	check_refusals();
	CUPTI(cuptiActivityRegisterCallbacks(request, complete));
	CUPTI(cuptiSubscribe(&subscriber, called, &seen));
	TRUE(cuptiSubscribe(&subscriber, called, &seen) != CUPTI_SUCCESS);
	CUPTI(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
	for (int i = 0; i < N_KINDS; i++)
		CUPTI(cuptiActivityEnable(kinds[i]));
	CUPTI(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, 0));
	CUPTI(cuptiGetTimestamp(&seen.begun));
	work(f, s, to);
	CUPTI(cuptiGetTimestamp(&seen.ended));
	for (int i = 0; i < N_KINDS; i++)
		CUPTI(cuptiActivityDisable(kinds[i]));
	CUPTI(cuptiUnsubscribe(subscriber));
	work(f, s, to); /* not recorded */
	CUPTI(cuptiActivityFlushAll(0));
	TRUE(seen.requested == seen.completed && seen.completed > 1);
	TRUE(seen.n[KERNEL] == 1 && seen.n[COPY] == 1 && seen.n[FILL] == 1 && seen.n[CALL] == 4);
	TRUE(seen.n[EXTERNAL] == 1 && seen.n[WAIT] == 1 && seen.enters == 1 && seen.exits == 1);
	TRUE(seen.last_end <= seen.ended);
	CUPTI(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, 1));
	finalise_in_call(f, s, to);
	unload(f);
	OK(cuMemFree(to));
	OK(cuStreamDestroy(s));
	return 0;
}
