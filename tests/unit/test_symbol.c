/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/symbol.h"

#include "base/array.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

/* Checks the operation name of a kernel with that symbol. */
static void ck_name(const char *symbol, const char *name)
{
	scoped(fmt_names_freep) struct fmt_names *names = NULL;
	scoped(rec_process_freep) struct rec_process *p = NULL;
	scoped(ring_close) struct made_ring m;
	const struct fmt_template *s;
	int64_t kept = 0;

	ck_assert_int_eq(fmt_names_new(&names), 0);
	ck_assert_int_eq(rec_process_new(names, 100, 1, &p), 0);
	ring_open(&m, p, 0);
	ring_begin(&m, 0, CONTEXT, STREAM, KERNEL);
	ring_out(&m, 0, 0x77);
	ring_blob(&m, 2, CAP_BLOB_BEFORE, symbol, (uint32_t)strlen(symbol));
	ring_call(&m, "cuModuleGetFunction", 0x100, 0x77, 0x200);
	ring_launch(&m, 0x77, STREAM);
	ring_look(&m);
	s = fmt_template(names, p->events[p->n_events - 1].template);
	ck_assert_str_eq(fmt_string(names, s->name, NULL), name);
	ck_assert_int_eq(fmt_template_const(names, s, FMT_KEY_SYMBOL, &kept), symbol != name);
	ck_assert_str_eq(fmt_string(names, (fmt_str)kept, NULL), symbol != name ? symbol : "");
}

START_TEST(symbols_are_demangled)
{
	static const char *const plain[] = {"step", "_Znonsense", "_Z", "cutlass_80_tensorop"};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		ck_name(plain[i], plain[i]);
	if (!rec_symbols_are_read())
		return;
	ck_name("_Z4stepPfi", "step(float*, int)");
	ck_name("_ZN2at6native5scaleIfLi4EEEvPT_", "void at::native::scale<float, 4>(float*)");
}
END_TEST

TESTS("symbol", symbols_are_demangled)
