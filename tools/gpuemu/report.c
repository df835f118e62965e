/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu/report.h"

#include "base/array.h"
#include "base/host.h"
#include "base/scope.h"
#include "replay/cost/cost.h"

#include <sys/wait.h>

void gpuemu_report_done(struct gpuemu_report *r)
{
	free(r->notes);
	free(r->ends);
	memset(r, 0, sizeof(*r));
}

static uint32_t rows_of(const struct emu_run *run)
{
	return run->n_processes < EMU_RUN_PROCESSES ? run->n_processes : EMU_RUN_PROCESSES;
}

void gpuemu_report_ended(struct emu_run *run, uint64_t pid, int status)
{
	/* The last row with this process id; earlier rows belong to ended processes. */
	for (uint32_t i = rows_of(run); i-- > 0;) {
		struct emu_run_process *p = &run->processes[i];

		if (p->pid != pid)
			continue;
		if (!p->ended_ns)
			p->ended_ns = host_clock_ns(CLOCK_MONOTONIC);
		p->status = status;
		p->end = EMU_RUN_WAITED;
		return;
	}
}

static void add_gpus(struct gpuemu_report *r, const struct emu_run_process *p)
{
	for (unsigned i = 0; i < EMU_RUN_GPUS; i++) {
		const struct emu_run_gpu *from = &p->gpus[i];
		struct gpuemu_gpu *to = &r->gpus[i];

		if (!from->kernels && !from->copies)
			continue;
		if (to->n_processes++ == 0)
			memcpy(to->total.model, from->model, sizeof(to->total.model));
		to->total.busy_ns += from->busy_ns;
		to->total.kernels += from->kernels;
		to->total.copies += from->copies;
		to->total.copied_bytes += from->copied_bytes;
		for (int k = 0; k < COST_SOURCES; k++)
			to->total.source_ns[k] += from->source_ns[k];
		if (from->last_end_ns > r->virtual_ns)
			r->virtual_ns = from->last_end_ns;
	}
}

/* Lists the process if it did not call exit(). */
static int add_end(struct gpuemu_report *r, const struct emu_run_process *p)
{
	struct gpuemu_end end = {.pid = p->pid, .name = p->name};

	if (p->end == EMU_RUN_EXITED || (p->end == EMU_RUN_WAITED && !WIFSIGNALED(p->status)))
		return 0;
	if (p->end == EMU_RUN_WAITED)
		end.signal = WTERMSIG(p->status);
	else
		end.signal =
			host_process_started(p->pid) == p->started ? GPUEMU_RUNNING : GPUEMU_UNSEEN;
	if (array_reserve(&r->ends, r->n_ends + 1, &r->ends_cap) < 0)
		return -ENOMEM;
	r->ends[r->n_ends++] = end;
	return 0;
}

static int add_process(struct gpuemu_report *r, const struct emu_run_process *p)
{
	int64_t end_ns = p->ended_ns ? p->ended_ns : host_clock_ns(CLOCK_MONOTONIC);

	if (!p->driver_ns)
		return 0;
	r->n_processes++;
	if (p->now_ns > r->virtual_ns)
		r->virtual_ns = p->now_ns;
	if (end_ns - p->driver_ns > r->real_ns)
		r->real_ns = end_ns - p->driver_ns;
	add_gpus(r, p);
	return add_end(r, p);
}

static int by_kind_and_name(const void *a, const void *b)
{
	const struct emu_run_note *x = *(const struct emu_run_note *const *)a,
				  *y = *(const struct emu_run_note *const *)b;
	int order = array_order(x->kind, y->kind);

	order = order ? order : strcmp(x->library, y->library);
	return order ? order : strcmp(x->name, y->name);
}

static int by_signal(const void *a, const void *b)
{
	const struct gpuemu_end *x = a, *y = b;

	return x->signal != y->signal ? array_order(x->signal, y->signal)
				      : array_order(x->pid, y->pid);
}

static int add_notes(struct gpuemu_report *r, const struct emu_run *run)
{
	for (unsigned i = 0; i < EMU_RUN_NOTES; i++) {
		if (run->notes[i].state != EMU_NOTE_SET)
			continue;
		if (array_reserve(&r->notes, r->n_notes + 1, &r->notes_cap) < 0)
			return -ENOMEM;
		r->notes[r->n_notes++] = &run->notes[i];
	}
	return 0;
}

int gpuemu_report_read(const struct emu_run *run, struct gpuemu_report *ret)
{
	scoped(gpuemu_report_done) struct gpuemu_report r = {.run = run};
	int error = add_notes(&r, run);

	for (uint32_t i = 0; error == 0 && i < rows_of(run); i++)
		error = add_process(&r, &run->processes[i]);
	if (error < 0)
		return error;
	if (r.n_notes > 0)
		qsort(r.notes, r.n_notes, sizeof(r.notes[0]), by_kind_and_name);
	if (r.n_ends > 0)
		qsort(r.ends, r.n_ends, sizeof(r.ends[0]), by_signal);
	*ret = r;
	memset(&r, 0, sizeof(r));
	return 0;
}
