/* SPDX-License-Identifier: Apache-2.0 */

/* The command line of every program: arguments are parsed, and usage is printed, from tables of
 * commands and options; exit statuses; errors of one line. For main threads.
 */
#pragma once

#include "formats/trace/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses of every program. */
enum {
	CLI_OK = 0,	 /* done, and all checks passed */
	CLI_FAILED = 1,	 /* a check failed */
	CLI_USAGE = 2,	 /* the command line is wrong */
	CLI_INPUT = 3,	 /* the input cannot be used */
	CLI_MACHINE = 4, /* the machine does not meet a requirement */
};

struct cli_option {
	const char *name;  /* "json" for --json */
	char letter;	   /* 'o' for -o, or 0 */
	const char *value; /* "N" in the usage; NULL: no value */
	const char *what;
	char list; /* values of repeated options are joined by this character; at most one option */
};

#define CLI_OPTIONS 24
#define CLI_LIST_BYTES 8192

struct cli_args {
	const char *values[CLI_OPTIONS]; /* by the option's index: NULL when not given, "" for one
					    without value, else the last given */
	char **operands;
	int n_operands;
	char list[CLI_LIST_BYTES]; /* the joined values of a list */
};

struct cli_command {
	const char *name;     /* "info" */
	const char *operands; /* "TRACE", "FILE..." */
	int min_operands, max_operands;
	const char *what;		  /* one line, no full stop */
	const struct cli_option *options; /* ended by a NULL name; may be NULL; --help is implied */
	const char *notes;		  /* more for --help, ended by a newline; may be NULL */
	int (*run)(const struct cli_args *args); /* returns the exit status */
	int starts; /* 1: the operands are another program's command line; options end there */
};

/* Runs argv[1] of `commands`, which ends with NULL; the return value is main()'s. */
int cli_main(const char *program, const char *what, const struct cli_command *const *commands,
	     int argc, char **argv);

/* Runs the only command of a program, which is named as the program. */
int cli_main_one(const struct cli_command *command, int argc, char **argv);

/* Parses the integer value of an option into *ret, from `min` to `max`; `missing` if the option was
 * not given. Prints an error and returns -EINVAL for an invalid value: exit with CLI_USAGE. */
int cli_number(const struct cli_args *args, const struct cli_command *command, int option,
	       int64_t min, int64_t max, int64_t missing, int64_t *ret);

/* Returns the index of the option's value among those in its usage, "a|b|c"; `missing` if the
 * option was not given; -1 after printing an error: exit with CLI_USAGE. */
int cli_choice(const struct cli_args *args, const struct cli_option *options, int option,
	       int missing);

/* Parses the range A-B of an option, or A alone, of numbers >= 0; -1 and -1 if the option was not
 * given. Prints an error and returns -EINVAL for an invalid range: exit with CLI_USAGE. */
int cli_range(const struct cli_args *args, const struct cli_option *options, int option,
	      int64_t *first, int64_t *last);

/* Prints "PROGRAM: " and the message on stderr as one line; escapes control characters. */
__attribute__((format(printf, 1, 2))) void cli_error(const char *format, ...);

/* Prints the line for a failed call: "PROGRAM: cannot DOING FILE: REASON at byte N; HINT". `r` is a
 * negative errno; `err` (may be NULL) has details if its `what` is set; `hint` may be NULL. Returns
 * the exit status. */
int cli_fail(int r, const struct fmt_error *err, const char *doing, const char *file,
	     const char *hint);

/* cli_fail() for an output that cannot be written; -EEXIST: something exists there. */
int cli_fail_output(int r, const char *file);
