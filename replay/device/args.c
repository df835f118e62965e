/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/device/args.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The argument and its value; NULL: not found. */
static const struct fmt_arg *find_arg(const struct rex_args *args, const char *key, int64_t *value)
{
	uint32_t varying = 0;

	for (uint32_t i = 0; i < args->template->n_args; i++) {
		const struct fmt_arg *a = &args->template->args[i];

		if (strcmp(fmt_string(args->names, a->key, NULL), key) == 0) {
			*value = a->varies ? args->values[varying] : a->value;
			return a;
		}
		varying += a->varies;
	}
	return NULL;
}

int64_t rex_args_result(const struct rex_args *args)
{
	uint32_t varying = 0;
	int64_t result = 0;

	for (uint32_t i = 0; i < args->template->n_args; i++) {
		const struct fmt_arg *a = &args->template->args[i];

		if (a->type == FMT_INT &&
		    strcmp(fmt_string(args->names, a->key, NULL), "result") == 0)
			result = a->varies ? args->values[varying] : a->value;
		varying += a->varies;
	}
	return result;
}

static bool value_named(const struct api_enum *e, const char *name, int64_t *ret)
{
	for (uint16_t i = 0; e && i < e->n_values; i++)
		if (strcmp(e->values[i].name, name) == 0) {
			*ret = e->values[i].value;
			return true;
		}
	return false;
}

bool rex_args_int(const struct rex_args *args, const char *key, const struct api_arg *a,
		  int64_t *ret)
{
	int64_t value;
	const struct fmt_arg *found = find_arg(args, key, &value);

	if (!found)
		return false;
	if (found->type == FMT_INT) {
		*ret = value;
		return true;
	}
	return found->type == FMT_STRING && a &&
	       value_named(a->values, fmt_string(args->names, (fmt_str)value, NULL), ret);
}

const char *rex_args_text(const struct rex_args *args, const char *key, size_t *len)
{
	int64_t value;
	const struct fmt_arg *found = find_arg(args, key, &value);

	if (!found || (found->type != FMT_STRING && found->type != FMT_JSON))
		return NULL;
	return fmt_string(args->names, (fmt_str)value, len);
}

bool rex_args_real(const struct rex_args *args, const char *key, double *ret)
{
	const char *text = rex_args_text(args, key, NULL);
	int64_t value;

	if (text) {
		*ret = strtod(text, NULL); /* also "inf" and "nan" */
		return true;
	}
	if (!rex_args_int(args, key, NULL, &value))
		return false;
	*ret = (double)value;
	return true;
}

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t from_hex(const char *text, size_t len, uint8_t *ret, size_t n)
{
	size_t i = 0;

	for (; i < n && 2 * i + 1 < len; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return i;
}

static size_t from_list(const char *text, size_t width, uint8_t *ret, size_t n)
{
	size_t i = 0;
	char *end;

	for (const char *at = text + 1; n - i >= width; at = end, i += width) {
		uint64_t value;

		at += strspn(at, ", ");
		value = strtoull(at, &end, 10);
		if (end == at)
			break;
		memcpy(ret + i, &value, width < 8 ? width : 8);
	}
	return i;
}

size_t rex_args_bytes(const struct rex_args *args, const char *key, size_t width, void *ret,
		      size_t n)
{
	size_t len;
	const char *text = rex_args_text(args, key, &len);
	int64_t value;

	if (text)
		return text[0] == '[' ? from_list(text, width, ret, n)
				      : from_hex(text, len, ret, n);
	if (!rex_args_int(args, key, NULL, &value))
		return 0;
	n = n < sizeof(value) ? n : sizeof(value);
	memcpy(ret, &value, n);
	return n;
}
