/* SPDX-License-Identifier: Apache-2.0 */

/* Numbered names of ranges, such as "train_step 4" or PyTorch's "ProfilerStep#4, op_id = 9", which
 * mark iterations. Pure; any thread. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CAP_ITERATION_DIGITS 9

struct cap_iteration_name {
	size_t prefix_len; /* the part before the number: equal for ranges of the same kind */
	int64_t number;
	bool is_iteration; /* the prefix contains step, iter or batch: it is an iteration */
};

static inline bool cap_iteration_word(const char *text, size_t len)
{
	static const char *const words[] = {"step", "iter", "batch"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (size_t at = 0; at + strlen(words[i]) <= len; at++)
			if (strncasecmp(text + at, words[i], strlen(words[i])) == 0)
				return true;
	return false;
}

/* Returns true if the name (`len` bytes and a NUL) has a number at its end, or is a
 * ProfilerStep. */
static inline bool cap_iteration_name(const char *name, size_t len, struct cap_iteration_name *ret)
{
	static const char torch[] = "ProfilerStep#";
	size_t first = len, digits = 0;

	if (strncmp(name, torch, sizeof(torch) - 1) == 0)
		first = sizeof(torch) - 1;
	else
		while (first > 0 && isdigit((unsigned char)name[first - 1]))
			first--;
	while (isdigit((unsigned char)name[first + digits]))
		digits++;
	if (first == 0 || digits == 0 || digits > CAP_ITERATION_DIGITS)
		return false;
	*ret = (struct cap_iteration_name){first, strtoll(name + first, NULL, 10),
					   cap_iteration_word(name, first)};
	return true;
}
