/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cli.h"

#include "base/scope.h"
#include "base/text.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#define HELP_COLUMNS 92

static const char *program_name; /* NULL: as it was started */

/* ---- errors */

void cli_error(const char *format, ...)
{
	char line[3 * PATH_MAX]; /* a long path, followed by the reason */
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	}
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program_name ?: program_invocation_short_name, line);
}

static int status_of(int r)
{
	switch (-r) {
	case EINVAL:
	case EEXIST:
		return CLI_USAGE;
	case ENOMEM:
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case EMFILE:
	case ENFILE:
	case ENODEV:
	case EFBIG:
	case EBADF: /* standard output: that of these two */
	case EPIPE:
		return CLI_MACHINE;
	default:
		return CLI_INPUT;
	}
}

/* Returns true if `known`, the file of a struct fmt_error, is `file`. A long path is truncated at
 * the front. */
static bool is_same_file(const char *file, const char *known)
{
	size_t n = strlen(file), m = strlen(known);

	if (n > m && m + 1 == sizeof(((struct fmt_error *)NULL)->file))
		file += n - m;
	return !strcmp(file, known);
}

int cli_fail(int r, const struct fmt_error *err, const char *doing, const char *file,
	     const char *hint)
{
	bool known = err && err->what[0];
	const char *where = known && !is_same_file(file, err->file) ? err->file : "";
	size_t n = strlen(file);
	char offset[40] = "";

	if (strncmp(where, file, n) == 0 && (where[n] == '/' || where[n] == ':'))
		where += n + 1; /* a member of `file` */
	if (known && err->offset != FMT_NO_OFFSET)
		snprintf(offset, sizeof(offset), " at byte %" PRIu64, err->offset);
	cli_error("cannot %s %s: %s%s%s%s%s%s", doing, file, where, *where ? ": " : "",
		  known ? err->what : strerror(-r), offset, hint ? "; " : "", hint ? hint : "");
	return status_of(r);
}

int cli_fail_output(int r, const char *file)
{
	const char *hint = r == -ENOENT || r == -ENOTDIR ? "its directory must exist" : NULL;
	int status;

	if (r == -EEXIST) {
		cli_error("cannot write %s: it exists already; choose another", file);
		return CLI_USAGE;
	}
	status = cli_fail(r, NULL, "write", file, hint);
	if (r == -EIO)
		return CLI_MACHINE;
	return status == CLI_INPUT ? CLI_USAGE : status;
}

/* ---- usage */

static int n_options(const struct cli_command *c)
{
	int n = 0;

	while (c->options && c->options[n].name)
		n++;
	return n;
}

/* Starts a new line at column `indent` after a line of `used` columns. */
static void print_wrapped(const char *what, size_t used, int indent)
{
	if (used + 1 > (size_t)indent)
		used = (size_t)printf("\n%*s", indent - 1, "") - 1;
	while (*what) {
		size_t n = strcspn(what, " ");

		if (used + 1 + n > HELP_COLUMNS)
			used = (size_t)printf("\n%*s", indent - 1, "") - 1;
		used += (size_t)printf(" %.*s", (int)n, what);
		what += n + strspn(what + n, " ");
	}
	putchar('\n');
}

static void print_option(const struct cli_option *o)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", o->letter ? "-" : " ",
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, o->value ? "=" : "",
		 o->value ? o->value : "");
	printf("  %-28s", left);
	print_wrapped(o->what, 2 + (strlen(left) < 28 ? 28 : strlen(left)), 31);
}

static void print_help(const struct cli_command *c, bool only)
{
	static const struct cli_option help = {"help", 'h', NULL, "print this help"};
	static const struct cli_option version = {"version", 0, NULL, "print the version"};

	printf("usage: %s%s%s [OPTION...] %s\n\n%s.\n\nOptions:\n", program_name, only ? "" : " ",
	       only ? "" : c->name, c->operands, c->what);
	for (int i = 0; i < n_options(c); i++)
		print_option(&c->options[i]);
	print_option(&help);
	if (only)
		print_option(&version);
	if (c->notes)
		printf("\n%s", c->notes);
	printf("\nExit status: %s2 invalid command line, 3 unusable input,\n"
	       "4 missing requirement (such as FUSE, a GPU or disk space)%s.\n",
	       c->starts ? "that of COMMAND; or " : "0 success, 1 a check failed, ",
	       c->starts ? ", 126 or 127 COMMAND cannot be run" : "");
}

static void print_commands(const char *what, const struct cli_command *const *commands)
{
	printf("usage: %s COMMAND [OPTION...] ...\n\n%s.\n\nCommands:\n", program_name, what);
	for (; *commands; commands++) {
		char left[64];

		snprintf(left, sizeof(left), "%s %s", (*commands)->name, (*commands)->operands);
		printf("  %-28s %s\n", left, (*commands)->what);
	}
	printf("\nSee `%s COMMAND --help` for the options of a command, `%s --version` for the "
	       "version.\n"
	       "A TRACE is a trace directory, a packed file, or the root of a mount.\n",
	       program_name, program_name);
}

/* ---- parsing */

struct parser {
	struct option long_options[CLI_OPTIONS + 3];
	char letters[2 * CLI_OPTIONS + 5];
};

enum { OPTION_HELP = 1000, OPTION_VERSION };

static void make_parser(const struct cli_command *c, bool only, struct parser *p)
{
	char *letters = p->letters;
	int n = n_options(c);

	if (c->starts)
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (int i = 0; i < n; i++) {
		const struct cli_option *o = &c->options[i];

		p->long_options[i] = (struct option){
			o->name, o->value ? required_argument : no_argument, NULL, 2000 + i};
		if (!o->letter)
			continue;
		*letters++ = o->letter;
		if (o->value)
			*letters++ = ':';
	}
	p->long_options[n++] = (struct option){"help", no_argument, NULL, OPTION_HELP};
	if (only)
		p->long_options[n++] =
			(struct option){"version", no_argument, NULL, OPTION_VERSION};
}

/* Returns the index of the option that getopt_long() returned, or -1. */
static int option_index(const struct cli_command *c, int got)
{
	if (got >= 2000)
		return got - 2000;
	for (int i = 0; i < n_options(c); i++) {
		if (c->options[i].letter == got)
			return i;
	}
	return -1;
}

static int usage_error(const struct cli_command *c, bool only, const char *why, const char *what)
{
	cli_error("%s%s%s%s; see `%s%s%s --help`", only ? "" : c->name, only ? "" : ": ", why, what,
		  program_name, only ? "" : " ", only ? "" : c->name);
	return CLI_USAGE;
}

/* Appends a value to a list; NULL if the list gets too long. */
static const char *append_to_list(struct cli_args *args, char separator, const char *value)
{
	size_t len = strlen(args->list);
	int n = snprintf(args->list + len, sizeof(args->list) - len, "%.*s%s", len > 0, &separator,
			 value);

	return n >= 0 && (size_t)n < sizeof(args->list) - len ? args->list : NULL;
}

/* Reports a failed write to standard output, unless another failure was reported. */
static int check_output(int status)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || status > CLI_FAILED)
		return status;
	cli_error("cannot write the output: %s", strerror(errno));
	return CLI_MACHINE;
}

static int run_command(const struct cli_command *c, bool only, int argc, char **argv)
{
	struct parser parser = {0};
	struct cli_args args = {0};
	int got;

	make_parser(c, only, &parser);
	opterr = 0;
	while ((got = getopt_long(argc, argv, parser.letters, parser.long_options, NULL)) != -1) {
		int i = option_index(c, got);

		if (got == 'h' || got == OPTION_HELP) {
			print_help(c, only);
			return CLI_OK;
		}
		if (got == OPTION_VERSION) {
			printf("%s %s\n", program_name, PROJECT_VERSION);
			return CLI_OK;
		}
		if (got == ':')
			return usage_error(c, only, "missing value after ", argv[optind - 1]);
		if (got == '?' && optopt >= OPTION_HELP)
			return usage_error(c, only, "unexpected value: ", argv[optind - 1]);
		if (got == '?' || i < 0)
			return usage_error(c, only, "unknown option: ", argv[optind - 1]);
		args.values[i] = optarg ? optarg : "";
		if (c->options[i].list)
			args.values[i] = append_to_list(&args, c->options[i].list, optarg);
		if (!args.values[i])
			return usage_error(c, only, "too many values of --", c->options[i].name);
	}
	args.operands = argv + optind;
	args.n_operands = argc - optind;
	if (args.n_operands < c->min_operands)
		return usage_error(c, only, "missing argument; expected ", c->operands);
	if (args.n_operands > c->max_operands)
		return usage_error(c, only,
				   "unexpected argument: ", args.operands[c->max_operands]);
	return c->run(&args);
}

/* Opens closed standard descriptors on a file that can be neither read nor written. Otherwise
 * another file could get the number and receive the output. */
static void hold_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/", O_PATH | O_CLOEXEC);
}

static void ignore_signal(int number)
{
}

/* Turns SIGXFSZ into an EFBIG error. Uses a handler, because child processes would inherit an
 * ignored signal. */
static void prepare_process(void)
{
	struct sigaction action = {.sa_handler = ignore_signal};

	hold_standard();
	sigaction(SIGXFSZ, &action, NULL);
}

int cli_main_one(const struct cli_command *command, int argc, char **argv)
{
	program_name = command->name;
	prepare_process();
	return check_output(run_command(command, true, argc, argv));
}

static int run_chosen(const char *program, const char *what,
		      const struct cli_command *const *commands, int argc, char **argv)
{
	if (argc < 2) {
		cli_error("no command given; see `%s --help`", program);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_commands(what, commands);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("%s %s\n", program, PROJECT_VERSION);
		return CLI_OK;
	}
	for (; *commands; commands++) {
		if (!strcmp(argv[1], (*commands)->name))
			return run_command(*commands, false, argc - 1, argv + 1);
	}
	cli_error("unknown %s: %s; see `%s --help`", argv[1][0] == '-' ? "option" : "command",
		  argv[1], program);
	return CLI_USAGE;
}

int cli_main(const char *program, const char *what, const struct cli_command *const *commands,
	     int argc, char **argv)
{
	program_name = program;
	prepare_process();
	return check_output(run_chosen(program, what, commands, argc, argv));
}

/* Appends "a|b|c" as "a, b or c". */
static void put_choices(struct text *t, const char *choices)
{
	const char *last = strrchr(choices, '|');

	for (const char *c = choices; *c; c++) {
		if (*c == '|')
			text_str(t, c == last ? " or " : ", ");
		else
			text_char(t, *c);
	}
	text_char(t, 0);
}

int cli_choice(const struct cli_args *args, const struct cli_option *options, int option,
	       int missing)
{
	const char *value = args->values[option], *at = options[option].value;
	scoped(text_done) struct text expected = {0};

	if (!value)
		return missing;
	for (int i = 0; *at; i++) {
		size_t n = strcspn(at, "|");

		if (strlen(value) == n && strncmp(value, at, n) == 0)
			return i;
		at += n + (at[n] == '|');
	}
	put_choices(&expected, options[option].value);
	cli_error("--%s: invalid value '%s'; expected %s", options[option].name, value,
		  expected.error ? options[option].value : expected.data);
	return -1;
}

int cli_range(const struct cli_args *args, const struct cli_option *options, int option,
	      int64_t *first, int64_t *last)
{
	const char *value = args->values[option];
	char *end;

	*first = *last = -1;
	if (!value)
		return 0;
	*first = *last = strtoll(value, &end, 10);
	if (end != value && *end == '-' && end[1])
		*last = strtoll(end + 1, &end, 10);
	if (end == value || *end || *first < 0 || *last < *first) {
		cli_error("--%s: invalid range '%s'; expected A-B or A, such as 10-19 or 10",
			  options[option].name, value);
		return -EINVAL;
	}
	return 0;
}

int cli_number(const struct cli_args *args, const struct cli_command *command, int option,
	       int64_t min, int64_t max, int64_t missing, int64_t *ret)
{
	const char *given = args->values[option];
	char *end;
	long long v;

	if (!given) {
		*ret = missing;
		return 0;
	}
	errno = 0;
	v = strtoll(given, &end, 10);
	if (errno || end == given || *end || v < min || v > max) {
		const char *name = command->options[option].name;

		if (max == INT64_MAX)
			cli_error("--%s: invalid value '%s'; expected a whole number", name, given);
		else
			cli_error("--%s: invalid value '%s'; expected a whole number from %" PRId64
				  " to %" PRId64,
				  name, given, min, max);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}
