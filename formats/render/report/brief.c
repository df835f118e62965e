/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/brief.h"

#include "base/array.h"
#include "base/scope.h"

static bool starts_with(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(s, with, n) == 0;
}

/* ---- forms of one name */

/* Returns the index of the bracket that the last byte of `s`, a ')', closes; or 0. */
static size_t opening_bracket(const char *s, size_t len)
{
	int depth = 0;

	for (size_t i = len; i-- > 0;) {
		depth += s[i] == ')';
		depth -= s[i] == '(';
		if (depth == 0)
			return i;
	}
	return 0;
}

/* Returns a name without "void " and without parameters. A bracket after a blank contains no
 * parameters: "Memcpy HtoD (Pageable -> Device)". */
static struct fmt_brief_form without_parameters(struct fmt_brief_form f)
{
	size_t at;

	if (starts_with(f.s, f.len, "void ")) {
		f.s += 5;
		f.len -= 5;
	}
	if (f.len == 0 || f.s[f.len - 1] != ')')
		return f;
	at = opening_bracket(f.s, f.len);
	if (at > 0 && f.s[at - 1] != ' ' &&
	    !starts_with(f.s + at, f.len - at, "(anonymous namespace)"))
		f.len = at;
	return f;
}

/* Finds the start of the function's own name, after its namespaces, and its end, before template
 * arguments and parameters. */
static void find_function(const struct fmt_brief_form *f, size_t *start, size_t *end)
{
	static const char anonymous[] = "(anonymous namespace)";

	*start = 0;
	for (*end = 0; *end < f->len && f->s[*end] != '<'; ++*end) {
		if (starts_with(f->s + *end, f->len - *end, anonymous))
			*end += sizeof(anonymous) - 2;
		else if (f->s[*end] == '(' && *end > 0 && f->s[*end - 1] != ' ')
			break;
		else if (starts_with(f->s + *end, f->len - *end, "::"))
			*start = *end + 2;
	}
}

static struct fmt_brief_form without_namespaces(struct fmt_brief_form f)
{
	size_t start, end;

	find_function(&f, &start, &end);
	if (start < end) {
		f.s += start;
		f.len -= start;
	}
	return f;
}

/* The name of the function alone, without the prefixes of NCCL's kernels. */
static struct fmt_brief_form plain_of(struct fmt_brief_form f)
{
	static const char *const prefixes[] = {"ncclDevKernel_", "ncclKernel_"};
	size_t start, end;

	find_function(&f, &start, &end);
	if (start < end) {
		f.s += start;
		f.len = end - start;
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (f.len > n && starts_with(f.s, f.len, prefixes[i])) {
			f.s += n;
			f.len -= n;
		}
	}
	return f;
}

/* ---- names in one table */

static int compare_bytes(const char *a, size_t n, const char *b, size_t m)
{
	int order = memcmp(a, b, n < m ? n : m);

	return order ?: array_order(n, m);
}

static int by_key(const void *a, const void *b)
{
	return array_order(((const struct fmt_brief_name *)a)->key,
			   ((const struct fmt_brief_name *)b)->key);
}

static int by_core(const void *a, const void *b)
{
	const struct fmt_brief_name *x = a, *y = b;
	int order = compare_bytes(x->core.s, x->core.len, y->core.s, y->core.len);

	return order ?: compare_bytes(x->s, x->len, y->s, y->len);
}

static int by_plain(const void *a, const void *b)
{
	const struct fmt_brief_name *x = a, *y = b;
	int order = compare_bytes(x->plain.s, x->plain.len, y->plain.s, y->plain.len);

	return order ?: compare_bytes(x->s, x->len, y->s, y->len);
}

static bool is_same(const struct fmt_brief_name *a, const struct fmt_brief_name *b)
{
	return compare_bytes(a->s, a->len, b->s, b->len) == 0;
}

static size_t common_prefix(const struct fmt_brief_form *a, const struct fmt_brief_form *b)
{
	size_t n = 0;

	while (n < a->len && n < b->len && a->s[n] == b->s[n])
		n++;
	return n;
}

static void note_difference(struct fmt_brief_form *a, struct fmt_brief_form *b)
{
	size_t n = common_prefix(a, b);

	a->differs = n > a->differs ? n : a->differs;
	b->differs = n > b->differs ? n : b->differs;
}

/* Shortens core forms longer than `most` by `shorter`, except those that would become equal to
 * others. */
static void shorten_cores(struct fmt_brief *b, size_t most,
			  struct fmt_brief_form (*shorter)(struct fmt_brief_form))
{
	for (size_t i = 0; i < b->n; i++) {
		b->names[i].longer = b->names[i].core;
		if (b->names[i].core.len > most)
			b->names[i].core = shorter(b->names[i].core);
	}
	qsort(b->names, b->n, sizeof(*b->names), by_core);
	for (size_t i = 0, end; i < b->n; i = end) {
		bool differ = false;

		for (end = i + 1; end < b->n; end++) {
			if (compare_bytes(b->names[i].core.s, b->names[i].core.len,
					  b->names[end].core.s, b->names[end].core.len) != 0)
				break;
			differ |= !is_same(&b->names[i], &b->names[end]);
		}
		for (size_t k = i; differ && k < end; k++)
			b->names[k].core = b->names[k].longer;
	}
}

static void shorten_colliding(struct fmt_brief *b, size_t most)
{
	shorten_cores(b, 0, without_parameters);
	shorten_cores(b, most, without_namespaces);
	qsort(b->names, b->n, sizeof(*b->names), by_core);
	for (size_t i = 1; i < b->n; i++)
		if (!is_same(&b->names[i - 1], &b->names[i]))
			note_difference(&b->names[i - 1].core, &b->names[i].core);
}

static void number_equal_names(struct fmt_brief *b)
{
	qsort(b->names, b->n, sizeof(*b->names), by_plain);
	for (size_t i = 0; i < b->n; i++)
		b->names[i].is_plain = b->names[i].plain.len > 0;
	for (size_t i = 1; i < b->n; i++) {
		struct fmt_brief_name *x = &b->names[i - 1], *y = &b->names[i];

		if (is_same(x, y))
			continue;
		if (compare_bytes(x->plain.s, x->plain.len, y->plain.s, y->plain.len) == 0)
			x->is_plain = y->is_plain = false;
		note_difference(&x->plain, &y->plain);
	}
}

/* ---- short forms */

/* Moves an index to the begin of a character. */
static size_t at_character(const char *s, size_t len, size_t i)
{
	while (i < len && ((unsigned char)s[i] & 0xc0) == 0x80)
		i++;
	return i;
}

/* Returns the start of the word that contains the index, if it is at most `most` bytes before
 * it. */
static size_t word_at(const char *s, size_t at, size_t most)
{
	for (size_t i = at; i > 0 && at - i <= most; i--)
		if (strchr("<,: (", s[i - 1]))
			return i;
	return at;
}

static void put_range(const struct fmt_brief_form *f, size_t from, size_t to, struct text *out)
{
	from = at_character(f->s, f->len, from);
	to = at_character(f->s, f->len, to);
	if (to > from)
		text_bytes(out, f->s + from, to - from);
}

static void put_head(const struct fmt_brief_form *f, size_t most, struct text *out)
{
	put_range(f, 0, most > 0 ? most - 1 : 0, out);
	text_str(out, "…");
}

/* Appends head and tail, or the head and the text after the difference. */
static void put_form(const struct fmt_brief_form *f, size_t most, struct text *out)
{
	size_t head = most * 2 / 3, tail = most - head - 1, from;

	if (f->len <= most) {
		put_range(f, 0, f->len, out);
		return;
	}
	if (most < 8) {
		put_head(f, most, out);
		return;
	}
	if (f->differs >= head && f->differs < f->len - tail) {
		head = most / 4;
		tail = most - head - 1;
		from = word_at(f->s, f->differs, tail / 2);
		put_range(f, 0, head, out);
		text_str(out, "…");
		put_range(f, from, from + tail < f->len ? from + tail - 1 : f->len, out);
		text_str(out, from + tail < f->len ? "…" : "");
		return;
	}
	put_range(f, 0, head, out);
	text_str(out, "…");
	put_range(f, f->len - tail, f->len, out);
}

/* A short form, and its name. */
struct shown {
	size_t at, len; /* offset and length in the buffer of all texts */
	size_t name;
};

static int by_text(const void *a, const void *b, void *texts)
{
	const struct shown *x = a, *y = b;
	const char *s = texts;

	return compare_bytes(s + x->at, x->len, s + y->at, y->len) ?: array_order(x->name, y->name);
}

/* Numbers names whose short forms are still equal. */
static int number_equal(struct fmt_brief *b, size_t most)
{
	scoped(free_ptr) struct shown *shown = calloc(b->n + 1, sizeof(*shown));
	scoped(text_done) struct text all = {0};

	if (!shown)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		shown[i] = (struct shown){.at = all.len, .name = i};
		put_form(&b->names[i].core, most, &all);
		shown[i].len = all.len - shown[i].at;
	}
	if (all.error)
		return all.error;
	qsort_r(shown, b->n, sizeof(*shown), by_text, all.data);
	for (size_t i = 1, ordinal = 1; i < b->n; i++) {
		struct fmt_brief_name *x = &b->names[shown[i - 1].name];
		struct fmt_brief_name *y = &b->names[shown[i].name];

		if (compare_bytes(all.data + shown[i - 1].at, shown[i - 1].len,
				  all.data + shown[i].at, shown[i].len) != 0) {
			ordinal = 1;
			continue;
		}
		ordinal += !is_same(x, y);
		x->ordinal = ordinal == 2 && x->ordinal == 0 ? 1 : x->ordinal;
		y->ordinal = ordinal > 1 ? (uint32_t)ordinal : 0;
	}
	return 0;
}

int fmt_brief_add(struct fmt_brief *b, uint32_t key, const char *s, size_t len)
{
	struct fmt_brief_name name = {.key = key, .s = s, .len = len, .core = {s, len, 0}};

	name.plain = plain_of(without_parameters(name.core));
	if (array_reserve(&b->names, b->n + 1, &b->cap) < 0)
		return -ENOMEM;
	b->names[b->n++] = name;
	return 0;
}

int fmt_brief_shorten(struct fmt_brief *b, size_t most)
{
	size_t kept = 0;

	if (b->n == 0)
		return 0;
	qsort(b->names, b->n, sizeof(*b->names), by_key);
	for (size_t i = 0; i < b->n; i++)
		if (kept == 0 || b->names[i].key != b->names[kept - 1].key)
			b->names[kept++] = b->names[i];
	b->n = kept;
	shorten_colliding(b, most);
	number_equal_names(b);
	qsort(b->names, b->n, sizeof(*b->names), by_key);
	return most > 0 ? number_equal(b, most) : 0;
}

static const struct fmt_brief_name *name_of(const struct fmt_brief *b, uint32_t key)
{
	const struct fmt_brief_name wanted = {.key = key};

	return b->n ? bsearch(&wanted, b->names, b->n, sizeof(wanted), by_key) : NULL;
}

void fmt_brief_put(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out)
{
	const struct fmt_brief_name *name = name_of(b, key);

	if (!name)
		return;
	put_form(&name->core, most, out);
	if (name->ordinal)
		text_printf(out, " #%u", name->ordinal);
}

void fmt_brief_label(const struct fmt_brief *b, uint32_t key, size_t most, struct text *out)
{
	const struct fmt_brief_name *name = name_of(b, key);
	const struct fmt_brief_form *form;

	if (!name)
		return;
	form = name->is_plain ? &name->plain : &name->core;
	if (name->is_plain && form->len > most && form->differs + 4 < most)
		put_head(form, most, out);
	else
		put_form(form, most, out);
}

void fmt_brief_done(struct fmt_brief *b)
{
	free(b->names);
	*b = (struct fmt_brief){0};
}
