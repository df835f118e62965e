# SPDX-License-Identifier: Apache-2.0
# A long run is written a stretch at a time while it goes on, in little memory; also when the process
# that makes the trace is killed on the way, and when what was left is recovered.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "a sanitizer's memory is none that can be measured"
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"

# recorded NAME: all of it is there, as iterations of 1,024 calls and operations.
recorded() {
	gputrace verify "$work/$1" >/dev/null
	sized "$work/$1"
	gputrace info --json "$work/$1" | python3 -c '
import json, sys
info = json.load(sys.stdin)
records = info["records"]
assert records["call"] == 400005 and records["memset"] == 400000, records
numbers = [i["iteration"] for i in info["iterations"] if i["iteration"] >= 0]
assert len(numbers) > 600 and numbers == list(range(len(numbers))), numbers
'
}

python3 - "$BUILD/tools/gpucapture" "$work/long" gpuemu -o "$work/report" -- "$ends" 200000 <<'PY'
import resource, subprocess, sys
subprocess.run([sys.argv[1], '-o', sys.argv[2], '--', *sys.argv[3:]], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 160 << 10, f'{peak} KiB'
PY
recorded long

# The second half is recorded when nobody makes a trace any more; the one that reads makes it then.
cat >"$work/halves.sh" <<'SH'
"$1" 100000
>"$0.began"
while [ ! -e "$0.go" ]; do sleep 0.05; done
SH
gpucapture -o "$work/killed" -- gpuemu -o "$work/report" -- sh "$work/halves.sh" "$ends" &
pid=$!
eventually test -e "$work/halves.sh.began" || die "it did not begin"
reader=$(pgrep -P $pid -x gpucapture)
kill -9 "$(pgrep -P "$reader" -x gpucapture)"
>"$work/halves.sh.go"
while now=$(pgrep -P $pid -x gpucapture); do
	[ "$now" = "$reader" ] || die "the one that reads died as well"
	sleep 0.05
done
wait $pid
gputrace verify "$work/killed" >/dev/null
gputrace info --json "$work/killed" | grep -q '"memset": 200000' || die "$(gputrace info "$work/killed")"
