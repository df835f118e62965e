/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/emugpu/empty.h"

__attribute__((visibility("default"))) void emugpu_empty(void)
{
	__asm__ volatile("");
}
