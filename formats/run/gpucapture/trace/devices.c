/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/run/gpucapture/trace/devices.h"

#include "base/array.h"
#include "base/scope.h"

#include <stdio.h>

/* Attributes of a device, by their numbers in the driver, with the PyTorch profiler's names. */
static const struct {
	int number;
	const char *key;
} attributes[] = {
	{75, "computeMajor"},
	{76, "computeMinor"},
	{16, "numSms"},
	{10, "warpSize"},
	{1, "maxThreadsPerBlock"},
	{39, "maxThreadsPerMultiprocessor"},
	{12, "regsPerBlock"},
	{82, "regsPerMultiprocessor"},
	{8, "sharedMemPerBlock"},
	{97, "sharedMemPerBlockOptin"},
	{81, "sharedMemPerMultiprocessor"},
};

static const char *device_fact(const struct rec_process *p, int device, const char *what)
{
	char key[64];

	snprintf(key, sizeof(key), "device.%d.%s", device, what);
	return rec_process_fact(p, key);
}

/* The length of the JSON number at `text`; 0: not a number. */
static size_t number_length(const char *text)
{
	size_t sign = *text == '-', n = strspn(text + sign, "0123456789");

	return n == 0 || (n > 1 && text[sign] == '0') ? 0 : sign + n;
}

/* The value of an attribute in "1=1024 2=1024 ..."; NULL. */
static const char *attribute(const char *list, int number, size_t *len)
{
	char key[16];
	int n = snprintf(key, sizeof(key), "%d=", number);

	for (const char *at = list ? list + (*list == '"') : NULL; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, key, (size_t)n) == 0) {
			*len = number_length(at + n);
			return at + n;
		}
	}
	return NULL;
}

#define PCI_DOMAIN 50
#define PCI_BUS 33
#define PCI_DEVICE 34

static long attribute_value(const char *list, int number)
{
	size_t len = 0;
	const char *value = attribute(list, number, &len);

	return value && len > 0 ? strtol(value, NULL, 10) : 0; /* zeros are not listed */
}

/* Writes the identity of a GPU (UUID, PCI address), which does not depend on the process. */
static void put_identity(const struct rec_process *p, int device, struct text *json)
{
	const char *list = device_fact(p, device, "attributes");
	const char *uuid = device_fact(p, device, "uuid");

	if (uuid)
		text_printf(json, ", \"uuid\": %s", uuid);
	if (attribute_value(list, PCI_BUS) > 0)
		text_printf(json, ", \"pci\": \"%08lx:%02lx:%02lx\"",
			    attribute_value(list, PCI_DOMAIN), attribute_value(list, PCI_BUS),
			    attribute_value(list, PCI_DEVICE));
}

static int put_device(struct fmt_names *names, uint32_t index, const struct rec_process *p,
		      int device)
{
	const char *name = device_fact(p, device, "name"), *memory, *list, *value;
	scoped(text_done) struct text json = {0};
	struct fmt_device made = {.ordinal = device};
	size_t len = name ? strlen(name) : 0;
	int r = 0;

	if (len < 2)
		return 0;
	text_printf(&json, "{\"id\": %d, \"name\": %s", device, name);
	memory = device_fact(p, device, "memory_bytes");
	if (memory)
		text_printf(&json, ", \"totalGlobalMem\": %s", memory);
	put_identity(p, device, &json);
	list = device_fact(p, device, "attributes");
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		size_t n = 0;

		value = attribute(list, attributes[i].number, &n);
		if (value && n > 0)
			text_printf(&json, ", \"%s\":%.*s", attributes[i].key, (int)n, value);
	}
	text_char(&json, '}');
	if (json.error)
		return json.error;
	r = fmt_names_string(names, name + 1, len - 2, &made.name);
	if (r == 0)
		r = fmt_names_string(names, json.data, json.len, &made.properties);
	return r < 0 ? r : fmt_names_device(names, index, &made);
}

static int put_devices(struct rec_process *const *processes, struct fmt_names *names,
		       uint32_t index, const struct rec_ranks *ranks)
{
	const struct rec_rank *rank = &ranks->ranks[index];
	int r = 0;

	for (uint32_t d = 0; d < ranks->n_devices && r == 0; d++)
		if (ranks->of_device[rank->process * (size_t)ranks->n_devices + d] == index)
			r = put_device(names, index, processes[rank->process], (int)d);
	return r;
}

int rec_devices_put(struct rec_process *const *processes, const struct rec_ranks *ranks,
		    struct fmt_names *names)
{
	int r = 0;

	for (uint32_t i = 0; i < ranks->n && r == 0; i++)
		r = put_devices(processes, names, i, ranks);
	return r;
}
