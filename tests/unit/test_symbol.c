/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/process/symbol.h"

#include "base/array.h"
#include "tests/unit/rings.h"
#include "tests/unit/test.h"

/* Checks the operation name of a kernel with that symbol. */
static void ck_name(const char *symbol, const char *name)
{
	scoped(recording_end) struct recording r = {0};
	const struct fmt_template *s;
	int64_t kept = 0;

	recording_begin(&r, 0);
	ring_out(&r.ring, 0, 0x77);
	ring_blob(&r.ring, 2, CAP_BLOB_BEFORE, symbol, (uint32_t)strlen(symbol));
	ring_call(&r.ring, "cuModuleGetFunction", 0x100, 0x77, 0x200);
	ring_launch(&r.ring, 0x77, STREAM);
	ring_look(&r.ring);
	s = fmt_template(r.names, r.process->events[r.process->n_events - 1].template);
	ck_assert_str_eq(fmt_string(r.names, s->name, NULL), name);
	ck_assert_int_eq(fmt_template_const(r.names, s, FMT_KEY_SYMBOL, &kept), symbol != name);
	ck_assert_str_eq(fmt_string(r.names, (fmt_str)kept, NULL), symbol != name ? symbol : "");
}

TEST(symbols_are_demangled)
{
	static const char *const plain[] = {"step", "_Znonsense", "_Z", "cutlass_80_tensorop"};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		ck_name(plain[i], plain[i]);
	if (!rec_symbols_can_demangle())
		return;
	ck_name("_Z4stepPfi", "step(float*, int)");
	ck_name("_ZN2at6native5scaleIfLi4EEEvPT_", "void at::native::scale<float, 4>(float*)");
}
