/* SPDX-License-Identifier: Apache-2.0 */

/* Reads a launch from its folder. Part of repro.c, which is written as one file (embed.py). */
#define REPRO_PARAMETERS 256
#define REPRO_PARAMETER_BYTES 32768
#define REPRO_ITEMS 4096 /* buffers, contents, pointers */
#define REPRO_NAME_BYTES 8192
#define REPRO_FILE_BYTES 64

enum { REPRO_SAME, REPRO_DIFFERENT, REPRO_FOLDER = 3, REPRO_GPU };

/* The contents of `launch`. */
struct repro_launch {
	char image[REPRO_FILE_BYTES], kernel[REPRO_NAME_BYTES];
	struct { /* CUlaunchConfig */
		unsigned grid[3], block[3], shared_bytes;
		void *stream, *attributes;
		unsigned n_attributes;
	} size;
	unsigned cluster[3], cooperative, seeded;
	struct {
		unsigned char *bytes;
		size_t n;
	} parameters[REPRO_PARAMETERS];
	struct {
		int attribute, value;
	} attributes[16];
	struct {
		uint64_t bytes, address; /* of the device */
	} buffers[REPRO_ITEMS];
	struct {
		unsigned buffer, output;
		uint64_t offset;
		char file[REPRO_FILE_BYTES];
	} contents[REPRO_ITEMS];
	struct { /* a word of a parameter that is an address in a buffer */
		unsigned parameter, buffer;
		uint64_t offset, to;
	} pointers[REPRO_ITEMS];
	unsigned n_parameters, n_attributes, n_buffers, n_contents, n_pointers;
};

struct repro_result {
	int status;	/* exit status */
	char why[4400]; /* the failure, or the first output that differs */
	uint64_t checked_bytes, different_bytes;
	unsigned seeded; /* inputs were not recorded: outputs are not checked */
	char kernel[256];
	unsigned n_times;
	double min_us, mean_us;
};

/* Functions return 1, or 0 after a failure; only the first failure is kept. */
static int repro_fail(struct repro_result *r, int status, const char *what, const char *detail)
{
	if (!r->status)
		snprintf(r->why, sizeof(r->why), "%.4200s: %.100s", what, detail);
	r->status = r->status ? r->status : status;
	return 0;
}

/* ---- the folder */

static void repro_launch_done(struct repro_launch *l)
{
	for (unsigned i = 0; i < l->n_parameters; i++)
		free(l->parameters[i].bytes);
	l->n_parameters = 0;
}

/* A name of a file in the folder itself. */
static int repro_is_file(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static int repro_parameter(struct repro_launch *l, const char *hex)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	unsigned char *bytes;

	if (l->n_parameters == REPRO_PARAMETERS || n == 0 || n > REPRO_PARAMETER_BYTES)
		return 0;
	bytes = calloc(1, n + 8);
	if (!bytes)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

		bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	l->parameters[l->n_parameters].bytes = bytes;
	l->parameters[l->n_parameters++].n = n;
	return 1;
}

static int repro_content(struct repro_launch *l, const char *line, unsigned output)
{
	unsigned i = l->n_contents;

	if (i == REPRO_ITEMS || sscanf(line, "%*s %u %" SCNu64 " %63s", &l->contents[i].buffer,
				       &l->contents[i].offset, l->contents[i].file) != 3)
		return 0;
	l->contents[i].output = output;
	l->n_contents++;
	return l->contents[i].buffer < l->n_buffers && repro_is_file(l->contents[i].file) &&
	       l->contents[i].offset <= l->buffers[l->contents[i].buffer].bytes;
}

static int repro_pointer(struct repro_launch *l, const char *line)
{
	unsigned i = l->n_pointers;

	if (i == REPRO_ITEMS ||
	    sscanf(line, "%*s %u %" SCNu64 " %u %" SCNu64, &l->pointers[i].parameter,
		   &l->pointers[i].offset, &l->pointers[i].buffer, &l->pointers[i].to) != 4)
		return 0;
	l->n_pointers++;
	return l->pointers[i].parameter < l->n_parameters && l->pointers[i].buffer < l->n_buffers &&
	       l->pointers[i].offset + 8 >= 8 &&
	       l->pointers[i].offset + 8 <= l->parameters[l->pointers[i].parameter].n;
}

static int repro_attribute(struct repro_launch *l, const char *line)
{
	unsigned i = l->n_attributes;

	if (i == sizeof(l->attributes) / sizeof(l->attributes[0]) ||
	    sscanf(line, "%*s %d %d", &l->attributes[i].attribute, &l->attributes[i].value) != 2)
		return 0;
	l->n_attributes++;
	return 1;
}

static int repro_buffer(struct repro_launch *l, const char *line)
{
	return l->n_buffers < REPRO_ITEMS &&
	       sscanf(line, "%*s %" SCNu64, &l->buffers[l->n_buffers].bytes) == 1 &&
	       l->buffers[l->n_buffers++].bytes > 0;
}

/* Parses one line of `launch`. Returns 1, or 0 if it is invalid. */
static int repro_line(struct repro_launch *l, const char *line)
{
	const struct {
		const char *key;
		unsigned *to, n;
	} numbers[] = {{"grid", l->size.grid, 3},	    {"block", l->size.block, 3},
		       {"cluster", l->cluster, 3},	    {"shared", &l->size.shared_bytes, 1},
		       {"cooperative", &l->cooperative, 1}, {"seeded", &l->seeded, 1}};
	char key[16] = "";

	sscanf(line, "%15s", key);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		unsigned *to = numbers[i].to;

		if (strcmp(key, numbers[i].key) == 0)
			return numbers[i].n == 1
				       ? sscanf(line, "%*s %u", to) == 1
				       : sscanf(line, "%*s %u %u %u", to, to + 1, to + 2) == 3;
	}
	if (strcmp(key, "image") == 0)
		return sscanf(line, "%*s %63s", l->image) == 1 && repro_is_file(l->image);
	if (strcmp(key, "kernel") == 0)
		return sscanf(line, "%*s %8191s", l->kernel) == 1;
	if (strcmp(key, "attribute") == 0)
		return repro_attribute(l, line);
	if (strcmp(key, "parameter") == 0)
		return repro_parameter(l, line + 9 + strspn(line + 9, " "));
	if (strcmp(key, "buffer") == 0)
		return repro_buffer(l, line);
	if (strcmp(key, "input") == 0 || strcmp(key, "output") == 0)
		return repro_content(l, line, key[0] == 'o');
	return strcmp(key, "pointer") == 0 && repro_pointer(l, line);
}

/* Reads the text of `launch`. */
static int repro_read(FILE *f, struct repro_launch *l, struct repro_result *r)
{
	char *line = NULL;
	size_t cap = 0;
	int ok = getline(&line, &cap, f) > 0 && strcmp(line, "gputrace launch 1\n") == 0;

	while (ok && getline(&line, &cap, f) > 0)
		ok = repro_line(l, line);
	ok = ok && l->image[0] && l->kernel[0];
	if (!ok)
		repro_fail(r, REPRO_FOLDER, "`launch` is not of this version, or invalid at",
			   line ? line : "its begin");
	free(line);
	return ok;
}

/* A file of the folder; NULL. It ends with a zero byte, as PTX must. */
static unsigned char *repro_file(const char *folder, const char *name, size_t *n,
				 struct repro_result *r)
{
	char path[4096];
	unsigned char *data = NULL;
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode))
		data = malloc((size_t)st.st_size + 1);
	if (data) {
		*n = fread(data, 1, (size_t)st.st_size, f);
		data[*n] = 0;
	} else {
		repro_fail(r, REPRO_FOLDER, path, f ? "cannot be read" : strerror(errno));
	}
	if (f)
		fclose(f);
	return data;
}

/* Opens the launch. */
static int repro_open(const char *folder, struct repro_launch *l, struct repro_result *r)
{
	char path[4096];
	FILE *f;
	int ok;

	memset(l, 0, sizeof(*l));
	memset(r, 0, sizeof(*r));
	snprintf(path, sizeof(path), "%s/launch", folder);
	f = fopen(path, "r");
	if (!f)
		return repro_fail(r, REPRO_FOLDER, path, strerror(errno));
	ok = repro_read(f, l, r);
	fclose(f);
	r->seeded = l->seeded;
	snprintf(r->kernel, sizeof(r->kernel), "%.255s", l->kernel);
	return ok;
}
