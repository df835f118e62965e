/* SPDX-License-Identifier: Apache-2.0 */

/* unseal FILE >corpus/chunks/NAME: prints a packed trace as an input of fuzz_chunks. */
#include "base/scope.h"
#include "tests/fuzz/chunks.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	scoped(text_done) struct text rows = {0};
	int r = argc == 2 ? chunks_unseal(argv[1], &rows) : -EINVAL;

	if (r < 0) {
		fprintf(stderr, "unseal FILE: %s\n", strerror(-r));
		return 1;
	}
	return fwrite(rows.data, 1, rows.len, stdout) != rows.len;
}
