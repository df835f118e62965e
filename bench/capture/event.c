/* SPDX-License-Identifier: Apache-2.0 */
#define TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_DEFINE
#include "bench/capture/event.h"
