/* SPDX-License-Identifier: Apache-2.0 */

/* What kernel parameters say to others than the recorder. */
#pragma once

#include "capture/library/device/hook.h"
#include "formats/api/api.h"

/* Tells `each` every value of 64 bits that lies at a multiple of 8 bytes in a parameter of the
 * launch `c`; none where the driver does not say where parameters lie. */
void cap_params_values(const struct cap_call *c, const struct api_call *call,
		       void (*each)(uint64_t value, void *context), void *context);
