/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/slice_code.h"

#include "base/array.h"
#include "base/scope.h"
#include "formats/trace/store/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define TRACKS 4

static int make_names(struct fmt_names **ret)
{
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	struct fmt_arg args[] = {{.type = FMT_INT, .varies = 1},
				 {.type = FMT_STRING, .varies = 1},
				 {.type = FMT_RATE, .varies = 1}};
	uint32_t number;
	uint8_t rule;
	fmt_str s;

	if (fmt_names_new(&n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		fmt_names_string(n, &"abc"[i], 3 - i, &args[i].key);
	for (uint8_t kind = 0; kind < FMT_KINDS; kind++)
		for (uint32_t k = 0; k <= ARRAY_SIZE(args); k++) {
			struct fmt_template template = {.kind = kind, .args = args, .n_args = k};

			fmt_names_template(n, &template, &number);
		}
	for (uint32_t i = 0; i < TRACKS; i++) {
		struct fmt_track track = {.kind = i & 1, .tid = i};

		fmt_names_track(n, 0, &track, &number);
	}
	fmt_names_rule(n, "rule", 1, &rule);
	fmt_names_string(n, "x", 1, &s);
	*ret = take(n);
	return 0;
}

/* Payloads of slices, each after its length and the counts of its header. The last payload that is
 * not a patch is the base of those that are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(fmt_names_freep) struct fmt_names *n = NULL;
	struct fmt_cursor c = fmt_cursor(data, len), base = {0};

	if (make_names(&n) < 0)
		return 0;
	while (fmt_left(&c) > 0) {
		scoped(fmt_slice_freep) struct fmt_slice *s = NULL;
		struct fmt_chunk chunk = {.type = FMT_CHUNK_SLICE};
		struct fmt_slice_head head;
		uint64_t size = fmt_varint(&c);

		for (int k = 0; k < FMT_KINDS; k++)
			chunk.n_records[k] = fmt_u8(&c);
		chunk.n_edges = fmt_u8(&c);
		if (c.bad || size > fmt_left(&c))
			return 0;
		chunk.raw_bytes = size;
		if (fmt_slice_head_get(fmt_cursor(fmt_bytes(&c, size), size), &head) < 0)
			continue;
		if (head.back && !base.base)
			continue;
		if (fmt_slice_get(&head, &chunk, n, 0, head.back ? &base : NULL, &s) == 0 &&
		    !head.back)
			base = head.structure;
	}
	return 0;
}
