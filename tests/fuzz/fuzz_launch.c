/* SPDX-License-Identifier: Apache-2.0 */

/* The description of a launch that `gputrace extract` wrote. */
#define REPRO_NO_MAIN
#include "tools/repro/repro.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct repro_launch launch;
	static struct repro_result result;
	FILE *f = len > 0 ? fmemopen((void *)(uintptr_t)data, len, "r") : NULL;

	memset(&launch, 0, sizeof(launch));
	memset(&result, 0, sizeof(result));
	if (!f)
		return 0;
	if (repro_read(f, &launch, &result))
		for (unsigned i = 0; i < launch.n_pointers; i++)
			memset(launch.parameters[launch.pointers[i].parameter].bytes +
				       launch.pointers[i].offset,
			       0, 8);
	fclose(f);
	repro_launch_done(&launch);
	(void)repro_run;
	(void)repro_open;
	(void)repro_print;
	return 0;
}
