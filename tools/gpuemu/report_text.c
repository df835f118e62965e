/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu/report.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "replay/cost/cost.h"

#include <inttypes.h>

enum { SHOWN_ENDS = 8, SHOWN_KERNELS = 3 };

#define HINT_NS INT64_C(2000000000)

/* Sums the time of kernels by the source of their durations. Returns the total. */
static int64_t sum_sources(const struct gpuemu_report *r, int64_t ret[COST_SOURCES])
{
	int64_t all_ns = 0;

	memset(ret, 0, COST_SOURCES * sizeof(ret[0]));
	for (unsigned i = 0; i < EMU_RUN_GPUS; i++)
		for (int k = 0; k < COST_SOURCES; k++) {
			ret[k] += r->gpus[i].total.source_ns[k];
			all_ns += r->gpus[i].total.source_ns[k];
		}
	return all_ns;
}

/* "gpuemu: kernel times: 71 % measured class, 29 % roofline" */
static void print_sources(const struct gpuemu_report *r, struct text *out)
{
	int64_t sum_ns[COST_SOURCES], all_ns = sum_sources(r, sum_ns);
	const char *between = "gpuemu: kernel times: ";

	for (int k = 0; k < COST_SOURCES; k++) {
		if (sum_ns[k] == 0)
			continue;
		text_printf(out, "%s%.0f %% %s", between,
			    100.0 * (double)sum_ns[k] / (double)all_ns, cost_source_names[k]);
		between = ", ";
	}
	if (all_ns > 0)
		text_char(out, '\n');
}

void gpuemu_report_text(const struct gpuemu_report *r, struct text *out)
{
	scoped(fmt_grid_done) struct fmt_grid g = {.columns = "llrrrrr"};
	bool used = false;

	text_printf(out, "gpuemu: %s of virtual time in %s, %s\n", fmt_time(r->virtual_ns).s,
		    fmt_time(r->real_ns).s, fmt_plural(r->n_processes, "process", "processes").s);
	fmt_grid_head(&g, "GPU|model|processes|busy|share|kernels|copied");
	for (unsigned i = 0; i < EMU_RUN_GPUS; i++) {
		const struct emu_run_gpu *t = &r->gpus[i].total;

		if (r->gpus[i].n_processes == 0)
			continue;
		used = true;
		fmt_grid_cell(&g, "gpu%u", i);
		fmt_grid_bytes(&g, t->model, strnlen(t->model, sizeof(t->model)), 40);
		fmt_grid_count(&g, r->gpus[i].n_processes);
		fmt_grid_time(&g, t->busy_ns);
		fmt_grid_share(&g, t->busy_ns, r->virtual_ns);
		fmt_grid_count(&g, t->kernels);
		fmt_grid_size(&g, t->copied_bytes);
	}
	if (used)
		fmt_grid_print(&g, out, false);
	print_sources(r, out);
}

/* ---- remarks ---- */

static void print_ends(const struct gpuemu_report *r, size_t from, size_t to, struct text *out)
{
	int signal = r->ends[from].signal;

	if (signal == GPUEMU_RUNNING)
		text_str(out, "gpuemu: still running, counted so far: ");
	else if (signal == GPUEMU_UNSEEN)
		text_str(out, "gpuemu: ended without exit(), perhaps killed: ");
	else
		text_printf(out, "gpuemu: killed by signal %d (%s): ", signal, strsignal(signal));
	for (size_t i = from; i < to && i < from + SHOWN_ENDS; i++)
		text_printf(out, "%s%s (process %" PRIu64 ")", i > from ? ", " : "",
			    r->ends[i].name, r->ends[i].pid);
	if (to - from > SHOWN_ENDS)
		text_printf(out, " and %zu more", to - from - SHOWN_ENDS);
	text_char(out, '\n');
}

static void print_refused(const struct gpuemu_report *r, struct text *out)
{
	bool any = false;

	for (size_t i = 0; i < r->n_notes; i++) {
		const struct emu_run_note *n = r->notes[i];

		if (n->kind != EMU_NOTE_REFUSED)
			continue;
		text_printf(out, "%s%s (%" PRIu64 ")",
			    any ? ", " : "gpuemu: not supported: ", n->name, n->count);
		any = true;
	}
	if (any)
		text_char(out, '\n');
}

/* Prints the name without template arguments, which can be long; the JSON contains them. */
static void print_name(const struct emu_run_note *n, struct text *out)
{
	size_t len = strcspn(n->name, "<");

	text_bytes(out, n->name, len);
	if (n->name[len])
		text_str(out, "<...>");
}

/* Prints some notes of a kind, the number of the others, and the sum of counts. */
struct kind {
	size_t from, n;
	uint64_t sum;
};

static struct kind notes_of(const struct gpuemu_report *r, enum emu_note_kind kind)
{
	struct kind k = {0};

	for (size_t i = 0; i < r->n_notes; i++) {
		if (r->notes[i]->kind != kind)
			continue;
		if (k.n++ == 0)
			k.from = i;
		k.sum += r->notes[i]->count;
	}
	return k;
}

static void print_names(const struct gpuemu_report *r, struct kind k, struct text *out)
{
	for (size_t i = 0; i < k.n && i < SHOWN_KERNELS; i++) {
		text_str(out, i ? ", " : "");
		print_name(r->notes[k.from + i], out);
	}
	if (k.n > SHOWN_KERNELS)
		text_printf(out, " and %zu more, listed by --json", k.n - SHOWN_KERNELS);
}

/* Prints the launches of a kind that computed nothing. `why`: "had no host kernel". */
static void print_launches(const struct gpuemu_report *r, struct kind k, const char *why,
			   struct text *out)
{
	text_printf(out, "gpuemu: %s of %s %s; results that depend on them are undefined (",
		    fmt_plural(k.sum, "launch", "launches").s,
		    fmt_plural(k.n, "kernel", "kernels").s, why);
	print_names(r, k, out);
	text_char(out, ')');
}

static void print_not_computed(const struct gpuemu_report *r, struct text *out)
{
	struct kind missing = notes_of(r, EMU_NOTE_NO_KERNEL), read = notes_of(r, EMU_NOTE_READ);
	struct kind skipped = notes_of(r, EMU_NOTE_SKIPPED);

	if (skipped.n > 0) {
		print_launches(r, skipped, "exceeded what their host kernels compute", out);
		text_str(out, "; GPUEMU_COMPUTE=all removes limits of size");
		text_str(out, missing.n > 0 ? "\n" : "");
	}
	if (missing.n > 0)
		print_launches(r, missing, "had no host kernel", out);
	if (read.n > 0) {
		text_printf(out, "; the program read %" PRIu64 " such result%s (", read.sum,
			    read.sum == 1 ? "" : "s");
		print_names(r, read, out);
		text_char(out, ')');
	}
	if (skipped.n + missing.n > 0)
		text_char(out, '\n');
}

/* Prints a note if products take more than half of the real time of all processes, and more than
 * two seconds. */
static void print_arithmetic(const struct gpuemu_report *r, struct text *out)
{
	int64_t ns = (int64_t)notes_of(r, EMU_NOTE_ARITHMETIC).sum;

	if (ns < HINT_NS || ns < r->real_ns * r->n_processes / 2)
		return;
	text_printf(out,
		    "gpuemu: cuBLAS computed for %s; if results do not matter, set "
		    "GPUEMU_COMPUTE=0 or --no-data\n",
		    fmt_time(ns).s);
}

void gpuemu_report_remarks(const struct gpuemu_report *r, struct text *out)
{
	for (size_t from = 0, to; from < r->n_ends; from = to) {
		for (to = from + 1; to < r->n_ends && r->ends[to].signal == r->ends[from].signal;)
			to++;
		print_ends(r, from, to, out);
	}
	print_refused(r, out);
	if (r->run->no_data)
		text_str(out,
			 "gpuemu: --no-data: only small kernels of PyTorch computed; copies above "
			 "64 KiB to the host wrote zeros\n");
	print_not_computed(r, out);
	print_arithmetic(r, out);
	if (r->run->lost_notes)
		text_printf(out, "gpuemu: %u more functions and kernels are not listed\n",
			    r->run->lost_notes);
}

/* ---- JSON ---- */

static void json_gpus(const struct gpuemu_report *r, struct text *out)
{
	const char *between = "";

	for (unsigned i = 0; i < EMU_RUN_GPUS; i++) {
		const struct emu_run_gpu *t = &r->gpus[i].total;

		if (r->gpus[i].n_processes == 0)
			continue;
		text_printf(out,
			    "%s{\"gpu\": %u, \"processes\": %u, \"busy_ns\": %" PRId64
			    ", \"kernels\": %" PRIu64 ", \"copies\": %" PRIu64
			    ", \"copied_bytes\": %" PRIu64 "}",
			    between, i, r->gpus[i].n_processes, t->busy_ns, t->kernels, t->copies,
			    t->copied_bytes);
		between = ", ";
	}
}

static void json_sources(const struct gpuemu_report *r, struct text *out)
{
	int64_t sum_ns[COST_SOURCES];

	sum_sources(r, sum_ns);
	text_str(out, "], \"kernel_times\": [");
	for (int k = 0; k < COST_SOURCES; k++)
		text_printf(out, "%s{\"source\": \"%s\", \"ns\": %" PRId64 "}", k ? ", " : "",
			    cost_source_names[k], sum_ns[k]);
}

static void json_notes(const struct gpuemu_report *r, enum emu_note_kind kind, const char *count,
		       struct text *out)
{
	const char *between = "";

	for (size_t i = 0; i < r->n_notes; i++) {
		const struct emu_run_note *n = r->notes[i];

		if (n->kind != kind)
			continue;
		text_printf(out, "%s{\"library\": \"%s\", \"name\": ", between, n->library);
		fmt_json_string(out, n->name, strlen(n->name));
		text_printf(out, ", \"%s\": %" PRIu64 "}", count, n->count);
		between = ", ";
	}
}

static void json_ends(const struct gpuemu_report *r, struct text *out)
{
	for (size_t i = 0; i < r->n_ends; i++) {
		const struct gpuemu_end *e = &r->ends[i];

		text_printf(out, "%s{\"pid\": %" PRIu64 ", \"name\": ", i ? ", " : "", e->pid);
		fmt_json_string(out, e->name, strlen(e->name));
		if (e->signal > 0)
			text_printf(out, ", \"signal\": %d", e->signal);
		text_printf(out, ", \"running\": %s}",
			    e->signal == GPUEMU_RUNNING ? "true" : "false");
	}
}

void gpuemu_report_json(const struct gpuemu_report *r, struct text *out)
{
	text_printf(out,
		    "{\"virtual_ns\": %" PRId64 ", \"real_ns\": %" PRId64
		    ", \"processes\": %u, \"data\": %s, \"gpus\": [",
		    r->virtual_ns, r->real_ns, r->n_processes, r->run->no_data ? "false" : "true");
	json_gpus(r, out);
	json_sources(r, out);
	text_str(out, "], \"not_exited\": [");
	json_ends(r, out);
	text_str(out, "], \"refused\": [");
	json_notes(r, EMU_NOTE_REFUSED, "calls", out);
	text_str(out, "], \"without_host_kernel\": [");
	json_notes(r, EMU_NOTE_NO_KERNEL, "launches", out);
	text_str(out, "], \"skipped_by_host_kernel\": [");
	json_notes(r, EMU_NOTE_SKIPPED, "launches", out);
	text_str(out, "], \"read_without_host_kernel\": [");
	json_notes(r, EMU_NOTE_READ, "reads", out);
	text_str(out, "]}\n");
}
