/* SPDX-License-Identifier: Apache-2.0 */

/* The least that a call through the PLT costs. */
#pragma once

void emugpu_empty(void);
