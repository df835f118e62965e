/* SPDX-License-Identifier: Apache-2.0 */

#include "base/array.h"
#include "base/scope.h"
#include "formats/render/losses.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"
#include "fs/render.h"
#include "fs/stored.h"

#include <time.h>

/* clang-format off */
static const char readme[] =
	"This directory shows a recorded run of a program on GPUs. It is read-only and never\n"
	"changes. Sizes are exact: cp -r, tar, rsync, grep -r and mmap work.\n"
	"\n"
	"  id CITATION LICENSE   for publications that use this run\n"
	"  trace.json            facts about the run: GPUs, versions, communicators, provenance\n"
	"  summary               the report of `gputrace info`\n"
	"  errors                damage and lost events, one per line; empty if there are none\n"
	"  timeline.json .svg    the whole run: open the first in https://ui.perfetto.dev, the\n"
	"                        second in a browser\n"
	"  iterations/N/         one iteration: summary, timelines, and a directory for each GPU\n"
	"  iterations/N/gpuR/    one iteration of the GPU of rank R, in tables\n"
	"  before/ after/        the same for events before the first, after the last iteration\n"
	"  gpus/gpuR/            the GPU of rank R over the whole run; kernels: totals by name\n"
	"  communicators/N/      ranks of a communicator, and its collectives over all ranks\n"
	"  modules/              code images: index lists them; a file for each image that was\n"
	"                        stored (gpucapture --embed-images)\n"
	"  contents/             contents of buffers (gpucapture --payloads): index lists the\n"
	"                        operations that read or wrote each file\n"
	"  emulated/             the same tree for the emulated run, computed on first access\n"
	"  what-if/SPEC/         the same tree for a changed run, computed on first access: cat\n"
	"                        what-if/network=2x/summary; SPEC as in `gpureplay --what-if`.\n"
	"                        ls lists accessed SPECs; errors explains invalid ones\n"
	"\n"
	"Tables are tab-separated, with one header line, ordered by time:\n"
	"\n"
	"  calls        host calls into the driver, the runtime and the libraries\n"
	"  kernels memcpy memset collectives        operations of the GPU\n"
	"  syncs        dependencies, `recorded` or `inferred`. Kind start: `to` starts after\n"
	"               `from` ends; return: the call `to` returns after `from` ends; spawn:\n"
	"               `to` starts after `from` starts\n"
	"  memory       calls that allocate and free, and records of the framework's allocator\n"
	"  digests      digests of buffers\n"
	"\n"
	"Bandwidths in communicators/N/collectives are defined as in nccl-tests:\n"
	"algbw is bytes / shortest_ns; busbw is algbw times 2 (n-1)/n for all_reduce, (n-1)/n for\n"
	"all_gather, reduce_scatter, all_to_all, 1 for broadcast, reduce, send_recv; n ranks.\n"
	"\n"
	"Times (start_ns, duration_ns) are nanoseconds. `number` counts calls and operations of a\n"
	"GPU; syncs and digests refer to it. `correlation` joins an operation to the call that\n"
	"launched it. `args` contains all other arguments, as key=value;key=value. A missing\n"
	"value is \"-\". Within a field, tab, newline and backslash are written \\t \\n \\\\;\n"
	"within args, ; is written \\;\n"
	"\n"
	"    column -t -s \"$(printf '\\t')\" communicators/0/collectives | less -S\n"
	"    awk -F '\\t' 'FNR > 1 { ns[$6] += $3 }\n"
	"        END { for (k in ns) printf \"%.3f ms %s\\n\", ns[k] / 1e6, k }' \\\n"
	"        iterations/*/gpu0/kernels | sort -nr | head\n"
	"    pandas.read_csv(\"gpus/gpu0/kernels\", sep=\"\\t\", na_values=\"-\",\n"
	"        quoting=csv.QUOTE_NONE)\n";
/* clang-format on */

int fs_render_readme(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	text_bytes(out, readme, sizeof(readme) - 1);
	return 0;
}

int fs_render_id(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	text_str(out, fmt_trace_id(t->trace));
	text_char(out, '\n');
	return 0;
}

/* Appends a fact of the trace that is a JSON string, without quotes; false if the fact is
 * missing. */
static int fact_text(struct fs_tree *t, const char *key, struct text *out)
{
	const char *value = fmt_fact_value(t->names, FMT_WHOLE_TRACE, key);
	size_t len = value ? strlen(value) : 0;

	if (len < 2 || value[0] != '"')
		return 0;
	fmt_json_unescape(out, value + 1, len - 2);
	text_char(out, '\n');
	return 1;
}

int fs_render_license(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	if (!fact_text(t, "license", out))
		text_str(out,
			 "This trace does not contain a licence; ask the person who gave it to "
			 "you.\n");
	return 0;
}

int fs_render_citation(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	time_t start = (time_t)(t->start_ns / 1000000000);
	char date[32] = "";
	struct tm tm;

	if (gmtime_r(&start, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	fact_text(t, "citation", out);
	text_printf(out, "Trace of a run on %u GPU%s, %s%s.\nTrace id: %s\n", t->n_ranks,
		    t->n_ranks == 1 ? "" : "s", t->run ? "emulated, recorded run of " : "recorded ",
		    date, fmt_trace_id(t->trace));
	text_str(out,
		 "The id is a SHA-256 hash of the contents. It does not depend on compression or "
		 "packing; `gputrace verify` checks it.\n");
	return 0;
}

/* ---- trace.json and device.json */

static void json_facts(struct fmt_json *j, const struct fmt_names *names, uint32_t rank)
{
	const struct fmt_fact *fact;

	fmt_json_open(j, "facts", '{');
	for (uint32_t i = 0; (fact = fmt_fact(names, rank, i)); i++) {
		size_t len;
		const char *value = fmt_string(names, fact->value, &len);

		fmt_json_verbatim(j, fmt_string(names, fact->key, NULL), value, len);
	}
	fmt_json_close(j, '}');
}

static void json_devices(struct fmt_json *j, const struct fmt_names *names, uint32_t rank)
{
	const struct fmt_device *device;

	fmt_json_open(j, "devices", '[');
	for (uint32_t i = 0; (device = fmt_device(names, rank, i)); i++) {
		size_t len;
		const char *properties = fmt_string(names, device->properties, &len);

		fmt_json_open(j, NULL, '{');
		fmt_json_i64(j, "ordinal", device->ordinal);
		fmt_json_str(j, "name", fmt_string(names, device->name, NULL));
		if (len > 0)
			fmt_json_verbatim(j, "properties", properties, len);
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
}

static void json_rank(struct fmt_json *j, struct fs_tree *t, uint32_t i)
{
	const struct fmt_rank *rank = fmt_trace_rank(t->trace, i);

	fmt_json_u64(j, "gpu", rank->number);
	fmt_json_i64(j, "start_ns", rank->start_ns);
	fmt_json_i64(j, "end_ns", rank->end_ns);
	fmt_json_open(j, "records", '{');
	for (int kind = 0; kind < FMT_KINDS; kind++)
		fmt_json_u64(j, fmt_kind_name((enum fmt_kind)kind), rank->n_records[kind]);
	fmt_json_u64(j, "edge", rank->n_edges);
	fmt_json_u64(j, "digest", rank->n_digests);
	fmt_json_close(j, '}');
	json_devices(j, t->names, i);
}

static void json_comms(struct fmt_json *j, const struct fmt_names *names)
{
	const struct fmt_comm *comm;

	fmt_json_open(j, "communicators", '[');
	for (uint32_t i = 0; (comm = fmt_comm(names, i)); i++) {
		fmt_json_open(j, NULL, '{');
		fmt_json_u64(j, "communicator", i);
		fmt_json_str(j, "name", fmt_string(names, comm->name, NULL));
		fmt_json_str(j, "description", fmt_string(names, comm->description, NULL));
		fmt_json_open(j, "ranks", '[');
		for (uint32_t k = 0; k < comm->n_ranks; k++)
			fmt_json_u64(j, NULL, comm->ranks[k]);
		fmt_json_close(j, ']');
		fmt_json_close(j, '}');
	}
	fmt_json_close(j, ']');
}

int fs_render_trace_json(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 2};

	fmt_json_open(&j, NULL, '{');
	fmt_json_str(&j, "id", fmt_trace_id(t->trace));
	fmt_json_bool(&j, "emulated", t->run);
	fmt_json_u64(&j, "bytes", fmt_trace_bytes(t->trace));
	fmt_json_u64(&j, "iterations", t->n_iterations - t->has_before - t->has_after);
	json_facts(&j, t->names, FMT_WHOLE_TRACE);
	fmt_json_open(&j, "gpus", '[');
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		fmt_json_open(&j, NULL, '{');
		json_rank(&j, t, i);
		fmt_json_close(&j, '}');
	}
	fmt_json_close(&j, ']');
	json_comms(&j, t->names);
	fmt_json_close(&j, '}');
	text_char(out, '\n');
	return 0;
}

int fs_render_device_json(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	struct fmt_json j = {.text = out, .broken = 2};

	fmt_json_open(&j, NULL, '{');
	json_rank(&j, t, where->gpu);
	json_facts(&j, t->names, where->gpu);
	fmt_json_close(&j, '}');
	text_char(out, '\n');
	return 0;
}

/* ---- errors */

/* A line of `errors`: path in the tree, file, offset, problem. */
static void error_line(struct text *out, const char *path, const struct fmt_error *e)
{
	text_str(out, path);
	text_printf(out, "\t%s\t", e->file[0] ? e->file : "-");
	if (e->offset == FMT_NO_OFFSET)
		text_char(out, '-');
	else
		text_u64(out, e->offset);
	text_printf(out, "\t%s\n", e->what);
}

struct seen {
	struct fmt_error *errors;
	size_t n, cap;
	struct text *out;
};

static void seen_done(struct seen *s)
{
	free(s->errors);
}

static int add_damage(void *context, const struct fmt_error *e)
{
	struct seen *s = context;

	for (size_t i = 0; i < s->n; i++)
		if (s->errors[i].offset == e->offset && !strcmp(s->errors[i].file, e->file))
			return 0;
	error_line(s->out, "-", e);
	return 0;
}

static int check_slice(struct fs_tree *t, uint32_t rank, uint32_t slice, struct seen *seen)
{
	int64_t number = fmt_trace_slice(t->trace, rank, slice)->iteration.number;
	uint32_t gpu = fmt_trace_rank(t->trace, rank)->number;
	struct fmt_error e = {.offset = FMT_NO_OFFSET};
	char path[64];
	int r = fmt_slice_check(t->trace, rank, slice, &e);

	if (r == 0 || r == -ENOMEM)
		return r;
	if (number == FMT_BEFORE || number == FMT_AFTER)
		snprintf(path, sizeof(path), "%s/gpu%u", number == FMT_BEFORE ? "before" : "after",
			 gpu);
	else
		snprintf(path, sizeof(path), "iterations/%06lld/gpu%u", (long long)number, gpu);
	if (!e.what[0])
		snprintf(e.what, sizeof(e.what), "%s", strerror(-r));
	error_line(seen->out, path, &e);
	if (array_reserve(&seen->errors, seen->n + 1, &seen->cap) < 0)
		return -ENOMEM;
	seen->errors[seen->n++] = e;
	return 0;
}

/* The lists of contents, and the contents. */
static void check_stored(struct fs_tree *t, struct text *out)
{
	struct fmt_error e = {.offset = FMT_NO_OFFSET};

	for (uint32_t i = 0; i < t->n_ranks; i++) {
		struct fmt_digest *list = NULL;
		size_t n;

		if (fmt_contents_read(t->trace, i, &list, &n, &e) < 0)
			error_line(out, "contents/index", &e);
		free(list);
	}
	for (int images = 0; images < 2; images++) {
		const struct fs_stored_list *list = fs_stored_list(t->stored, images);

		for (size_t i = 0; i < list->n; i++) {
			char name[FS_NAME_BYTES], path[FS_NAME_BYTES + 16];
			uint8_t *data = NULL;
			size_t len;

			fs_stored_name(&list->items[i], name);
			snprintf(path, sizeof(path), "%s/%s", images ? "modules" : "contents",
				 name);
			if (fmt_blob_read(t->trace, list->items[i].name, &data, &len, &e) < 0)
				error_line(out, path, &e);
			free(data);
		}
	}
}

int fs_render_errors(struct fs_tree *t, const struct fs_node *where, struct text *out)
{
	scoped(seen_done) struct seen seen = {.out = out};
	int r = 0;

	fmt_put_losses(t->trace, "-\t-\t-\t", out);
	for (uint32_t i = 0; i < t->n_ranks; i++) {
		const struct fmt_rank *rank = fmt_trace_rank(t->trace, i);

		for (uint32_t k = 0; r == 0 && k < rank->n_slices; k++)
			r = check_slice(t, i, k, &seen);
	}
	check_stored(t, out);
	return r < 0 ? r : fmt_trace_damage(t->trace, add_damage, &seen);
}
