/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/cost/gpu.h"
#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct cost_gpu, member)                                         \
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
	KEY(call_collective_ns),
	KEY(pin_bytes_per_s),
	KEY(first_touch_ns),
	KEY(network_ns),
	KEY(nvlink_ns),
	KEY(switch_bytes_per_s),
	KEY(pcie_efficiency),
	KEY(tile_128x128),
	KEY(tile_128x64),
	KEY(tile_64x64),
	KEY(tile_128x32),
	KEY(tile_32x128),
	KEY(tile_64x32_sliced),
	KEY(tile_32x32_sliced),
	KEY(tile_128x32_sliced),
	KEY(product_wave),
	KEY(product_prologue),
	KEY(product_rows),
	KEY(product_columns),
	KEY(product_store),
	KEY(product_norm),
	KEY(product_l2),
	KEY(product_warps),
	KEY(product_slice),
	KEY(product_lookup),
	KEY(product_choice),
	KEY(split_blocks),
	KEY(wide_efficiency),
	KEY(tensor_efficiency),
	KEY(tensor_prologue),
	KEY(tensor_cache_bytes_per_cycle),
	KEY(process_nm),
	KEY(memory_joules_per_byte),
	KEY(operations_per_joule),
	KEY(sustained_clock),
	KEY(sustained_ns),
	KEY(cache_bytes_per_cycle),
	KEY(cache_begin),
	KEY(cache_end),
	KEY(write_penalty),
	KEY(load_cycles),
	KEY(load_ns),
	KEY(indexed_elements),
	KEY(row_norm),
	KEY(l1_share),
	KEY(l2_share),
	KEY(warp_cycles),
	KEY(warp_item_cycles),
	KEY(warp_efficiency),
	KEY(block_cycles),
	KEY(block_item_cycles),
	KEY(block_reread),
	KEY(layer_norm_cycles),
	KEY(layer_norm_item_cycles),
	KEY(layer_norm_reread),
	KEY(layer_norm_norm),
	KEY(winograd_transform),
	KEY(winograd_filter),
	KEY(winograd_efficiency),
	KEY(convolution_efficiency),
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

const double *cost_gpu_value(const struct cost_gpu *m, const char *key)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (strcmp(keys[i].key, key) == 0)
			return (const double *)(const void *)((const char *)m + keys[i].offset);
	return NULL;
}

/* Parses one line, in place. Returns 0 or -EINVAL. */
static int parse_line(char *line, struct cost_gpu *m, uint8_t *set, char *why, size_t why_size)
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
	if (strcmp(key, "alias") == 0)
		return 0;
	if (strcmp(key, "name") == 0) {
		snprintf(m->name, sizeof(m->name), "%s", value);
		return 0;
	}
	to = (double *)(uintptr_t)cost_gpu_value(m, key);
	if (!to) {
		snprintf(why, why_size, "unknown key '%.40s'", key);
		return -EINVAL;
	}
	*to = strtod(value, &end);
	if (end == value || end[strspn(end, " \t")] || !(*to >= 0 && *to < 1e18)) {
		snprintf(why, why_size, "%.40s: invalid number '%.40s'", key, value);
		return -EINVAL;
	}
	for (size_t i = 0; i < N_KEYS; i++)
		set[i] |= strcmp(keys[i].key, key) == 0;
	return 0;
}

/* Returns 1 for values that may be 0. */
static int optional(const char *key)
{
	static const char *const keys_0[] = {"nvlink", "switch", "operations_per_joule"};

	for (size_t i = 0; i < ARRAY_SIZE(keys_0); i++)
		if (strncmp(key, keys_0[i], strlen(keys_0[i])) == 0)
			return 1;
	return 0;
}

static int parse_model(FILE *in, struct cost_gpu *m, uint8_t *set, char *why, size_t why_size)
{
	char line[512];
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), in))
		r = parse_line(line, m, set, why, why_size);
	return r;
}

double cost_gpu_watts(const struct cost_gpu *m)
{
	return fmax(0.1, m->power_watts - m->memory_joules_per_byte * m->memory_bytes_per_s);
}

double cost_cache_hits(const struct cost_gpu *m, double held)
{
	double hits = (m->cache_end - held / m->l2_bytes) / (m->cache_end - m->cache_begin);

	return fmin(1, fmax(0, hits));
}

double cost_memory_rate(const struct cost_gpu *m, double read_part)
{
	return m->memory_bytes_per_s * m->memory_efficiency *
	       (1 - m->write_penalty * (2.0 / 3 - read_part));
}

/* The clock, as a part of the boost clock, at which FP32 arithmetic takes the power of the board.
 */
static void set_sustained_clock(struct cost_gpu *m, uint8_t *set)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		if (set[i] || strcmp(keys[i].key, "sustained_clock") != 0)
			continue;
		m->sustained_clock = 1;
		if (m->operations_per_joule > 0 && m->fp32 > 0)
			m->sustained_clock =
				fmin(1, cost_gpu_watts(m) * m->operations_per_joule / m->fp32);
		set[i] = 1;
	}
}

static int check_model(const struct cost_gpu *m, const uint8_t *set, char *why, size_t why_size)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		if (set[i] && (*cost_gpu_value(m, keys[i].key) > 0 || optional(keys[i].key)))
			continue;
		snprintf(why, why_size, "missing %s", keys[i].key);
		return -EINVAL;
	}
	return 0;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static FILE *open_text(const char *text)
{
	return fmemopen((void *)(uintptr_t)text, strlen(text), "r");
}

/* Writes "no such model; there are A100-PCIE-40GB, ..., or give a file". */
static void not_found(const char *like, char *why, size_t why_size)
{
	struct text t = {0};

	text_str(&t, strchr(like, '/') ? strerror(errno) : "no such model");
	for (const struct cost_gpu_text *m = cost_gpu_texts; m->name; m++)
		text_printf(&t, "%s%s", m == cost_gpu_texts ? "; there are " : ", ", m->name);
	text_str(&t, ", or give a file like those in share/gpureplay/gpus");
	snprintf(why, why_size, "%.*s", (int)t.len, t.data);
	text_done(&t);
}

/* Returns 1 if the model's text has the line "KEY like". */
static int has_line(const struct cost_gpu_text *t, const char *key, const char *like)
{
	size_t n = strlen(key), m = strlen(like);

	for (const char *at = t->text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, n) == 0 && at[n] == ' ' && strncmp(at + n + 1, like, m) == 0 &&
		    at[n + 1 + m] == '\n')
			return 1;
	}
	return 0;
}

static int is_named(const struct cost_gpu_text *t, const char *like)
{
	return strcmp(t->name, like) == 0 || has_line(t, "alias", like) ||
	       has_line(t, "name", like);
}

int cost_gpu_load(const char *like, struct cost_gpu *ret, char *why, size_t why_size)
{
	const struct cost_gpu_text *t = cost_gpu_texts;
	struct cost_gpu m = {0};
	uint8_t set[N_KEYS] = {0};
	int r;

	while (t->name && !is_named(t, like))
		t++;

	scoped(close_file) FILE *common = open_text(cost_gpu_common);
	scoped(close_file) FILE *in = t->name ? open_text(t->text) : fopen(like, "re");
	if (!in || !common) {
		r = -errno;
		not_found(like, why, why_size);
		return r;
	}
	r = parse_model(common, &m, set, why, why_size);
	if (r == 0)
		r = parse_model(in, &m, set, why, why_size);
	if (r == 0)
		set_sustained_clock(&m, set);
	if (r == 0)
		r = check_model(&m, set, why, why_size);
	if (r == 0)
		*ret = m;
	return r;
}
