/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/store/index.h"

#include "base/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Bodies of headers: the first byte is the tag. The rest is sealed with the right hash, so that
 * decoding continues after the hash. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	scoped(text_done) struct text t = {0};
	scoped(free_ptr) struct fmt_chunk *chunks = NULL;
	scoped(free_ptr) struct fmt_member_span *members = NULL;
	struct fmt_file_header file;
	struct fmt_chunk chunk;
	struct fmt_footer footer;
	const uint8_t *sealed;
	const char *why;
	size_t n;

	if (len < 1 || len > 1 << 20)
		return 0;
	fmt_header_begin(&t, data[0]);
	text_bytes(&t, (const char *)data + 1, len - 1);
	fmt_header_end(&t, 0);
	if (t.error)
		return 0;
	sealed = (const uint8_t *)t.data;
	fmt_file_header_get(sealed, t.len, &file, &why);
	fmt_chunk_header_get(sealed, t.len, &chunk, &why);
	fmt_footer_get(sealed, t.len, &footer, &why);
	fmt_index_get(sealed, t.len, 1 << 20, &file, &chunks, &n, &why);
	fmt_members_get(sealed, t.len, 1 << 20, &members, &n, &why);
	return 0;
}
