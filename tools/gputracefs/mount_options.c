/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/gputracefs/mount_options.h"

#include "base/array.h"
#include "base/scope.h"
#include "base/text.h"
#include "tools/cli.h"

enum meaning {
	IGNORED, /* for mount(8) and its helpers, or fixed */
	PASSED,	 /* for libfuse and the kernel */
	CACHE,
	NAME,
};

struct option_row {
	const char *name; /* ends with "=" if a value follows, with "*" if any text does */
	enum meaning meaning;
};

static const struct option_row rows[] = {
	{"allow_other", PASSED},
	{"auto_unmount", PASSED},
	{"max_read=", PASSED},
	{"noatime", PASSED},
	{"nodiratime", PASSED},
	{"noexec", PASSED},
	{"cache_mb=", CACHE},
	{"fsname=", NAME},
	/* A mount is always read-only, without devices and set-user-ID. */
	{"ro", IGNORED},
	{"rw", IGNORED},
	{"dev", IGNORED},
	{"nodev", IGNORED},
	{"suid", IGNORED},
	{"nosuid", IGNORED},
	{"exec", IGNORED},
	{"atime", IGNORED},
	{"diratime", IGNORED},
	{"relatime", IGNORED},
	{"norelatime", IGNORED},
	{"strictatime", IGNORED},
	{"nostrictatime", IGNORED},
	{"lazytime", IGNORED},
	{"nolazytime", IGNORED},
	{"async", IGNORED},
	{"sync", IGNORED},
	{"dirsync", IGNORED},
	{"default_permissions", IGNORED},
	{"defaults", IGNORED},
	{"user", IGNORED},
	{"user=", IGNORED},
	{"users", IGNORED},
	{"nouser", IGNORED},
	{"owner", IGNORED},
	{"group", IGNORED},
	{"auto", IGNORED},
	{"noauto", IGNORED},
	{"nofail", IGNORED},
	{"_netdev", IGNORED},
	{"comment=", IGNORED},
	{"helper=", IGNORED},
	{"uhelper=", IGNORED},
	{"subtype=", IGNORED},
	{"x-*", IGNORED},
	{"X-*", IGNORED},
};

static const struct option_row *find_row(const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].name);

		if (rows[i].name[n - 1] == '*'	 ? strncmp(option, rows[i].name, n - 1) == 0
		    : rows[i].name[n - 1] == '=' ? strncmp(option, rows[i].name, n) == 0
						 : strcmp(option, rows[i].name) == 0)
			return &rows[i];
	}
	return NULL;
}

static int parse_cache(const char *value, int64_t *ret)
{
	char *end;
	long long v = strtoll(value, &end, 10);

	if (end == value || *end || v < 1 || v > 1 << 20) {
		cli_error("-o cache_mb: invalid value '%s'; expected a whole number from 1 to "
			  "1048576",
			  value);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

static int parse_one(const char *option, struct mount_options *o, struct text *fuse)
{
	const struct option_row *row = find_row(option);
	const char *value = strchr(option, '=');

	if (!row) {
		cli_error("unknown mount option: %s; see `gputracefs --help`", option);
		return -EINVAL;
	}
	switch (row->meaning) {
	case PASSED:
		text_char(fuse, ',');
		text_str(fuse, option);
		break;
	case CACHE:
		return parse_cache(value + 1, &o->cache_mb);
	case NAME:
		free(o->fsname);
		o->fsname = strdup(value + 1);
		return o->fsname ? 0 : -ENOMEM;
	case IGNORED:
		break;
	}
	return 0;
}

/* Splits the next option off *at, in place; a backslash escapes a comma. */
static char *next_option(char **at)
{
	char *from = *at, *to = *at, *first = *at;

	if (!*from)
		return NULL;
	while (*from && *from != ',') {
		if (*from == '\\' && from[1])
			from++;
		*to++ = *from++;
	}
	*at = *from ? from + 1 : from;
	*to = 0;
	return first;
}

int mount_options_parse(const char *given, struct mount_options *ret)
{
	scoped(mount_options_done) struct mount_options o = {0};
	scoped(free_ptr) char *copy = strdup(given ? given : "");
	scoped(text_done) struct text fuse = {0};
	char *at = copy, *option;

	if (!copy)
		return -ENOMEM;
	text_str(&fuse, "ro,nosuid,nodev,default_permissions,subtype=gputracefs");
	while ((option = next_option(&at))) {
		int r = *option ? parse_one(option, &o, &fuse) : 0;

		if (r < 0)
			return r;
	}
	text_char(&fuse, 0);
	if (fuse.error)
		return fuse.error;
	*ret = (struct mount_options){take(fuse.data), take(o.fsname), o.cache_mb};
	return 0;
}

void mount_options_done(struct mount_options *o)
{
	free(o->fuse);
	free(o->fsname);
}

char *mount_options_join(const struct mount_options *o, const char *fsname)
{
	scoped(text_done) struct text t = {0};

	text_str(&t, o->fuse);
	text_str(&t, ",fsname=");
	for (const char *c = o->fsname ? o->fsname : fsname; *c; c++) {
		if (*c == ',' || *c == '\\')
			text_char(&t, '\\');
		text_char(&t, *c);
	}
	text_char(&t, 0);
	return t.error ? NULL : take(t.data);
}
