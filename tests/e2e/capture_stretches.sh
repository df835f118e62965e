# SPDX-License-Identifier: Apache-2.0
# A long run is written a stretch at a time while it goes on; also when the process that makes the
# trace is killed on the way, and when what was left is recovered. What memory it takes: bench/capture.
. "$(dirname "$0")/lib.sh"
need_capture
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"

# recorded NAME: all of it is there, as iterations of 1,024 calls and operations.
recorded() {
	gputrace verify "$work/$1" >/dev/null
	gputrace info --json "$work/$1" | python3 -c '
import json, sys
info = json.load(sys.stdin)
records = info["records"]
assert records["call"] == 80005 and records["memset"] == 80000, records
numbers = [i["iteration"] for i in info["iterations"] if i["iteration"] >= 0]
assert len(numbers) > 120 and numbers == list(range(len(numbers))), numbers
'
}

# A stretch is a quarter of all events or more: a recorder that has four of them gives up times that have not come, and
# on a busy machine those of a whole run may come late.
gpucapture --stretch=49152 -o "$work/long" -- gpuemu -o "$work/report" -- "$ends" 40000
recorded long

# A program that runs another with a number, and goes on when $0.go is there.
cat >"$work/halves.sh" <<'SH'
"$1" "$2"
>"$0.began"
while [ ! -e "$0.go" ]; do sleep 0.05; done
SH

# begun_to_write: the first stretch is on disk.
begun_to_write() {
	[ -n "$(find "$work" -path "$work/made.new-*/trace/rank-00000.chunks" -size +0 2>/dev/null)" ]
}

# While the program goes on, there are stretches of it already: with digests, contents, or a window of iterations.
for how in --digest=launch "--digest=comm --payloads=0-1" --iterations=3-4; do
	gpucapture $how --stretch=12288 -o "$work/made" -- gpuemu -o "$work/report" -- sh "$work/halves.sh" "$ends" 10000 &
	pid=$!
	eventually test -e "$work/halves.sh.began" || die "the program did not start"
	eventually begun_to_write || die "$how: nothing is written yet"
	>"$work/halves.sh.go"
	wait $pid
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
	rm -r "$work/made" "$work"/halves.sh.*
done

# A program that begins when the one before it has been written is another rank, on the same GPU.
cat >"$work/two.sh" <<'SH'
"$1" 10000
"$1" 5000
SH
gpucapture --stretch=16384 -o "$work/two" -- gpuemu -o "$work/report" -- sh "$work/two.sh" "$ends"
gputrace verify "$work/two" >/dev/null
gputrace info --json "$work/two" | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["gpus"] == 1 and info["records"]["memset"] == 30000, info["records"]
assert [r["facts"]["process_calls"] for r in info["ranks"]] == [20005, 10005], info["ranks"]
'

# When the one that makes the trace is killed, the one that reads does so in the end.
gpucapture --stretch=24576 -o "$work/killed" -- gpuemu -o "$work/report" -- sh "$work/halves.sh" "$ends" 20000 &
pid=$!
eventually test -e "$work/halves.sh.began" || die "the program did not start"
reader=$(pgrep -P $pid -x gpucapture)
maker() { pgrep -P "$reader" -x gpucapture >"$work/maker"; }
eventually maker || die "no process makes the trace"
kill -9 "$(cat "$work/maker")"
>"$work/halves.sh.go"
while now=$(pgrep -P $pid -x gpucapture); do
	[ "$now" = "$reader" ] || die "the process that reads the rings died as well"
	sleep 0.05
done
wait $pid
gputrace verify "$work/killed" >/dev/null
gputrace info --json "$work/killed" | has_line '"memset": 40000'
