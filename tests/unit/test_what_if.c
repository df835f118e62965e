/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/what_if/what_if.h"

#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The parsed form as text: "gpu/2", with scopes in brackets. */
static void write_change(const struct what_if_change *c, char *to, size_t len)
{
	static const char *const keys[] = {"gpu",  "network", "latency",   "bandwidth", "copy",
					   "host", "launch",  "straggler", "overlap",	"ranks.dp"};
	size_t n = (size_t)snprintf(to, len, "%s/%g", keys[c->key], c->speed);

	if (c->key == WHAT_IF_OVERLAP || c->key == WHAT_IF_COPIES)
		n += (size_t)snprintf(to + n, len - n, "=%u", c->number);
	if (c->model)
		n += (size_t)snprintf(to + n, len - n, "(%s)", c->model);

	for (uint32_t i = 0; i < c->n_ranks; i++)
		n += (size_t)snprintf(to + n, len - n, "[%u-%u]", c->ranks[i].first,
				      c->ranks[i].last);
	if (c->kernel)
		n += (size_t)snprintf(to + n, len - n, "[kernel %s]", c->kernel);
	if (c->comm)
		n += (size_t)snprintf(to + n, len - n, "[comm %s]", c->comm);
	if (c->op)
		snprintf(to + n, len - n, "[%s]", c->op);
}

/* `want`: the changes, separated by spaces; NULL: invalid, and the message contains `why`. */
static const struct row {
	const char *spec, *want, *why;
} rows[] = {
	{"gpu=2x", "gpu/2", NULL},
	{"network=0.25x", "network/0.25", NULL},
	{"copy=1.5x,host=3x,launch=10x", "copy/1.5 host/3 launch/10", NULL},
	{"straggler=none", "straggler/1", NULL},
	{"gpu=H100-SXM5,kernel~a:gpu=L4", "gpu/1(H100-SXM5) gpu/1(L4)[kernel a]", NULL},
	{"overlap=off,gpu=2x", "overlap/1=1 gpu/2", NULL},
	{"overlap=full", "overlap/1=2", NULL},
	{"ranks.dp=64", "ranks.dp/1=64", NULL},
	{"rank1:gpu=0.67x,host=1.5x", "gpu/0.67[1-1] host/1.5", NULL},
	{"rank1,3-5:gpu=2x", "gpu/2[1-1][3-5]", NULL},
	{"host=2x,rank0,2:host=2x,gpu=2x", "host/2 host/2[0-0][2-2] gpu/2", NULL},
	{"kernel~*gemm*:gpu=2x", "gpu/2[kernel *gemm*]", NULL},
	{"kernel~void at::f<int, float>(int)*:gpu=2x", "gpu/2[kernel void at::f<int, float>(int)*]",
	 NULL},
	{"rank1-2:kernel~a:gpu=2x", "gpu/2[1-2][kernel a]", NULL},
	{"network.latency=2x,network.bandwidth=3x", "latency/2 bandwidth/3", NULL},
	{"broadcast:network.latency=2x", "latency/2[broadcast]", NULL},
	{"comm tp 0:network=2x", "network/2[comm tp 0]", NULL},
	{"all_reduce:network=2x,all_gather:network=4x",
	 "network/2[all_reduce] network/4[all_gather]", NULL},

	{"", NULL, "expected KEY=VALUE"},
	{"faster", NULL, "invalid change 'faster'"},
	{"gpus=2x", NULL, "invalid change 'gpus=2x'"},
	{"gpu=", NULL, "invalid value '' for gpu"},
	{"gpu=2", NULL, "expected a speed"},
	{"gpu=x", NULL, "expected a speed"},
	{"gpu=-2x", NULL, "expected a speed"},
	{"gpu=0x", NULL, "expected a speed"},
	{"gpu=0.0001x", NULL, "expected a speed"},
	{"gpu=2000x", NULL, "expected a speed"},
	{"gpu=1e2x", NULL, "expected a speed"},
	{"gpu=1.2.3x", NULL, "expected a speed"},
	{"gpu=nanx", NULL, "expected a speed"},
	{"gpu=fast", NULL, "or a GPU model such as H100"},
	{"copy=H100", NULL, "expected a speed"},
	{"gpu=2x,", NULL, "missing change after the last comma"},
	{",gpu=2x", NULL, "invalid change"},
	{"straggler=2x", NULL, "expected none"},
	{"rank1:network.latency=2x", NULL, "network.latency cannot be limited to ranks"},
	{"overlap=on", NULL, "expected off or full"},
	{"rank1:overlap=off", NULL, "overlap cannot be limited to ranks"},
	{"ranks.dp=0", NULL, "expected 1 to 65536"},
	{"ranks.dp=2x", NULL, "expected 1 to 65536"},
	{"batch=2x", NULL, "which dimension of a kernel is the batch"},
	{"rank:gpu=2x", NULL, "invalid scope 'rank'"},
	{"rank1,:gpu=2x", NULL, "invalid ranks"},
	{"rank3-1:gpu=2x", NULL, "invalid ranks"},
	{"rank1-:gpu=2x", NULL, "invalid ranks"},
	{"rank12345678901:gpu=2x", NULL, "invalid ranks"},
	{"rank1;gpu=2x", NULL, "invalid change"},
	{"rank1:network=2x", NULL, "network cannot be limited to ranks"},
	{"rank1:straggler=none", NULL, "straggler cannot be limited to ranks"},
	{"kernel~a:network=2x", NULL, "network cannot be limited to kernel~GLOB"},
	{"all_reduce:gpu=2x", NULL, "gpu cannot be limited to communicators and collectives"},
	{"kernel~:gpu=2x", NULL, "invalid scope 'kernel~'"},
	{"comm :network=2x", NULL, "invalid scope 'comm '"},
	{"all_reduces:network=2x", NULL, "invalid scope 'all_reduces'"},
	{"gpu=2x/host=2x", NULL, "slash"},
};

TEST_ROWS(test_specs, rows)
{
	struct what_if_error err = {""};
	struct what_if *w = NULL;
	char got[400] = "";
	int r = what_if_parse(row->spec, &w, &err);

	if (!row->want) {
		ck_assert_msg(r == -EINVAL && strstr(err.why, row->why), "'%s': %d, %s", row->spec,
			      r, err.why);
		return;
	}
	ck_assert_msg(r == 0, "'%s': %s", row->spec, err.why);
	ck_assert_str_eq(w->spec, row->spec);
	for (uint32_t k = 0; k < w->n; k++) {
		size_t len = strlen(got);

		if (k > 0)
			got[len++] = ' ';
		write_change(&w->changes[k], got + len, sizeof(got) - len);
	}
	ck_assert_str_eq(got, row->want);
	what_if_free(w);
}

TEST(test_limits)
{
	struct what_if_error err;
	struct what_if *w;
	char spec[600] = "";

	for (int i = 0; i <= WHAT_IF_CHANGES; i++)
		strcat(spec, i > 0 ? ",gpu=2x" : "gpu=2x");
	ck_assert_int_eq(what_if_parse(spec, &w, &err), -EINVAL);
	memset(spec, 'a', 300);
	spec[300] = 0;
	ck_assert_int_eq(what_if_parse(spec, &w, &err), -EINVAL);
	strcpy(spec, "rank0");
	for (int i = 0; i < WHAT_IF_RANGES; i++)
		strcat(spec, ",1");
	strcat(spec, ":gpu=2x");
	ck_assert_int_eq(what_if_parse(spec, &w, &err), -EINVAL);
}

TEST(test_ranks)
{
	struct what_if_error err;
	struct what_if *w;

	ck_assert_int_eq(what_if_parse("rank1,3-5:gpu=2x,host=2x", &w, &err), 0);
	for (uint32_t rank = 0; rank < 8; rank++) {
		int in = rank == 1 || (rank >= 3 && rank <= 5);

		ck_assert_int_eq(what_if_has_rank(&w->changes[0], rank), in);
		ck_assert_int_eq(what_if_has_rank(&w->changes[1], rank), 1);
	}
	what_if_free(w);
}
