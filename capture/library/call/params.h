/* SPDX-License-Identifier: Apache-2.0 */

/* Kernel parameters: their layouts, queried from the driver once per function, and their bytes. Any
 * thread. */
#pragma once

#include "capture/library/call/hook.h"
#include "formats/api/api.h"

/* Records the parameters of a launch or of a graph node; `function` may be a kernel. If `params` is
 * NULL, records those of `extra`, the CU_LAUNCH_PARAM_* array. */
void cap_params_put(const struct cap_call *c, unsigned arg, uint64_t function, void **params,
		    void **extra);

/* Registers a handle that the driver returned: of a kernel, or of a function. */
void cap_params_register(uint64_t handle, bool is_kernel);
/* Invalidates the layouts of all functions, when modules are unloaded. */
void cap_params_invalidate(void);

/* Calls `each` for every 64-bit value at a multiple of 8 bytes in a parameter of the launch `c`;
 * for none if the driver does not report the layout. */
void cap_params_for_each_value(const struct cap_call *c, const struct api_call *call,
			       void (*each)(uint64_t value, void *context), void *context);
