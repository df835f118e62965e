/* SPDX-License-Identifier: Apache-2.0 */

/* CUPTI's activity and callback API on the emulated driver, as far as PyTorch's profiler (Kineto)
 * uses it. calls.c observes calls, records.c fills the client's buffers, control.c implements the
 * other public functions. Any thread. */
#pragma once

#include "replay/emugpu/observe.h"
#include "replay/emugpu/refuse.h"
#include "replay/emugpu/versions.h"

#include <cupti.h>

struct cupti_cbid {
	const char *function, *name; /* "cudaLaunchKernel", "cudaLaunchKernel_v7000" */
	uint32_t id;
};

/* By function; made by gen/cbids.py. */
extern const struct cupti_cbid cupti_driver_cbids[], cupti_runtime_cbids[];
extern const unsigned cupti_driver_cbids_n, cupti_runtime_cbids_n;

#define CUPTI_CBIDS 2048 /* more than any domain has */

/* Converts virtual time to the client's clock: nanoseconds since 1970 unless the client set a
 * clock. */
uint64_t cupti_stamp(int64_t virtual_ns);
int64_t cupti_now_ns(void); /* the calling thread's clock */
void cupti_pause(void);	    /* start and end a clock pause */
void cupti_resume(void);

/* Returns 1 if the client enabled records of a kind. */
int cupti_wants(CUpti_ActivityKind kind);

/* Append records. cupti_put_external() copies the calling thread's external ids. */
void cupti_put_external(uint32_t correlation);
void cupti_put_call(CUpti_CallbackDomain domain, uint32_t cbid, int64_t start_ns, int64_t end_ns,
		    uint32_t correlation, int result);
void cupti_put_wait(enum emu_observed_wait wait, uint32_t context, uint32_t stream,
		    int64_t start_ns, int64_t end_ns, uint32_t correlation);
void cupti_put_op(const struct emu_observed_op *op);

/* The observer; `cupti_skip` marks functions without activity records. */
extern const struct emu_observer cupti_observer;
extern uint8_t cupti_skip[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS];
const struct cupti_cbid *cupti_cbid_of_id(CUpti_CallbackDomain domain, uint32_t id);
int cupti_has_callbacks(void);
void cupti_drop_subscriber(void);
/* Starts or stops observing, depending on enabled records and callbacks. */
void cupti_update(void);

/* Functions for the expressions of forward.txt: enable or disable records of a kind, or of a call.
 */
CUptiResult cupti_set_wanted(CUpti_ActivityKind kind, int on);
CUptiResult cupti_skip_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, uint8_t enable);
