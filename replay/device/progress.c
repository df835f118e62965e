/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/progress.h"

#include "formats/trace/fact_keys.h"

#include <string.h>
#include <time.h>

#define POLL_NS 20000L

/* Published are numbers in this range only: 0 means "not started", INT64_MAX "ended". */
static int64_t in_range(int64_t at)
{
	return at < 1 ? 1 : at > INT64_MAX - 2 ? INT64_MAX - 2 : at;
}

static bool shares_objects(const struct rex_process *p)
{
	for (size_t i = 0; i < p->n_calls; i++)
		if (strncmp(p->calls[i].api->name, "cuIpc", 5) == 0 && !p->calls[i].skipped)
			return true;
	return false;
}

/* Processes of other hosts have other counters, and cannot share memory with this one. */
static int find_others(const struct rex_process *p, bool *is_other)
{
	const struct fmt_names *names = fmt_trace_names(p->trace);
	const char *host = fmt_fact_value(names, p->ranks[0], "host"), *of;
	scoped(rex_processes_done) struct rex_processes all = {0};
	int r = rex_processes_find(p->trace, &all);

	for (uint32_t i = 0; i < fmt_trace_n_ranks(p->trace) && r == 0; i++) {
		of = fmt_fact_value(names, i, "host");
		is_other[all.by_rank[i]] =
			all.by_rank[i] != p->index && (!host || !of || strcmp(host, of) == 0);
	}
	return r;
}

int rex_progress_begin(struct rex_progress *p, struct rex_share *share,
		       const struct rex_process *process)
{
	int r = 0;
	bool has_others = !process->is_alone && process->n_processes > 1 &&
			  process->n_processes <= REX_PROCESSES &&
			  !rex_share_settings(share)->folder[0]; /* else it has its own table */

	*p = (struct rex_progress){.process = process};
	if (!has_others)
		return 0;
	p->share = share;
	p->waits = shares_objects(process);
	if (p->waits)
		r = find_others(process, p->is_other);
	else
		rex_share_set_progress(share, process->index, INT64_MAX);
	return r;
}

void rex_progress_publish(const struct rex_progress *p, uint32_t first)
{
	if (p->waits && first < p->process->n_calls)
		rex_share_set_progress(p->share, p->process->index,
				       in_range(p->process->calls[first].returned));
}

static void wait_for(const struct rex_progress *p, int64_t began, const int *error)
{
	const struct timespec nap = {0, POLL_NS};

	for (uint32_t i = 0; i < p->process->n_processes && p->waits; i++)
		while (p->is_other[i] && __atomic_load_n(error, __ATOMIC_RELAXED) == 0 &&
		       !rex_share_has_reached(p->share, i, p->process->index, began))
			nanosleep(&nap, NULL);
}

void rex_progress_wait(const struct rex_progress *p, int64_t began, const int *error)
{
	wait_for(p, in_range(began), error);
}

void rex_progress_end(const struct rex_progress *p, const int *error)
{
	if (p->share)
		rex_share_set_progress(p->share, p->process->index, INT64_MAX);
	wait_for(p, INT64_MAX - 1, error);
}
