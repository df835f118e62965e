/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/gpu_links.h"

#include "replay/cost/gpu.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The largest factor between recorded bandwidths and those of the GPU model. */
#define MOST_FACTOR 64

/* A recorded time within this relative distance of the model confirms the model. */
#define MODEL_ERROR 0.1

int links_init(struct links *l, const struct fmt_names *names, char *why, size_t len)
{
	const struct fmt_device *device = fmt_device(names, 0, 0);
	const char *name = device ? fmt_string(names, device->name, NULL) : "";
	struct cost_gpu gpu;
	double bytes_per_s;

	l->known = !strchr(name, '/') && cost_gpu_load(name, &gpu, why, len) == 0;
	if (!l->known && cost_gpu_load("H100", &gpu, why, len) < 0)
		return -EINVAL;
	bytes_per_s = gpu.nvlink_bytes_per_s > 0 ? gpu.nvlink_bytes_per_s : gpu.pcie_bytes_per_s;
	l->model = (struct cost_links){
		.wire = gpu.nvlink_bytes_per_s > 0 ? COST_NVLINK : COST_PCIE,
		.bytes_per_s = bytes_per_s * gpu.link_efficiency,
		.network_bytes_per_s = gpu.network_bytes_per_s * gpu.link_efficiency,
		.compute_capability = (int)(gpu.compute * 10 + 0.5),
		.switch_bytes_per_s = l->known ? gpu.switch_bytes_per_s : 0,
	};
	return 0;
}

enum cost_collective links_kind(const char *op)
{
	enum cost_collective kind = cost_collective_named(op);

	return kind < COST_COLLECTIVES ? kind : COST_ALL_REDUCE;
}

static uint32_t hosts_of(uint32_t ranks)
{
	return (ranks + LINKS_NODE - 1) / LINKS_NODE;
}

double links_time_ns(const struct cost_links *l, enum cost_collective kind, uint32_t ranks,
		     uint32_t all, double bytes)
{
	struct cost_links links = *l;

	links.ranks = ranks;
	links.hosts = hosts_of(all) < ranks ? hosts_of(all) : ranks;
	if (kind == COST_ALL_GATHER || kind == COST_REDUCE_SCATTER || kind == COST_GATHER ||
	    kind == COST_SCATTER)
		bytes /= ranks;
	return (double)cost_collective_ns(&links, kind, bytes);
}

struct cost_links links_faster(const struct cost_links *l, uint32_t all, double factor)
{
	struct cost_links links = *l;

	if (hosts_of(all) > 1) {
		links.network_bytes_per_s *= factor;
		return links;
	}
	links.bytes_per_s *= factor;
	links.switch_bytes_per_s *= factor;
	return links;
}

int links_agree(double model_ns, double recorded_ns)
{
	return fabs(model_ns - recorded_ns) < MODEL_ERROR * recorded_ns;
}

struct cost_links links_fit(const struct links *l, const struct fmt_network_fit *fit,
			    enum cost_collective kind, uint32_t ranks, uint32_t all, double bytes)
{
	double low = -log2(MOST_FACTOR), high = log2(MOST_FACTOR), ns;

	if (!fit || fit->ns_per_byte <= 0)
		return l->model;
	if (fit->largest_bytes > 0)
		bytes = (double)fit->largest_bytes;
	ns = (double)fmt_network_ns(fit, (int64_t)bytes);
	if (links_agree(links_time_ns(&l->model, kind, ranks, all, bytes), ns))
		return l->model;
	for (int i = 0; i < 20; i++) {
		double middle = (low + high) / 2;
		struct cost_links links = links_faster(&l->model, all, exp2(middle));

		if (links_time_ns(&links, kind, ranks, all, bytes) > ns)
			low = middle;
		else
			high = middle;
	}
	return links_faster(&l->model, all, exp2((low + high) / 2));
}
