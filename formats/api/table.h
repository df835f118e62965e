/* SPDX-License-Identifier: Apache-2.0 */

/* The table that formats/api/table.py makes: calls in the order of strcmp. */
#pragma once

#include "formats/api/api.h"

extern const struct api_call api_calls[];
extern const unsigned api_n_calls;
