/* SPDX-License-Identifier: Apache-2.0 */

/* Runs a fuzz target over the files of its corpus, for builds without a fuzzing engine.
 *
 *     replay DIR        every file of DIR, in the order of names, and the empty input
 */
#include "base/scope.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *dir, const char *name)
{
	scoped(free_ptr) uint8_t *data = NULL;
	char path[4096];
	long len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) < 0 || (len = ftell(f)) < 0) {
		perror(path);
		return -1;
	}
	rewind(f);
	data = malloc((size_t)len + 1);
	if (!data || fread(data, 1, (size_t)len, f) != (size_t)len) {
		perror(path);
		fclose(f);
		return -1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)len);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n, done = 0, bad = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 2;
	}
	n = scandir(argv[1], &names, NULL, alphasort);
	if (n < 0) {
		perror(argv[1]);
		return 1;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			bad |= replay_file(argv[1], names[i]->d_name) < 0;
			done++;
		}
		free(names[i]);
	}
	free(names);
	printf("%d inputs\n", done);
	return bad || done == 0;
}
