/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "capture/library/call/hook.h"

/* Digests of buffers (--digest). */
extern const struct cap_hook cap_digests;
