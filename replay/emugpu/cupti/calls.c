/* SPDX-License-Identifier: Apache-2.0 */

/* Calls: their records and callbacks. Only the outermost call of a thread is reported: NVIDIA's
 * runtime does not call the driver through public functions either. */
#include "replay/emugpu/cupti/cupti.h"

#include <stdlib.h>
#include <string.h>

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *data;
};

static struct CUpti_Subscriber_st subscriber; /* CUPTI has one subscriber at most */
static uint8_t enabled[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS];
static int n_enabled;

uint8_t cupti_skip[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS];

static __thread struct {
	int depth;
	CUpti_CallbackDomain domain;
	const struct cupti_cbid *function;
	int64_t start_ns;
	uint32_t correlation;
	uint64_t data; /* the client's, from enter to exit */
	enum emu_observed_wait wait;
	uint32_t wait_context, wait_stream;
} self __attribute__((tls_model("initial-exec")));

static int by_function(const void *key, const void *row)
{
	return strcmp(key, ((const struct cupti_cbid *)row)->function);
}

static const struct cupti_cbid *function_of(const char *name, CUpti_CallbackDomain *ret)
{
	int runtime;

	/* nvcc's function for <<< >>> is reported as a launch; its other functions are not part of
	 * the API. */
	if (strncmp(name, "__cudaLaunchKernel", 18) == 0)
		name += 2;
	runtime = strncmp(name, "cuda", 4) == 0;
	*ret = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
	return bsearch(name, runtime ? cupti_runtime_cbids : cupti_driver_cbids,
		       runtime ? cupti_runtime_cbids_n : cupti_driver_cbids_n,
		       sizeof(struct cupti_cbid), by_function);
}

const struct cupti_cbid *cupti_cbid_of_id(CUpti_CallbackDomain domain, uint32_t id)
{
	int runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
	const struct cupti_cbid *rows = runtime ? cupti_runtime_cbids : cupti_driver_cbids;
	unsigned n = runtime ? cupti_runtime_cbids_n : cupti_driver_cbids_n;

	for (unsigned i = 0; i < n; i++)
		if (rows[i].id == id)
			return &rows[i];
	return NULL;
}

static void call_back(CUpti_ApiCallbackSite site, int *result)
{
	CUpti_CallbackFunc f = __atomic_load_n(&subscriber.callback, __ATOMIC_ACQUIRE);
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = self.function->function,
		.functionReturnValue = result,
		.correlationData = &self.data,
		.correlationId = self.correlation,
	};

	if (f && enabled[self.domain][self.function->id])
		f(subscriber.data, self.domain, self.function->id, &data);
}

static void begin_call(const char *name)
{
	static uint32_t correlations;

	if (self.depth++ > 0)
		return;
	self.start_ns = cupti_now_ns();
	cupti_pause();
	self.function = function_of(name, &self.domain);
	self.correlation = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
	self.wait = 0;
	self.data = 0;
	if (self.function) {
		cupti_put_external(self.correlation);
		call_back(CUPTI_API_ENTER, NULL);
	}
	cupti_resume();
}

static void record_call(int64_t end_ns, int result)
{
	CUpti_ActivityKind kind = self.domain == CUPTI_CB_DOMAIN_RUNTIME_API
					  ? CUPTI_ACTIVITY_KIND_RUNTIME
					  : CUPTI_ACTIVITY_KIND_DRIVER;

	if (cupti_wants(kind) && !cupti_skip[self.domain][self.function->id])
		cupti_put_call(self.domain, self.function->id, self.start_ns, end_ns,
			       self.correlation, result);
	if (self.wait)
		cupti_put_wait(self.wait, self.wait_context, self.wait_stream, self.start_ns,
			       end_ns, self.correlation);
}

static void end_call(int result)
{
	int64_t end_ns;

	if (self.depth > 1) {
		self.depth--;
		return;
	}
	end_ns = cupti_now_ns();
	cupti_pause();
	if (self.function) {
		record_call(end_ns, result);
		call_back(CUPTI_API_EXIT, &result);
	}
	self.correlation = 0;
	self.depth = 0; /* calls from the client's callbacks were nested in this one */
	cupti_resume();
}

static uint32_t correlation(void)
{
	return self.correlation;
}

static void note_wait(enum emu_observed_wait wait, uint32_t context, uint32_t stream)
{
	if (self.wait)
		return;
	self.wait = wait;
	self.wait_context = context;
	self.wait_stream = stream;
}

const struct emu_observer cupti_observer = {begin_call, end_call, correlation, cupti_put_op,
					    note_wait};

/* ---- subscribing ---- */

int cupti_has_callbacks(void)
{
	return subscriber.callback && __atomic_load_n(&n_enabled, __ATOMIC_RELAXED) > 0;
}

void cupti_drop_subscriber(void)
{
	__atomic_store_n(&subscriber.callback, NULL, __ATOMIC_RELEASE);
	memset(enabled, 0, sizeof(enabled));
	n_enabled = 0;
	cupti_update();
}

EMU_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc callback,
				   void *data)
{
	if (!ret || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (subscriber.callback)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.data = data;
	__atomic_store_n(&subscriber.callback, callback, __ATOMIC_RELEASE);
	*ret = &subscriber;
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	if (s != &subscriber || !subscriber.callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti_drop_subscriber();
	return CUPTI_SUCCESS;
}

static CUptiResult check_subscriber(CUpti_SubscriberHandle s, CUpti_CallbackDomain domain)
{
	if (s != &subscriber || !subscriber.callback || domain <= CUPTI_CB_DOMAIN_INVALID ||
	    domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain > CUPTI_CB_DOMAIN_RUNTIME_API) {
		emu_refuse_use("libcupti.so.13", "cuptiEnableCallback (not of calls)");
		return CUPTI_ERROR_NOT_SUPPORTED;
	}
	return CUPTI_SUCCESS;
}

static void enable(CUpti_CallbackDomain domain, uint32_t id, int on)
{
	n_enabled += on - enabled[domain][id];
	enabled[domain][id] = (uint8_t)on;
}

EMU_API CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s,
					CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult r = check_subscriber(s, domain);

	if (r)
		return r;
	if (id >= CUPTI_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	enable(domain, id, on != 0);
	cupti_update();
	return CUPTI_SUCCESS;
}

EMU_API CUptiResult cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle s,
				      CUpti_CallbackDomain domain)
{
	CUptiResult r = check_subscriber(s, domain);

	for (uint32_t id = 0; !r && id < CUPTI_CBIDS; id++)
		enable(domain, id, on != 0);
	cupti_update();
	return r;
}
