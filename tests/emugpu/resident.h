/* SPDX-License-Identifier: Apache-2.0 */

/* Resident memory of this process. */
#pragma once

#include "tests/emugpu/check_true.h"

/* Returns KiB. */
static inline long resident_kib(void)
{
	char line[256];
	long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	TRUE(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	fclose(f);
	return kib;
}
