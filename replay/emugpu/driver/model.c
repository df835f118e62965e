/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/emugpu/driver/model.h"
#include "base/scope.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct emu_model, member)                                        \
	}

static const struct {
	const char *key;
	size_t offset;
} keys[] = {
	KEY(compute),
	KEY(sms),
	KEY(threads_per_sm),
	KEY(blocks_per_sm),
	KEY(registers_per_sm),
	KEY(shared_per_sm),
	KEY(shared_per_block_optin),
	KEY(l2_bytes),
	KEY(clock_khz),
	KEY(memory_clock_khz),
	KEY(memory_bus_bits),
	KEY(memory_bytes),
	KEY(power_watts),
	KEY(pci_device),
	KEY(memory_bytes_per_s),
	KEY(fp32),
	KEY(fp64),
	KEY(tf32),
	KEY(fp16),
	KEY(fp8),
	KEY(int8),
	KEY(pcie_bytes_per_s),
	KEY(pageable_bytes_per_s),
	KEY(nvlink_bytes_per_s),
	KEY(network_bytes_per_s),
	KEY(nvlinks),
	KEY(math_efficiency),
	KEY(memory_efficiency),
	KEY(link_efficiency),
	KEY(launch_ns),
	KEY(gap_ns),
	KEY(event_ns),
	KEY(kernel_ns),
	KEY(copy_ns),
	KEY(sync_ns),
	KEY(call_launch_ns),
	KEY(call_copy_ns),
	KEY(call_event_ns),
	KEY(call_query_ns),
	KEY(call_malloc_ns),
	KEY(pin_bytes_per_s),
	KEY(first_touch_ns),
	KEY(network_ns),
	KEY(nvlink_ns),
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

const double *emu_model_value(const struct emu_model *m, const char *key)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (strcmp(keys[i].key, key) == 0)
			return (const double *)(const void *)((const char *)m + keys[i].offset);
	return NULL;
}

/* Parses one line, and changes it; 0 or -EINVAL. */
static int parse_line(char *line, struct emu_model *m, char *why, size_t why_size)
{
	char *key, *value, *end;
	double *to;

	line[strcspn(line, "#\n")] = 0;
	key = line + strspn(line, " \t");
	if (!*key)
		return 0;
	value = key + strcspn(key, " \t");
	if (*value)
		*value++ = 0;
	value += strspn(value, " \t");
	if (strcmp(key, "name") == 0) {
		snprintf(m->name, sizeof(m->name), "%s", value);
		return 0;
	}
	to = (double *)(uintptr_t)emu_model_value(m, key);
	if (!to) {
		snprintf(why, why_size, "unknown key '%.40s'", key);
		return -EINVAL;
	}
	*to = strtod(value, &end);
	if (end == value || end[strspn(end, " \t")] || !(*to >= 0 && *to < 1e18)) {
		snprintf(why, why_size, "%.40s: invalid number '%.40s'", key, value);
		return -EINVAL;
	}
	return 0;
}

static int parse(FILE *in, struct emu_model *ret, char *why, size_t why_size)
{
	struct emu_model m = {0};
	char line[512];
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), in))
		r = parse_line(line, &m, why, why_size);
	for (size_t i = 0; r == 0 && i < N_KEYS; i++) {
		const double *v = emu_model_value(&m, keys[i].key);

		if (*v == 0) {
			snprintf(why, why_size, "it has no %s", keys[i].key);
			r = -EINVAL;
		}
	}
	if (r == 0)
		*ret = m;
	return r;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* "no such model; there are A100, H100, or a file" */
static void not_found(const char *like, char *why, size_t why_size)
{
	struct text t = {0};

	text_str(&t, strchr(like, '/') ? strerror(errno) : "no such model");
	for (const struct emu_model_text *m = emu_model_texts; m->name; m++)
		text_printf(&t, "%s%s", m == emu_model_texts ? "; there are " : ", ", m->name);
	text_str(&t, ", or give a file like those in share/gpureplay/gpus");
	snprintf(why, why_size, "%.*s", (int)t.len, t.data);
	text_done(&t);
}

int emu_model_load(const char *like, struct emu_model *ret, char *why, size_t why_size)
{
	const struct emu_model_text *t = emu_model_texts;

	while (t->name && strcmp(t->name, like) != 0)
		t++;

	scoped(close_file) FILE *in =
		t->name ? fmemopen((void *)(uintptr_t)t->text, strlen(t->text), "r")
			: fopen(like, "re");
	if (!in) {
		int r = -errno;

		not_found(like, why, why_size);
		return r;
	}
	return parse(in, ret, why, why_size);
}
