/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/call.h"

#include "formats/api/fields.h"

static int find_arg(const struct api_call *api, const char *name)
{
	for (int i = 0; i < api->n_args; i++)
		if (strcmp(api->args[i].name, name) == 0)
			return i;
	return -1;
}

int rec_call_arg(const struct rec_call *c, const char *name)
{
	uint64_t hash = ((uintptr_t)c->api + 3 * (uintptr_t)name) * 0x9e3779b97f4a7c15u;
	struct rec_found_arg *found = &c->process->memo.found_args[hash >> 56];

	if (!c->api)
		return -1;
	if (found->api != c->api || found->name != name)
		*found = (struct rec_found_arg){c->api, name, find_arg(c->api, name)};
	return found->arg;
}

int64_t rec_call_value(const struct rec_call *c, const char *name, int64_t otherwise)
{
	int arg = rec_call_arg(c, name);

	return arg < 0 ? otherwise : rec_call_value_at(c, arg);
}

const struct rec_blob *rec_call_blob_at(const struct rec_call *c, int arg, enum cap_blob_kind what)
{
	for (uint32_t i = 0; i < c->n_blobs; i++)
		if (c->blobs[i].arg == arg && c->blobs[i].what == what)
			return &c->blobs[i];
	return NULL;
}

const struct rec_blob *rec_call_blob(const struct rec_call *c, const char *name,
				     enum cap_blob_kind what)
{
	int arg = rec_call_arg(c, name);

	return arg < 0 ? NULL : rec_call_blob_at(c, arg, what);
}

int rec_blob_number(const struct rec_blob *b, size_t offset, size_t bytes, uint64_t *ret)
{
	uint64_t v = 0;

	if (!b || offset > b->len || b->len - offset < bytes || bytes > 8)
		return 0;
	memcpy(&v, b->data + offset, bytes);
	*ret = v;
	return 1;
}

int rec_call_struct(const struct rec_call *c, const char *name, struct api_view *ret)
{
	int arg = rec_call_arg(c, name);
	const struct rec_blob *b = arg < 0 ? NULL : rec_call_blob_at(c, arg, CAP_BLOB_BEFORE);

	if (!b || !c->api->args[arg].layout)
		return 0;
	*ret = (struct api_view){c->api->args[arg].layout, b->data, b->len};
	return 1;
}

/* Returns the length of a name without version and variant suffix: for cuMemcpyHtoDAsync_v2_ptsz
 * that of cuMemcpyHtoDAsync. */
static size_t stem_of(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0))
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '2' &&
	    name[n - 1] <= '9')
		n -= 3;
	return n;
}

int rec_call_is(const struct rec_call *c, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(c->name, stem, n) == 0 && stem_of(c->name) == n;
}
