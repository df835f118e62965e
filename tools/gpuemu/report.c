/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gpuemu/report.h"
#include "base/array.h"
#include "base/scope.h"
#include "formats/report/grid.h"

#include <inttypes.h>

void gpuemu_report_done(struct gpuemu_report *r)
{
	free(r->gpus);
	free(r->refusals);
	memset(r, 0, sizeof(*r));
}

static int add_gpu(struct gpuemu_report *r, const struct gpuemu_gpu *g)
{
	for (size_t i = 0; i < r->n_gpus; i++) {
		struct gpuemu_gpu *to = &r->gpus[i];

		if (to->number != g->number)
			continue;
		to->busy_ns += g->busy_ns;
		to->kernels += g->kernels;
		to->copies += g->copies;
		to->copied_bytes += g->copied_bytes;
		to->n_processes++;
		return 0;
	}
	if (array_reserve(&r->gpus, r->n_gpus + 1, &r->gpus_cap) < 0)
		return -ENOMEM;
	r->gpus[r->n_gpus] = *g;
	r->gpus[r->n_gpus++].n_processes = 1;
	return 0;
}

/* A later line of the same process says more. */
static int add_refusal(struct gpuemu_report *r, const struct gpuemu_refusal *f)
{
	for (size_t i = 0; i < r->n_refusals; i++) {
		struct gpuemu_refusal *to = &r->refusals[i];

		if (to->pid == f->pid && strcmp(to->name, f->name) == 0 &&
		    strcmp(to->library, f->library) == 0) {
			to->count = f->count > to->count ? f->count : to->count;
			return 0;
		}
	}
	if (array_reserve(&r->refusals, r->n_refusals + 1, &r->refusals_cap) < 0)
		return -ENOMEM;
	r->refusals[r->n_refusals++] = *f;
	return 0;
}

static int parse_line(struct gpuemu_report *r, const char *line)
{
	struct gpuemu_gpu g = {0};
	struct gpuemu_refusal f = {0};
	int64_t virtual_ns, real_ns;
	int pid;

	if (sscanf(line,
		   "gpu\t%d\t%d\t%" SCNd64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%95[^\n]",
		   &g.number, &pid, &g.busy_ns, &g.kernels, &g.copies, &g.copied_bytes,
		   g.model) == 7)
		return add_gpu(r, &g);
	if (sscanf(line, "refused\t%63[^\t]\t%95[^\t]\t%d\t%" SCNu64, f.library, f.name, &f.pid,
		   &f.count) == 4)
		return add_refusal(r, &f);
	if (sscanf(line, "process\t%d\t%" SCNd64 "\t%" SCNd64, &pid, &virtual_ns, &real_ns) == 3) {
		r->n_processes++;
		r->virtual_ns = virtual_ns > r->virtual_ns ? virtual_ns : r->virtual_ns;
		r->real_ns = real_ns > r->real_ns ? real_ns : r->real_ns;
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	return ((const struct gpuemu_gpu *)a)->number - ((const struct gpuemu_gpu *)b)->number;
}

static int by_name(const void *a, const void *b)
{
	const struct gpuemu_refusal *x = a, *y = b;
	int order = strcmp(x->library, y->library);

	return order ? order : strcmp(x->name, y->name);
}

/* One row for each name, whatever the process. */
static void merge(struct gpuemu_report *r)
{
	size_t n = 0;

	if (r->n_refusals > 0)
		qsort(r->refusals, r->n_refusals, sizeof(r->refusals[0]), by_name);
	if (r->n_gpus > 0)
		qsort(r->gpus, r->n_gpus, sizeof(r->gpus[0]), by_number);
	for (size_t i = 0; i < r->n_refusals; i++) {
		if (n > 0 && by_name(&r->refusals[n - 1], &r->refusals[i]) == 0) {
			r->refusals[n - 1].count += r->refusals[i].count;
			continue;
		}
		r->refusals[n] = r->refusals[i];
		r->refusals[n++].pid = 0;
	}
	r->n_refusals = n;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

int gpuemu_report_read(int fd, struct gpuemu_report *ret)
{
	scoped(gpuemu_report_done) struct gpuemu_report r = {0};
	scoped(free_ptr) char *line = NULL;
	scoped(close_file) FILE *in = NULL;
	size_t cap = 0;
	int copy = dup(fd), error = 0;

	if (copy < 0 || lseek(copy, 0, SEEK_SET) < 0 || !(in = fdopen(copy, "r")))
		return -errno;
	while (error == 0 && getline(&line, &cap, in) > 0)
		error = parse_line(&r, line);
	if (error < 0)
		return error;
	merge(&r);
	*ret = r;
	memset(&r, 0, sizeof(r));
	return 0;
}

void gpuemu_report_refusals(const struct gpuemu_report *r, struct text *out)
{
	for (size_t i = 0; i < r->n_refusals; i++)
		text_printf(out, "%s%s (%" PRIu64 ")",
			    i ? ", " : "gpuemu: not supported: ", r->refusals[i].name,
			    r->refusals[i].count);
	if (r->n_refusals)
		text_char(out, '\n');
}

void gpuemu_report_text(const struct gpuemu_report *r, struct text *out)
{
	scoped(grid_done) struct grid g = {.columns = "llrrrrr", .head = true};
	static const char *const head[] = {"GPU",   "model",   "processes", "busy",
					   "share", "kernels", "copied"};

	text_str(out, "gpuemu: ");
	text_time(out, r->virtual_ns);
	text_str(out, " of virtual time in ");
	text_time(out, r->real_ns);
	text_printf(out, ", %u process%s\n", r->n_processes, r->n_processes == 1 ? "" : "es");
	if (r->n_gpus == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		grid_cell(&g, "%s", head[i]);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct gpuemu_gpu *p = &r->gpus[i];

		grid_cell(&g, "gpu%d", p->number);
		grid_bytes(&g, p->model, strlen(p->model), 40);
		grid_count(&g, p->n_processes);
		grid_time(&g, p->busy_ns);
		grid_share(&g, p->busy_ns, r->virtual_ns);
		grid_count(&g, p->kernels);
		grid_size(&g, p->copied_bytes);
	}
	grid_print(&g, out, false);
}

void gpuemu_report_json(const struct gpuemu_report *r, struct text *out)
{
	text_printf(out,
		    "{\"virtual_ns\": %" PRId64 ", \"real_ns\": %" PRId64
		    ", \"processes\": %u, \"gpus\": [",
		    r->virtual_ns, r->real_ns, r->n_processes);
	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct gpuemu_gpu *p = &r->gpus[i];

		text_printf(out,
			    "%s{\"gpu\": %d, \"processes\": %u, \"busy_ns\": %" PRId64
			    ", \"kernels\": %" PRIu64 ", \"copies\": %" PRIu64
			    ", \"copied_bytes\": %" PRIu64 "}",
			    i ? ", " : "", p->number, p->n_processes, p->busy_ns, p->kernels,
			    p->copies, p->copied_bytes);
	}
	text_str(out, "], \"refused\": [");
	for (size_t i = 0; i < r->n_refusals; i++)
		text_printf(out,
			    "%s{\"library\": \"%s\", \"name\": \"%s\", \"calls\": %" PRIu64 "}",
			    i ? ", " : "", r->refusals[i].library, r->refusals[i].name,
			    r->refusals[i].count);
	text_str(out, "]}\n");
}
