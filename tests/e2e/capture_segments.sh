# SPDX-License-Identifier: Apache-2.0
# A long run is written in segments: with digests, contents, a window of iterations, and several processes. What memory
# it takes: bench/capture.
. "$(dirname "$0")/lib.sh"
need_capture
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"

# recorded NAME LAUNCHES: the trace is complete, with iterations of 1,024 calls and operations.
recorded() {
	gputrace verify "$work/$1" >/dev/null
	gputrace info --json "$work/$1" | python3 -c '
import json, sys
info, n = json.load(sys.stdin), int(sys.argv[1])
records = info["records"]
assert records["call"] == 2 * n + 5 and records["memset"] == 2 * n, records
numbers = [i["iteration"] for i in info["iterations"] if i["iteration"] >= 0]
assert len(numbers) > 120 and numbers == list(range(len(numbers))), numbers
' "$2"
}

gpucapture -o "$work/long" -- gpuemu -o "$work/report" -- "$ends" 40000
recorded long 40000
gpucapture -o "$work/longer" -- gpuemu -o "$work/report" -- "$ends" 270000 # is read twice
recorded longer 270000

for how in --digest=launch "--digest=comm --payloads=0-1" --iterations=3-4; do
	gpucapture $how -o "$work/made" -- gpuemu -o "$work/report" -- "$ends" 10000
	gputrace verify "$work/made" >/dev/null
	gputrace info --json "$work/made" | python3 -c '
import json, sys
info = json.load(sys.stdin)
how, records = sys.argv[1], info["records"]
if "iterations" in how:
    assert [i["iteration"] for i in info["iterations"]] == [3, 4], info["iterations"]
else:
    assert records["memset"] == 20000 and records["digest"] == ("launch" in how) * 20000, records
' "$how"
	rm -r "$work/made"
done

# A program that starts after another has ended is another rank on the same GPU.
cat >"$work/two.sh" <<'SH'
"$1" 10000
"$1" 5000
SH
gpucapture -o "$work/two" -- gpuemu -o "$work/report" -- sh "$work/two.sh" "$ends"
gputrace verify "$work/two" >/dev/null
gputrace info --json "$work/two" | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["gpus"] == 1 and info["records"]["memset"] == 30000, info["records"]
assert [r["facts"]["process_calls"] for r in info["ranks"]] == [20005, 10005], info["ranks"]
'
