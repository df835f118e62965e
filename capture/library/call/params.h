/* SPDX-License-Identifier: Apache-2.0 */

/* Kernel parameters: their layouts, queried from the driver once per function, and their bytes. Any
 * thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/fields.h"

/* Parameters of a launch or of a graph node. */
struct cap_params {
	uint64_t function;	/* or kernel */
	void **params, **extra; /* if `params` is NULL, those of the CU_LAUNCH_PARAM_* array */
};

struct cap_params cap_params_of_call(const struct cap_call *c, const struct api_call *call);
/* `f` is the field of `params`; CU_LAUNCH_PARAM_* are in the next field. */
struct cap_params cap_params_of_field(const struct api_view *v, const struct api_field *f);

/* Records the parameters. */
void cap_params_put(const struct cap_call *c, unsigned arg, const struct cap_params *p);

/* Registers a handle that the driver returned: of a kernel, or of a function. */
void cap_params_register(uint64_t handle, bool is_kernel);
/* Invalidates the layouts of all functions, when modules are unloaded. */
void cap_params_invalidate(void);

/* Calls `each` for every 64-bit value at a multiple of 8 bytes in a parameter; for none if the
 * driver does not report the layout. */
void cap_params_for_each_value(const struct cap_params *p,
			       void (*each)(uint64_t value, void *context), void *context);
