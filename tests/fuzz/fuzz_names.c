/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/names_code.h"

#include "base/array.h"
#include "base/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The payload of a names chunk; names that were read must survive writing and reading. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint32_t ranks[] = {0, 1};
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	scoped(fmt_names_freep) struct fmt_names *again = NULL;
	scoped(text_done) struct text t = {0};
	struct fmt_names_decoder reading = {ranks, ARRAY_SIZE(ranks), fmt_names_reserve(len)};
	struct fmt_cursor c = fmt_cursor(data, len);

	if (fmt_names_new(&n) < 0 || fmt_names_new(&again) < 0)
		return 0;
	if (fmt_names_get(&c, &reading, n) < 0)
		return 0;
	if (fmt_names_put(n, &t) < 0)
		return 0;
	c = fmt_cursor(t.data, t.len);
	reading.reserve_bytes = UINT64_MAX;
	if (fmt_names_get(&c, &reading, again) < 0 ||
	    fmt_n_templates(n) != fmt_n_templates(again) ||
	    fmt_n_strings(n) != fmt_n_strings(again))
		__builtin_trap();
	return 0;
}
