/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Called after cuInit. The driver shuts down in its own exit handler; a handler registered here,
 * after the driver's, runs before it. */
void cap_exit_register(void);
