/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/joining.h"

#include "base/scope.h"
#include "tools/cli.h"
#include "tools/place.h"
#include "tools/progress.h"

#include <errno.h>
#include <string.h>

static int join_into(struct place *place, const struct fmt_join *given, struct fmt_join_result *ret)
{
	struct fmt_join join = *given;
	struct fmt_error err = {0};
	struct progress bar;
	int r;

	join.output = place->trace;
	join.progress = place_progress;
	join.context = &bar;
	progress_begin(&bar);
	r = fmt_join(&join, ret, &err);
	progress_end(&bar);
	if (r == 0 && place_signal())
		r = -ECANCELED;
	if (r == -ECANCELED)
		return CLI_FAILED;
	if (r < 0)
		return cli_fail(r, &err, "join", err.file[0] ? err.file : join.paths[0],
				strstr(err.what, "not known to be")
					? "parts of a run share a launcher's job, a communicator "
					  "or PyTorch's distributedInfo"
					: NULL);
	r = place_commit(place);
	return r < 0 ? place_fail(r, place->output, 1) : CLI_OK;
}

int joining_run(const struct fmt_join *join, const char *output, int force,
		struct fmt_join_result *ret)
{
	struct place place;
	int status, r = place_begin(&place, output, force);

	if (r < 0)
		return place_fail(r, output, 1);
	status = join_into(&place, join, ret);
	place_done(&place);
	place_raise();
	return status;
}
