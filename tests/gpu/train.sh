# SPDX-License-Identifier: Apache-2.0
# A recorded PyTorch program computes the same bits and prints the same output as without recording.
. "$SOURCE/tests/gpu/lib.sh"

# same NAME COMMAND...: compares its output with and without gpucapture.
same() {
	name=$1
	shift
	"$@" >"$work/$name.bare" 2>"$work/$name.bare.err"
	gpucapture -o "$work/$name" -- "$@" >"$work/$name.recorded" 2>"$work/$name.err" ||
		die "$name: ended with $?: $(tail -n 5 "$work/$name.err")"
	cmp "$work/$name.bare" "$work/$name.recorded" || die "$name: its output changed"
	cmp "$work/$name.bare.err" "$work/$name.err" || die "$name: it says something else"
	gputrace verify "$work/$name" >/dev/null
	gputrace info "$work/$name"
}
same alone "$python" "$train"
gputrace info --json "$work/alone" | "$python" -c '
import json, sys
info = json.load(sys.stdin)
assert info["gpus"] == 1 and info["records"]["kernel"] > 200, info["records"]
assert len([i for i in info["iterations"] if i["iteration"] >= 0]) == 10, info["iterations"]'
same rank $torchrun "$train"
gputrace info --json "$work/rank" | "$python" -c '
import json, sys
info = json.load(sys.stdin)
assert info["gpus"] == 1 and info["records"]["collective"] >= 10, info["records"]'
