/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/api/fields.h"

#include <string.h>

const struct api_field *api_field(const struct api_struct *s, const char *name)
{
	for (unsigned i = 0; i < s->n_fields; i++)
		if (strcmp(s->fields[i].arg.name, name) == 0)
			return &s->fields[i];
	return NULL;
}

bool api_field_value(const struct api_view *v, const struct api_field *f, unsigned i, uint64_t *ret)
{
	size_t at = f->offset + (size_t)i * f->arg.bytes;
	uint64_t value = 0;

	if (f->arg.bytes > 8 || at > v->len || v->len - at < f->arg.bytes)
		return false;
	memcpy(&value, (const uint8_t *)v->bytes + at, f->arg.bytes);
	*ret = api_extended(&f->arg, value);
	return true;
}

bool api_field_counts(const struct api_view *v, const struct api_field *f)
{
	for (unsigned i = 0; i < f->n_when; i++) {
		const struct api_when *w = &f->when[i];
		uint64_t value = UINT64_MAX;

		if (w->outer && v->call)
			value = api_extended(&v->call->args[w->field],
					     v->words[v->call->args[w->field].word]);
		else if (!w->outer)
			api_field_value(v, &v->layout->fields[w->field], 0, &value);
		if (value > 63 || !(w->values >> value & 1))
			return false;
	}
	return true;
}

uint64_t api_field_bytes(const struct api_view *v, const struct api_field *f)
{
	const struct api_length *l = &f->arg.length;
	uint64_t bytes = l->bytes, factor;

	if (l->kind != API_LENGTH_PRODUCT)
		return 0;
	for (unsigned i = 0; i < l->n; i++)
		if (l->factors[i].kind != API_FACTOR_VALUE ||
		    !api_field_value(v, &v->layout->fields[l->factors[i].arg], 0, &factor) ||
		    __builtin_mul_overflow(bytes, factor, &bytes))
			return 0;
	return bytes;
}

uint64_t api_number(const struct api_view *v, const char *name)
{
	const struct api_field *f = api_field(v->layout, name);
	uint64_t value = 0;

	if (f)
		api_field_value(v, f, 0, &value);
	return value;
}
