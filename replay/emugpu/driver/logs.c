/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/logs.h"

#include "replay/emugpu/driver/device.h"
#include "replay/emugpu/driver/missing.h"

#include <stdio.h>
#include <string.h>

enum { CALLBACKS = 16 };

/* Handles are addresses of callbacks[]. */
static struct CUlogsCallbackEntry_st {
	CUlogsCallback function;
	void *data;
} callbacks[CALLBACKS];

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* protects callbacks[] and explanation[] */
static char explanation[2048];	   /* empty: no error yet */

EMU_API CUresult cuLogsRegisterCallback(CUlogsCallback function, void *data,
					CUlogsCallbackHandle *ret)
{
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (int i = 0; r && i < CALLBACKS; i++) {
		if (callbacks[i].function)
			continue;
		callbacks[i] = (struct CUlogsCallbackEntry_st){function, data};
		if (ret)
			*ret = &callbacks[i];
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

EMU_API CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&lock);
	if (handle >= callbacks && handle < callbacks + CALLBACKS && handle->function) {
		handle->function = NULL;
		r = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* Runs the callbacks without the lock, since they may call the driver. */
static void log_explanation(void)
{
	struct CUlogsCallbackEntry_st called[CALLBACKS];
	char message[sizeof(explanation)];

	pthread_mutex_lock(&lock);
	memcpy(called, callbacks, sizeof(called));
	memcpy(message, explanation, sizeof(message));
	pthread_mutex_unlock(&lock);
	for (int i = 0; message[0] && i < CALLBACKS; i++)
		if (called[i].function)
			called[i].function(called[i].data, CU_LOG_LEVEL_ERROR, message,
					   strlen(message));
}

CUresult emu_context_error(const struct emu_context *c)
{
	CUresult error = (CUresult)__atomic_load_n(&c->error, __ATOMIC_ACQUIRE);

	if (__builtin_expect(error != CUDA_SUCCESS, 0))
		log_explanation();
	return error;
}

EMU_API void gpuemu_explain(const char *problem)
{
	char why[1024];
	int first;

	pthread_mutex_lock(&lock);
	first = !explanation[0];
	if (!emu_missing_explain(why, sizeof(why)))
		snprintf(explanation, sizeof(explanation), "%s", problem);
	else
		snprintf(explanation, sizeof(explanation),
			 "%s; %s: give the kernel a host kernel (gpuemu --kernels, gpuemu.h) or "
			 "compute the value on the host",
			 problem, why);
	if (first)
		fprintf(stderr, "gpuemu: %s\n", explanation);
	pthread_mutex_unlock(&lock);
}
