/* SPDX-License-Identifier: Apache-2.0 */

/* Calls without a description: a trampoline for each, that records the name and six raw words. */
#pragma once

#include "capture/library/state.h"

/* What the program gets instead of `real`: a trampoline; `real` itself when there are no more. The
 * same for the same function. */
void *cap_unknown(const char *name, void *real);

/* In a forked child: another thread of the parent may have been in there. */
void cap_unknown_forked(void);
