/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/trace/images.h"

#include "formats/trace/json.h"

static const char *const kinds[FMT_IMAGE_KINDS] = {
	[FMT_IMAGE_OTHER] = "image",
	[FMT_IMAGE_CUBIN] = "cubin",
	[FMT_IMAGE_PTX] = "ptx",
	[FMT_IMAGE_FATBIN] = "fatbin",
};

const char *fmt_image_kind_name(enum fmt_image_kind kind)
{
	return kind < FMT_IMAGE_KINDS ? kinds[kind] : kinds[FMT_IMAGE_OTHER];
}

void fmt_content_name(const uint64_t name[2], char ret[FMT_CONTENT_NAME_BYTES])
{
	snprintf(ret, FMT_CONTENT_NAME_BYTES, "%016llx%016llx", (unsigned long long)name[1],
		 (unsigned long long)name[0]);
}

int fmt_content_name_get(const char *s, size_t len, uint64_t ret[2])
{
	uint64_t halves[2] = {0};

	if (len != FMT_CONTENT_NAME_BYTES - 1)
		return 0;
	for (size_t i = 0; i < len; i++) {
		const char *digit = memchr("0123456789abcdef", s[i], 16);

		if (!digit)
			return 0;
		halves[i < 16] = halves[i < 16] << 4 | (uint64_t)(digit - "0123456789abcdef");
	}
	ret[0] = halves[0];
	ret[1] = halves[1];
	return 1;
}

static uint64_t number_of(const char *object, size_t len, const char *key)
{
	int64_t v = fmt_json_member_i64(object, len, key, 0);

	return v > 0 ? (uint64_t)v : 0;
}

int fmt_image_next(const char **at, const char *end, struct fmt_image *ret)
{
	const char *object, *text = NULL;
	size_t len, n;

	if (!fmt_json_element(at, end, &object, &len))
		return 0;
	*ret = (struct fmt_image){.bytes = number_of(object, len, "bytes"),
				  .offset_bytes = number_of(object, len, "offset")};
	n = fmt_json_member_text(object, len, "kind", &text);
	for (int k = FMT_IMAGE_CUBIN; k < FMT_IMAGE_KINDS; k++)
		if (n == strlen(kinds[k]) && memcmp(text, kinds[k], n) == 0)
			ret->kind = (enum fmt_image_kind)k;
	n = fmt_json_member_text(object, len, "content", &text);
	ret->has_name = fmt_content_name_get(text, n, ret->name);
	ret->build_id_len = fmt_json_member_text(object, len, "build_id", &ret->build_id);
	ret->file_len = fmt_json_member_text(object, len, "file", &ret->file);
	return 1;
}
