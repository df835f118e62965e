/* SPDX-License-Identifier: Apache-2.0 */

/* The digests of a slice: the first byte is how many its header promises. */
#include "formats/digests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fmt_slice s = {0};

	if (len > 0)
		fmt_digests_get(fmt_cursor(data + 1, len - 1), data[0], &s);
	free(s.digests);
	free(s.pages);
	return 0;
}
