/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/library/entry/launch.h"

int cap_launch_full(uint32_t api, uint32_t traits, const struct cap_plan_step *plan,
		    cap_launch_fn *real, const uint64_t words[CAP_LAUNCH_WORDS])
{
	const uint64_t *w = words;
	struct cap_call c;
	bool on = cap_call_enter(&c, api, traits, plan, words);
	int r = real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]);

	if (on)
		cap_call_leave(&c, r);
	return r;
}
