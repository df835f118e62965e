/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scope.h"
#include "formats/render/grid.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/part.h"
#include "tools/gputrace/cmd.h"
#include "tools/gputrace/extract_launch.h"
#include "tools/output.h"
#include "tools/trace_arg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { OPT_OP, OPT_GPU, OPT_OUTPUT, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_OP] = {"op", 0, "N",
		    "number of the launch in a mount or in `gputrace diff` (required)"},
	[OPT_GPU] = {"gpu", 0, "N", "GPU that ran it (default: 0)"},
	[OPT_OUTPUT] = {"output", 'o', "DIR", "directory to create (required)"},
	[OPT_JSON] = {"json", 0, NULL, "print the report as JSON"},
	{0},
};

/* The text of tools/repro/repro.c. */
extern const char repro_source[];

/* The folder being written. Adjacent memory is one buffer. */
struct folder {
	const char *path;
	struct fmt_trace *trace;
	const struct extract_launch *launch;
	struct text text; /* of the file `launch` */
	unsigned n_buffers;
	uint64_t buffer_bytes;
	int error; /* the first */
	struct fmt_error err;
};

static void put_file(struct folder *f, const char *name, const void *data, size_t len)
{
	scoped(text_done) struct text path = {0};
	FILE *out;

	text_printf(&path, "%s/%s", f->path, name);
	text_char(&path, 0);
	out = f->error || path.error ? NULL : fopen(path.data, "wb");
	if (!out) {
		f->error = f->error ?: path.error ?: -errno;
		return;
	}
	if (fwrite(data, 1, len, out) != len)
		f->error = -EIO;
	if (fclose(out) != 0 && !f->error)
		f->error = -errno;
}

/* The name of the file with the code. */
static const char *image_name(const struct extract_launch *l)
{
	static const uint8_t fatbin[] = {0x50, 0xed, 0x55, 0xba};

	if (l->image_bytes >= 4 && memcmp(l->image, "\177ELF", 4) == 0)
		return "image.cubin";
	if (l->image_bytes >= 4 && memcmp(l->image, fatbin, 4) == 0)
		return "image.fatbin";
	return "image.ptx";
}

/* Returns the end of the buffer that begins with content `first`; *next is the content after it. */
static uint64_t buffer_end(const struct extract_launch *l, size_t first, size_t *next)
{
	uint64_t end = l->contents[first].address;

	for (*next = first; *next < l->n_contents && l->contents[*next].address <= end; ++*next) {
		const struct extract_content *c = &l->contents[*next];

		if (c->address + c->bytes > end)
			end = c->address + c->bytes;
	}
	return end;
}

static bool same_name(const struct extract_content *a, const struct extract_content *b)
{
	return a->is_known && a->name[0] == b->name[0] && a->name[1] == b->name[1];
}

/* Writes the file of a content, and adds its name; equal contents share a file. */
static void put_content(struct folder *f, size_t i, uint64_t start)
{
	const struct extract_content *c = &f->launch->contents[i];
	scoped(free_ptr) uint8_t *data = NULL;
	size_t same = 0, len;
	char name[64];
	int r;

	if (output_signal())
		f->error = f->error ?: -ECANCELED;
	if (f->error || !c->is_known || (c->is_output && f->launch->seeded))
		return;
	while (same < i && !(same_name(&f->launch->contents[same], c)))
		same++;
	snprintf(name, sizeof(name), "memory-%zu.bin", same);
	text_printf(&f->text, "%s %u %" PRIu64 " %s\n", c->is_output ? "output" : "input",
		    f->n_buffers - 1, c->address - start, name);
	if (same < i)
		return;
	r = fmt_blob_read(f->trace, c->name, &data, &len, &f->err);
	if (r < 0)
		f->error = f->error ?: r;
	else
		put_file(f, name, data, len);
}

/* Lists the words of parameters that are addresses in the buffer. */
static void put_pointers(struct folder *f, uint64_t start, uint64_t end)
{
	const struct extract_launch *l = f->launch;

	for (size_t i = 0; i < l->n_parameters; i++)
		for (size_t at = 0; at + 8 <= l->parameters[i].n; at += 8) {
			uint64_t value;

			memcpy(&value, l->parameters[i].bytes + at, 8);
			if (value >= start && value < end)
				text_printf(&f->text, "pointer %zu %zu %u %" PRIu64 "\n", i, at,
					    f->n_buffers - 1, value - start);
		}
}

/* Lists the buffers with their contents. */
static void put_memory(struct folder *f)
{
	const struct extract_launch *l = f->launch;
	size_t next;

	for (size_t i = 0; i < l->n_contents; i = next) {
		uint64_t start = l->contents[i].address, end = buffer_end(l, i, &next);

		f->n_buffers++;
		f->buffer_bytes += end - start;
		text_printf(&f->text, "buffer %" PRIu64 "\n", end - start);
		for (size_t k = i; k < next; k++)
			put_content(f, k, start);
		put_pointers(f, start, end);
	}
}

static void put_kernel(struct folder *f)
{
	const struct extract_launch *l = f->launch;
	const unsigned *g = l->grid, *b = l->block;

	text_printf(&f->text, "image %s\nkernel %s\n", image_name(l), l->kernel);
	text_printf(&f->text, "grid %u %u %u\nblock %u %u %u\nshared %u\n", g[0], g[1], g[2], b[0],
		    b[1], b[2], l->shared_bytes);
	if (l->cluster[0] > 0)
		text_printf(&f->text, "cluster %u %u %u\n", l->cluster[0], l->cluster[1],
			    l->cluster[2]);
	if (l->cooperative)
		text_str(&f->text, "cooperative 1\n");
	for (size_t i = 0; i < l->n_attributes; i++)
		text_printf(&f->text, "attribute %d %d\n", l->attributes[i].attribute,
			    l->attributes[i].value);
	for (size_t i = 0; i < l->n_parameters; i++) {
		text_str(&f->text, "parameter ");
		for (size_t k = 0; k < l->parameters[i].n; k++)
			text_printf(&f->text, "%02x", l->parameters[i].bytes[k]);
		text_char(&f->text, '\n');
	}
	put_file(f, image_name(l), l->image, l->image_bytes);
}

static int write_folder(struct folder *f)
{
	if (mkdir(f->path, 0777) < 0)
		return -errno;
	text_str(&f->text, "gputrace launch 1\n");
	put_kernel(f);
	if (f->launch->seeded)
		text_str(&f->text, "seeded 1\n");
	put_memory(f);
	if (!f->text.error)
		put_file(f, "launch", f->text.data, f->text.len);
	put_file(f, "repro.c", repro_source, strlen(repro_source));
	return f->error ?: f->text.error;
}

static void put_report(const struct folder *f, const char *output, bool as_json, struct text *out)
{
	const struct extract_launch *l = f->launch;
	struct fmt_json j = {.text = out, .broken = 1};

	if (as_json) {
		fmt_json_open(&j, NULL, '{');
		fmt_json_str(&j, "kernel", l->kernel);
		fmt_json_str(&j, "image", image_name(l));
		fmt_json_u64(&j, "buffers", f->n_buffers);
		fmt_json_u64(&j, "buffer_bytes", f->buffer_bytes);
		fmt_json_bool(&j, "inputs_recorded", !l->seeded);
		fmt_json_close(&j, '}');
		return;
	}
	text_printf(out, "%s: kernel ", output);
	fmt_text_sanitised(out, l->kernel, strlen(l->kernel), 200);
	text_printf(out, ", %s, %u buffers of %s", image_name(l), f->n_buffers,
		    fmt_size(f->buffer_bytes).s);
	if (l->seeded)
		text_str(out, "\nIts inputs were not recorded (record with --digest=launch "
			      "--payloads): it runs on pseudo-random numbers, and its outputs "
			      "are not checked.");
	text_char(out, '\n');
}

static int extract(struct fmt_trace *t, const struct cli_args *args, uint32_t rank, int64_t number)
{
	scoped(output_done) struct output target = {0};
	scoped(extract_launch_done) struct extract_launch launch = {0};
	const char *path = args->operands[0], *output = args->values[OPT_OUTPUT];
	struct folder f = {.trace = t, .launch = &launch};
	scoped(text_done) struct text out = {0};
	struct fmt_error err = {0};
	int r = output_begin(&target, output, 0);

	if (r < 0)
		return output_fail(r, output, 0);
	r = extract_launch_find(t, rank, (fmt_number)number, &launch, &err);
	if (r < 0 && launch.why[0]) {
		cli_error("cannot extract number %" PRId64 " of %s: %s", number, path, launch.why);
		return r == -ERANGE ? CLI_USAGE : CLI_INPUT;
	}
	if (r < 0)
		return cli_fail(r, &err, "extract from", path, NULL);
	f.path = target.trace;
	r = write_folder(&f);
	if (r == 0)
		r = output_commit(&target);
	put_report(&f, output, args->values[OPT_JSON] != NULL, &out);
	text_done(&f.text);
	if (r == -ECANCELED)
		return CLI_FAILED;
	if (r < 0)
		return f.err.what[0] ? cli_fail(r, &f.err, "extract from", path, NULL)
				     : output_fail(r, output, 0);
	if (out.error || fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
		return cli_fail(out.error ? out.error : -EIO, NULL, "write", "the output", NULL);
	return CLI_OK;
}

static int run(const struct cli_args *args)
{
	scoped(fmt_trace_closep) struct fmt_trace *t = NULL;
	int64_t number, gpu, rank;
	int status;

	if (!args->values[OPT_OP] || !args->values[OPT_OUTPUT]) {
		cli_error("extract: missing %s", args->values[OPT_OP] ? "-o DIR" : "--op N");
		return CLI_USAGE;
	}
	if (cli_number(args, &cmd_extract, OPT_OP, 0, INT64_MAX, 0, &number) < 0 ||
	    cli_number(args, &cmd_extract, OPT_GPU, 0, UINT32_MAX, 0, &gpu) < 0)
		return CLI_USAGE;
	status = trace_arg_open(args->operands[0], &t);
	if (status != CLI_OK)
		return status;
	rank = fmt_rank_index(t, gpu);
	if (rank < 0) {
		cli_error("%s has no GPU %" PRId64 "; `gputrace info` lists its GPUs",
			  args->operands[0], gpu);
		return CLI_USAGE;
	}
	status = extract(t, args, (uint32_t)rank, number);
	output_raise();
	return status;
}

const struct cli_command cmd_extract = {
	.name = "extract",
	.operands = "TRACE",
	.min_operands = 1,
	.max_operands = 1,
	.what = "Write one kernel launch as a standalone program",
	.options = options,
	.notes = "DIR contains the code image, memory contents, and a C program that launches\n"
		 "the kernel and checks its outputs: gcc repro.c -ldl && ./a.out --repeat=100\n"
		 "gpureplay DIR does the same. Addresses in memory are not rewritten.\n",
	.run = run,
};
