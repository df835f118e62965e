/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/launcher.h"

#include "base/array.h"

#include <stdio.h>

/* Environment variables that launchers set in each process: its index, the number of processes, its
 * index on the host, and up to two that name the run. */
static const struct {
	const char *index, *count, *local, *run[2];
	bool by_rank;
} launchers[] = {
	{"RANK", "WORLD_SIZE", "LOCAL_RANK", {"TORCHELASTIC_RUN_ID", NULL}, true},
	{LAUNCHER_PART_VARIABLE, LAUNCHER_PARTS_VARIABLE, NULL, {LAUNCHER_RUN_VARIABLE, NULL}},
	{"SLURM_PROCID",
	 "SLURM_STEP_NUM_TASKS",
	 "SLURM_LOCALID",
	 {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"OMPI_COMM_WORLD_RANK",
	 "OMPI_COMM_WORLD_SIZE",
	 "OMPI_COMM_WORLD_LOCAL_RANK",
	 {"PMIX_NAMESPACE", NULL}},
	{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", {"PMI_JOBID", NULL}},
};

/* Returns the value of a variable from 0 to LAUNCHER_MOST, or -1. */
static int32_t variable_number(const char *variable)
{
	const char *value = variable ? getenv(variable) : NULL;
	char *end;
	long v;

	if (!value || !*value)
		return -1;
	v = strtol(value, &end, 10);
	return *end || v < 0 || v > LAUNCHER_MOST ? -1 : (int32_t)v;
}

static void name_run(const char *const variables[2], struct launcher *ret)
{
	size_t len = 0;

	for (size_t k = 0; k < 2 && variables[k]; k++) {
		const char *value = getenv(variables[k]);

		if (value && len < sizeof(ret->run))
			len += (size_t)snprintf(ret->run + len, sizeof(ret->run) - len, "%s%s",
						len > 0 ? "." : "", value);
	}
}

void launcher_find(bool by_rank, struct launcher *ret)
{
	*ret = (struct launcher){.local = -1};
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++) {
		int32_t index = variable_number(launchers[i].index),
			count = variable_number(launchers[i].count);

		if (index < 0 || index >= count || (launchers[i].by_rank && !by_rank))
			continue;
		ret->index = (uint32_t)index;
		ret->count = (uint32_t)count;
		ret->local = variable_number(launchers[i].local);
		name_run(launchers[i].run, ret);
		return;
	}
}
