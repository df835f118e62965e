/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The driver was initialised just now. It shuts down by an exit handler of its own; the handler
 * that this registers after it runs before it. */
void cap_ends_driver_initialised(void);
