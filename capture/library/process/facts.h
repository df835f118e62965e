/* SPDX-License-Identifier: Apache-2.0 */

/* Facts: what a recording says about a process, as text, key and value; written into the ring of
 * the calling thread. */
#pragma once

/* About the process itself. */
void cap_facts_process(void);
/* About the driver and its devices, once cuInit has succeeded. */
void cap_facts_driver(void);
