/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputrace/extract_launch.h"

#include "base/array.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"
#include "replay/device/build.h"
#include "replay/device/recorded.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* The launch to extract, and the process that made it. */
struct extract_search {
	struct fmt_trace *trace;
	struct rex_process process;
	const struct rex_call *call; /* has the kernel and its parameters */
	uint64_t correlation;
	uint32_t rank;
	struct extract_launch *ret;
};

void extract_launch_done(struct extract_launch *l)
{
	for (size_t i = 0; i < l->n_parameters; i++)
		free(l->parameters[i].bytes);
	free(l->parameters);
	free(l->contents);
	free(l->kernel);
	free(l->image);
	memset(l, 0, sizeof(*l));
}

/* Sets ret->why, and returns `r`. */
__attribute__((format(printf, 3, 4))) static int set_reason(struct extract_search *s, int r,
							    const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->ret->why, sizeof(s->ret->why), format, args);
	va_end(args);
	return r;
}

/* ---- the call */

/* Finds the slice that contains the operation, and the operation; the caller frees the slice. */
static int find_op(struct extract_search *s, fmt_number number, struct fmt_slice **slice,
		   const struct fmt_event **ret, struct fmt_error *err)
{
	uint32_t n = fmt_trace_rank(s->trace, s->rank)->n_slices;
	uint32_t i = (uint32_t)array_bound(
		k, 0, n, fmt_trace_slice(s->trace, s->rank, (uint32_t)k)->first_number <= number);
	const struct fmt_template *t;
	int r;

	if (i == 0)
		return set_reason(s, -ERANGE, "no operation %" PRIu64, number);
	r = fmt_slice_load(s->trace, s->rank, i - 1,
			   FMT_WANT_CALLS | FMT_WANT_OPS | FMT_WANT_DIGESTS, slice, err);
	if (r < 0)
		return r;
	if (number - (*slice)->first_number >= (*slice)->n_events)
		return set_reason(s, -ERANGE, "no operation %" PRIu64, number);
	*ret = &(*slice)->events[number - (*slice)->first_number];
	t = fmt_template(fmt_trace_names(s->trace), (*ret)->template);
	return t && t->kind == FMT_KERNEL
		       ? 0
		       : set_reason(s, -ENOTSUP, "%" PRIu64 " is not a kernel launch", number);
}

/* Reads the process, and finds the call that has the kernel of the operation. */
static int find_call(struct extract_search *s, struct fmt_error *err)
{
	scoped(rex_processes_done) struct rex_processes all = {0};
	int r = rex_processes_find(s->trace, &all);

	if (r == 0)
		r = rex_process_read(s->trace, all.by_rank[s->rank],
				     (struct rex_iteration_range){FMT_BEFORE, FMT_AFTER},
				     &s->process, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->process.n_calls && s->correlation && !s->call; i++)
		if (s->process.calls[i].correlation == s->correlation)
			s->call = &s->process.calls[i];
	if (!s->call)
		return set_reason(s, -ENOENT, "its call is not recorded");
	if (s->call->api->class == API_CLASS_GRAPH_LAUNCH)
		return set_reason(s, -ENOTSUP, "a graph; expected the launch of one kernel");
	return 0;
}

/* Prefixes of the argument keys of a launch. */
static const char *const places[] = {"", "config."};

static int64_t number_of(const struct extract_search *s, const char *key)
{
	int64_t value = 0;
	char name[REX_KEY_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(name, sizeof(name), "%s%s", places[i], key);
		if (rex_args_int(&s->call->args, name, NULL, &value))
			break;
	}
	return value;
}

/* Cooperative launches and clusters; other attributes do not change what a kernel computes. */
static void read_attributes(struct extract_search *s)
{
	struct extract_launch *l = s->ret;

	l->cooperative = strncmp(s->call->api->name, "cuLaunchCooperative", 19) == 0;
	for (int64_t i = 0, n = number_of(s, "numAttrs"); i < n; i++) {
		static const char *const sides[] = {"x", "y", "z"};
		const char *id;
		char key[64];

		snprintf(key, sizeof(key), "config.attrs[%d].id", (int)i);
		id = rex_args_text(&s->call->args, key, NULL);
		if (!id)
			break;
		snprintf(key, sizeof(key), "attrs[%d].value.cooperative", (int)i);
		l->cooperative |= strcmp(id, "COOPERATIVE") == 0 && number_of(s, key) != 0;
		for (size_t k = 0; k < 3 && strcmp(id, "CLUSTER_DIMENSION") == 0; k++) {
			snprintf(key, sizeof(key), "attrs[%d].value.clusterDim.%s", (int)i,
				 sides[k]);
			l->cluster[k] = (unsigned)number_of(s, key);
		}
	}
}

static int read_size(struct extract_search *s)
{
	static const char *const keys[] = {"gridDimX",	"gridDimY",  "gridDimZ",
					   "blockDimX", "blockDimY", "blockDimZ"};

	for (size_t i = 0; i < 6; i++)
		(i < 3 ? s->ret->grid : s->ret->block)[i % 3] = (unsigned)number_of(s, keys[i]);
	s->ret->shared_bytes = (unsigned)number_of(s, "sharedMemBytes");
	read_attributes(s);
	return s->ret->grid[0] > 0 ? 0
				   : set_reason(s, -ENOTSUP, "launched by %s", s->call->api->name);
}

/* ---- the code */

/* Returns the last call before call `end` that returned the handle. */
static const struct rex_call *maker_of(const struct extract_search *s, int64_t handle, size_t end)
{
	for (size_t i = end; i-- > 0;) {
		const struct rex_call *c = &s->process.calls[i];
		char key[REX_KEY_BYTES];
		int64_t value;

		for (unsigned k = 0; k < c->api->n_args; k++)
			if (c->api->args[k].direction == API_DIRECTION_OUT &&
			    api_is_handle((enum api_meaning)c->api->args[k].meaning) &&
			    rex_args_int(&c->args, rex_key(key, c->api->args[k].name, "out"), NULL,
					 &value) &&
			    value == handle)
				return c;
	}
	return NULL;
}

static void note_attributes(struct extract_search *s, int64_t handle)
{
	struct extract_launch *l = s->ret;

	for (const struct rex_call *c = s->process.calls; c < s->call; c++) {
		const struct api_arg *a = c->api->n_args > 2 ? &c->api->args[1] : NULL;
		int64_t of = 0, attribute, value;

		if ((strcmp(c->api->name, "cuFuncSetAttribute") != 0 &&
		     strcmp(c->api->name, "cuKernelSetAttribute") != 0) ||
		    (!rex_args_int(&c->args, "hfunc", NULL, &of) &&
		     !rex_args_int(&c->args, "kernel", NULL, &of)))
			continue;
		a = strcmp(c->api->name, "cuFuncSetAttribute") == 0 ? a : &c->api->args[0];
		if (of != handle || l->n_attributes == ARRAY_SIZE(l->attributes) ||
		    !rex_args_int(&c->args, a->name, a, &attribute) ||
		    (!rex_args_int(&c->args, "value", NULL, &value) &&
		     !rex_args_int(&c->args, "val", NULL, &value)))
			continue;
		l->attributes[l->n_attributes].attribute = (int)attribute;
		l->attributes[l->n_attributes++].value = (int)value;
	}
}

static int read_image(struct extract_search *s, const struct rex_call *c)
{
	struct rex_context context = {.process = &s->process};
	struct rex_frame b = {.context = &context, .call = c};
	void *image = NULL;
	int r = rex_build_image(&b, &image, &s->ret->image_bytes);

	if (r < 0)
		set_reason(s, r, "%s", b.why);
	s->ret->image = r == 0 ? malloc(s->ret->image_bytes + 1) : NULL;
	if (s->ret->image)
		memcpy(s->ret->image, image, s->ret->image_bytes);
	rex_frame_done(&b);
	return r < 0 ? r : s->ret->image ? 0 : -ENOMEM;
}

/* A name must be valid as a line of a file that programs read. */
static bool is_line(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return false;
	return true;
}

/* Finds the loaded image from function, kernel, module and library. */
static int find_code(struct extract_search *s)
{
	static const enum api_meaning from[] = {API_MEANING_KERNEL, API_MEANING_MODULE,
						API_MEANING_LIBRARY};
	size_t end = (size_t)(s->call - s->process.calls);
	int64_t handle = number_of(s, "f") ?: number_of(s, "func") ?: number_of(s, "kern");

	note_attributes(s, handle);
	for (int hops = 0; hops < 4; hops++) {
		const struct rex_call *c = maker_of(s, handle, end);
		const char *name = c ? rex_args_text(&c->args, "name.in", NULL) : NULL;
		bool found = false;

		if (!c)
			break;
		if (!s->ret->kernel && name)
			s->ret->kernel = strdup(name);
		if (name && !is_line(name))
			return set_reason(s, -EBADMSG, "the kernel's name has control characters");
		if (rex_args_text(&c->args, "image.hash", NULL))
			return s->ret->kernel ? read_image(s, c)
					      : set_reason(s, -ENOENT, "the kernel has no name");
		for (size_t i = 0; i < ARRAY_SIZE(from) && !found; i++)
			for (unsigned k = 0; k < c->api->n_args && !found; k++)
				found = c->api->args[k].meaning == from[i] &&
					c->api->args[k].direction == API_DIRECTION_NONE &&
					rex_args_int(&c->args, c->api->args[k].name, NULL, &handle);
		if (!found)
			break;
		end = (size_t)(c - s->process.calls);
	}
	return set_reason(s, -ENOENT, "the loading of its code is not recorded");
}

/* ---- parameters */

static int read_parameters(struct extract_search *s)
{
	struct rex_context context = {.process = &s->process};
	struct rex_frame b = {.context = &context, .call = s->call};
	const char *layout = NULL;
	struct extract_launch *l = s->ret;
	void **pointers = NULL;
	char prefix[64], key[96], *end;
	int r = rex_objects_new(&context.objects);

	for (size_t i = 0; i < ARRAY_SIZE(places) && !layout; i++) {
		snprintf(prefix, sizeof(prefix), "%skernelParams", places[i]);
		snprintf(key, sizeof(key), "%s.layout", prefix);
		layout = rex_args_text(&s->call->args, key, NULL);
	}
	if (r == 0)
		r = rex_build_params(&b, prefix, (void **)&pointers);
	if (r < 0)
		set_reason(s, r, "%s", b.why);
	for (const char *at = layout; r == 0 && *at; at = end + strspn(end, " ")) {
		size_t n;

		strtoull(at, &end, 10);
		n = strtoull(end + 1, &end, 10);
		if (array_reserve(&l->parameters, l->n_parameters + 1, &l->parameters_cap) < 0)
			r = -ENOMEM;
		if (r == 0) {
			uint8_t *bytes = malloc(n + 1);

			if (bytes)
				memcpy(bytes, pointers[l->n_parameters], n);
			r = bytes ? 0 : -ENOMEM;
			l->parameters[l->n_parameters++] = (struct extract_parameter){bytes, n};
		}
	}
	rex_frame_done(&b);
	rex_objects_free(context.objects);
	return r;
}

/* ---- memory */

/* Finds the range of an allocation of the process, by its number, or by an address in it. */
static bool find_allocation(const struct extract_search *s, uint64_t number, uint64_t address,
			    uint64_t *start, uint64_t *bytes)
{
	const struct fmt_names *names = fmt_trace_names(s->trace);
	bool found = false;

	for (size_t i = 0; i < s->process.n_ranks; i++) {
		const char *at = fmt_fact_value(names, s->process.ranks[i], FMT_FACT_ALLOCATIONS);
		const char *end = at ? at + strlen(at) : NULL, *object;
		size_t len;

		while (at && fmt_json_element(&at, end, &object, &len)) {
			uint64_t a = (uint64_t)fmt_json_member_i64(object, len, "address", 0);
			uint64_t n = (uint64_t)fmt_json_member_i64(object, len, "bytes", 0);
			const char *kind;
			size_t kind_len = fmt_json_member_text(object, len, "kind", &kind);

			if (number ? fmt_json_member_i64(object, len, "id", 0) != (int64_t)number
				   : address - a >= n || (kind_len == 11 && *kind == 'r'))
				continue; /* also reservations */
			*start = a;
			*bytes = n;
			found = true; /* the last one allocated there */
		}
	}
	return found;
}

static int add_content(struct extract_launch *l, const struct extract_content *c)
{
	if (array_reserve(&l->contents, l->n_contents + 1, &l->contents_cap) < 0)
		return -ENOMEM;
	l->contents[l->n_contents++] = *c;
	return 0;
}

/* Lists the buffers that the launch read and wrote, by its digests, with recorded contents. */
static int read_contents(struct extract_search *s, const struct fmt_slice *slice, fmt_number number,
			 struct fmt_error *err)
{
	scoped(free_ptr) struct fmt_digest *list = NULL;
	size_t n = 0;
	int r = fmt_contents_read(s->trace, s->rank, &list, &n, err);

	for (size_t i = 0; i < slice->n_digests && r == 0; i++) {
		const struct fmt_digest *d = &slice->digests[i];
		struct extract_content c = {.bytes = d->length_bytes,
					    .is_output = d->access == FMT_WRITTEN};
		uint64_t start, bytes;

		if ((d->op != number &&
		     (d->op < slice->first_number ||
		      d->op - slice->first_number >= slice->n_events ||
		      slice->events[d->op - slice->first_number].correlation != s->correlation)) ||
		    d->access > FMT_WRITTEN ||
		    !find_allocation(s, d->allocation, 0, &start, &bytes))
			continue;
		c.address = start + d->offset_bytes;
		for (size_t k = 0; k < n; k++) {
			if (list[k].op != d->op || list[k].access != d->access ||
			    list[k].allocation != d->allocation ||
			    list[k].offset_bytes != d->offset_bytes)
				continue;
			c.is_known = list[k].length_bytes == d->length_bytes &&
				     fmt_blob_is_listed(s->trace, list[k].digest);
			memcpy(c.name, list[k].digest, sizeof(c.name));
		}
		s->ret->seeded |= !c.is_output && !c.is_known;
		r = add_content(s->ret, &c);
	}
	return r;
}

static bool is_covered(const struct extract_launch *l, uint64_t address)
{
	for (size_t i = 0; i < l->n_contents; i++)
		if (address - l->contents[i].address < l->contents[i].bytes)
			return true;
	return false;
}

/* Adds memory that parameters point to but that was not digested. */
static int add_reached(struct extract_search *s)
{
	struct extract_launch *l = s->ret;
	int r = 0;

	for (size_t i = 0; i < l->n_parameters && r == 0; i++)
		for (size_t at = 0; at + 8 <= l->parameters[i].n && r == 0; at += 8) {
			struct extract_content c = {0};
			uint64_t value;

			memcpy(&value, l->parameters[i].bytes + at, 8);
			if (value < 4096 || is_covered(l, value) ||
			    !find_allocation(s, 0, value, &c.address, &c.bytes))
				continue;
			l->seeded = true;
			r = add_content(l, &c);
		}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct extract_content *x = a, *y = b;

	return array_order(x->address, y->address) ?: array_order(x->is_output, y->is_output);
}

static int find_all(struct extract_search *s, fmt_number number, struct fmt_slice **slice,
		    struct fmt_error *err)
{
	const struct fmt_event *op = NULL;
	int r = find_op(s, number, slice, &op, err);

	if (r < 0)
		return r;
	s->correlation = op->correlation;
	r = find_call(s, err);
	if (r == 0)
		r = read_size(s);
	if (r == 0)
		r = find_code(s);
	if (r == 0)
		r = read_parameters(s);
	if (r == 0)
		r = read_contents(s, *slice, number, err);
	return r < 0 ? r : add_reached(s);
}

int extract_launch_find(struct fmt_trace *t, uint32_t rank, fmt_number number,
			struct extract_launch *ret, struct fmt_error *err)
{
	scoped(fmt_slice_freep) struct fmt_slice *slice = NULL;
	struct extract_search s = {.trace = t, .rank = rank, .ret = ret};
	int r = find_all(&s, number, &slice, err);

	if (ret->n_contents > 0)
		qsort(ret->contents, ret->n_contents, sizeof(ret->contents[0]), by_address);
	rex_process_done(&s.process);
	return r;
}
