/* SPDX-License-Identifier: Apache-2.0 */

/* What the parts say of themselves: counts add up, images are listed together, of anything else the
 * first part's word stands. */
#include "formats/run/join/parts.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/run/iterations.h"
#include "formats/trace/facts.h"
#include "formats/trace/images.h"
#include "formats/trace/json.h"

int join_fact(struct join *j, const char *key, const struct text *json)
{
	fmt_str value;
	int r = json->error;

	if (r == 0)
		r = fmt_names_string(j->names, json->data, json->len, &value);
	return r < 0 ? r : fmt_names_fact(j->names, FMT_WHOLE_TRACE, key, value);
}

/* Said anew of the whole, or of no meaning there. */
static bool is_parts_own(const char *key)
{
	static const char *const keys[] = {
		"capture.clock", "capture.part",	"missing_ranks",
		"hosts",	 "missing_parts",	FMT_CLOCKS_KEY,
		FMT_MISSING_KEY, FMT_MISSING_PARTS_KEY, FMT_ITERATIONS_KEY};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static bool is_count(const char *key, const char *value)
{
	return strncmp(key, "capture.", 8) == 0 && *value &&
	       strspn(value, "0123456789") == strlen(value);
}

/* Both lists, without what stands in the first already. */
static int add_images(struct join *j, const char *old, const char *more)
{
	const char *end = more + strlen(more), *element;
	size_t len, n = strlen(old);
	scoped(text_done) struct text json = {0};

	if (!fmt_json_valid(more, strlen(more)) || n < 2)
		return 0;
	text_bytes(&json, old, n - 1);
	while (fmt_json_element(&more, end, &element, &len) == 1) {
		scoped(free_ptr) char *text = strndup(element, len);

		if (!text)
			return -ENOMEM;
		if (strstr(old, text))
			continue;
		text_str(&json, json.len > 1 ? ", " : "");
		text_str(&json, text);
	}
	text_char(&json, ']');
	return join_fact(j, FMT_FACT_IMAGES, &json);
}

static int add(struct join *j, const char *key, const char *value)
{
	const char *old = fmt_fact_value(j->names, FMT_WHOLE_TRACE, key);
	scoped(text_done) struct text json = {0};

	if (old && strcmp(key, FMT_FACT_IMAGES) == 0)
		return add_images(j, old, value);
	if (old && is_count(key, value) && is_count(key, old))
		text_u64(&json, strtoull(old, NULL, 10) + strtoull(value, NULL, 10));
	else if (old)
		return 0;
	else
		text_str(&json, value);
	return join_fact(j, key, &json);
}

static int put_absent(struct join *j)
{
	scoped(text_done) struct text list = {0}, count = {0};
	struct fmt_json json = {.text = &list};
	int r;

	if (j->options->n_absent == 0)
		return 0;
	fmt_json_open(&json, NULL, '[');
	for (size_t i = 0; i < j->options->n_absent; i++)
		fmt_json_str(&json, NULL, j->options->absent[i]);
	fmt_json_close(&json, ']');
	text_u64(&count, j->options->n_absent);
	r = join_fact(j, "missing_parts", &list);
	return r < 0 ? r : join_fact(j, FMT_MISSING_PARTS_KEY, &count);
}

int join_facts(struct join *j)
{
	int r = 0;

	for (size_t i = 0; i < j->options->n_paths && r == 0; i++) {
		const struct fmt_names *n = fmt_trace_names(j->parts[i].trace);
		const struct fmt_fact *fact;

		for (uint32_t k = 0; r == 0 && (fact = fmt_fact(n, FMT_WHOLE_TRACE, k)); k++)
			if (!is_parts_own(fmt_string(n, fact->key, NULL)))
				r = add(j, fmt_string(n, fact->key, NULL),
					fmt_string(n, fact->value, NULL));
	}
	if (r == 0)
		r = put_absent(j);
	return r < 0 ? r : fmt_memberships_missing(j->names, j->run.n_ranks);
}
