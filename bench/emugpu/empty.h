/* SPDX-License-Identifier: Apache-2.0 */

/* An empty function: the least cost of a call through the PLT. */
#pragma once

void emugpu_empty(void);
