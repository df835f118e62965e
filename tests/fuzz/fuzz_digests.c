/* SPDX-License-Identifier: Apache-2.0 */

/* The digests of a slice: the first byte is the number in its header. Also contents, without such a
 * number. */
#include "formats/trace/store/blobs.h"
#include "formats/trace/store/digests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fmt_slice s = {0};
	struct fmt_digest *contents = NULL;
	size_t n;

	if (len > 0)
		fmt_digests_get(fmt_cursor(data + 1, len - 1), data[0], &s);
	free(s.digests);
	free(s.pages);
	if (fmt_contents_get(data, len, &contents, &n) == 0)
		free(contents);
	return 0;
}
