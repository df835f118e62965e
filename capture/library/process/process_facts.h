/* SPDX-License-Identifier: Apache-2.0 */

/* Facts about a process, as text: key and value. Written into the ring of the calling thread. */
#pragma once

/* Writes facts about the process itself. */
void cap_put_process_facts(void);
/* Writes facts about the driver and its devices, after cuInit. */
void cap_put_driver_facts(void);
