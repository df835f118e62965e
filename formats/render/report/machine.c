/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/render/report/machine.h"

#include "base/array.h"
#include "formats/render/grid.h"
#include "formats/trace/images.h"
#include "formats/trace/json.h"
#include "formats/trace/store/blobs.h"

#include <time.h>

const struct fmt_device *fmt_report_device(const struct fmt_trace *t, uint32_t rank)
{
	const struct fmt_names *names = fmt_trace_names(t);
	const struct fmt_device *device;
	int64_t ordinal = 0;

	for (uint32_t i = 0; i < fmt_n_tracks(names, rank); i++) {
		const struct fmt_track *track = fmt_track(names, rank, i);

		if (track->kind == FMT_STREAM && !(track->text_ids & 1)) {
			ordinal = track->pid;
			break;
		}
	}
	for (uint32_t i = 0; (device = fmt_device(names, rank, i)); i++) {
		if (device->ordinal == ordinal)
			return device;
	}
	return fmt_device(names, rank, 0);
}

/* ---- versions */

enum version_form { AS_IT_IS, CUDA_NUMBER };

static const struct {
	const char *object; /* the fact that contains it; NULL: it is a fact itself */
	const char *key, *label;
	enum version_form form;
} versions[] = {
	{NULL, "cuda_driver_version", "CUDA driver", CUDA_NUMBER},
	{NULL, "cuda_runtime_version", "runtime", CUDA_NUMBER},
	{NULL, "cupti_version", "CUPTI", AS_IT_IS},
	{NULL, "hip_driver_version", "HIP driver", AS_IT_IS},
	{NULL, "hip_runtime_version", "runtime", AS_IT_IS},
	{NULL, "roctracer_version", "roctracer", AS_IT_IS},
	{"distributedInfo", "nccl_version", "NCCL", AS_IT_IS},
};

static bool find_member(const struct fmt_names *names, uint32_t rank, const char *object,
			const char *key, const char **value, size_t *len)
{
	const char *fact = fmt_fact_value(names, rank, object ? object : key);

	if (!fact)
		return false;
	*value = fact;
	*len = strlen(fact);
	return !object || fmt_json_member(fact, *len, key, value, len);
}

void fmt_report_versions(const struct fmt_trace *t, uint32_t rank, struct text *out)
{
	const char *gap = "";

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const char *value;
		size_t len;
		long number;

		if (!find_member(fmt_trace_names(t), rank, versions[i].object, versions[i].key,
				 &value, &len) ||
		    len == 0)
			continue;
		text_printf(out, "%s%s ", gap, versions[i].label);
		number = strtol(value, NULL, 10);
		if (*value == '"' && len >= 2)
			fmt_text_sanitised(out, value + 1, len - 2, 40);
		else if (versions[i].form == CUDA_NUMBER && number >= 1000)
			text_printf(out, "%ld.%ld", number / 1000, number % 1000 / 10);
		else
			fmt_text_sanitised(out, value, len, 40);
		gap = ", ";
	}
}

/* ---- time */

/* No run was recorded in 1970: such times count from the start of a clock, for example of virtual
 * time. */
#define FIRST_DATE_NS (INT64_C(31536000) * 1000000000)

void fmt_report_date(int64_t ns, struct text *out)
{
	time_t seconds = (time_t)(ns / 1000000000);
	char buf[64];
	struct tm tm;

	if (ns < FIRST_DATE_NS || !gmtime_r(&seconds, &tm) ||
	    strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		return;
	text_printf(out, "%s.%06lld UTC, ", buf, (long long)(ns % 1000000000 / 1000));
}

/* ---- contents */

struct fmt_report_contents fmt_report_contents(const struct fmt_trace *t)
{
	const char *at = fmt_fact_value(fmt_trace_names(t), FMT_WHOLE_TRACE, FMT_FACT_IMAGES);
	const char *end = at ? at + strlen(at) : NULL;
	struct fmt_report_contents kept = {0};
	struct fmt_image image, before = {0};

	kept.buffers = fmt_blobs_count(t, &kept.bytes);
	while (at && fmt_image_next(&at, end, &image)) {
		bool is_kept = image.has_name && fmt_blob_is_listed(t, image.name);

		/* An image that was loaded from several files is listed for each, consecutively. */
		if (is_kept && kept.buffers > 0 &&
		    memcmp(image.name, before.name, sizeof(before.name)) != 0)
			kept.buffers--;
		kept.images++;
		kept.images_kept += is_kept;
		before = image;
	}
	return kept;
}

/* ---- other facts */

bool fmt_report_is_shown(const struct fmt_names *names, const struct fmt_fact *fact)
{
	static const char *const hidden[] = {"deviceProperties", "gputrace.metadata",
					     FMT_FACT_IMAGES, FMT_FACT_GRAPHS,
					     FMT_FACT_ALLOCATIONS};
	const char *key = fmt_string(names, fact->key, NULL);
	size_t len;

	fmt_string(names, fact->value, &len);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		if (!strcmp(key, hidden[i]))
			return false;
	}
	return len <= 4096;
}
