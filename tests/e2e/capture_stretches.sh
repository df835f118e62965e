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

# peak LIMIT ARGUMENT...: records with these, and leaves the most memory that it took in KiB; more than the limit is too much.
peak() {
	python3 - "$@" <<'PY' >"$work/peak"
import resource, subprocess, sys
limit, *arguments = sys.argv[1:]
subprocess.run(['gpucapture', *arguments], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < int(limit), f'{peak} KiB of {limit}'
print(peak)
PY
}

# Ten times as much takes no more memory than a stretch does, where 130 bytes for each of 600,000 events would be 78 MB: with
# digests, contents, or a window of iterations. Short iterations are grouped
# where a stretch has enough of them; each is 400 bytes of an index.
for how in --digest=launch "--digest=comm --payloads=0-1" --iterations=3-4; do
	peak 1000000 $how --stretch=32768 -o "$work/short" -- gpuemu -o "$work/report" -- "$ends" 15000
	peak $(($(cat "$work/peak") + 25000)) $how --stretch=32768 -o "$work/tenfold" -- gpuemu -o "$work/report" -- "$ends" 150000
	gputrace verify "$work/tenfold" >/dev/null
	gputrace info --json "$work/tenfold" | python3 -c '
import json, sys
info = json.load(sys.stdin)
how, records = sys.argv[1], info["records"]
if "iterations" in how:
    assert [i["iteration"] for i in info["iterations"]] == [3, 4], info["iterations"]
else:
    assert records["memset"] == 300000 and records["digest"] == ("launch" in how) * 300000, records
' "$how"
	rm -r "$work/short" "$work/tenfold"
done

# A program that begins when the one before it has been written is another rank.
cat >"$work/two.sh" <<'SH'
"$1" 20000
"$1" 10000
SH
gpucapture --stretch=10000 -o "$work/two" -- gpuemu -o "$work/report" -- sh "$work/two.sh" "$ends"
gputrace verify "$work/two" >/dev/null
gputrace info --json "$work/two" | python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["gpus"] == 2 and info["records"]["memset"] == 60000, info["records"]
assert [r["facts"]["process_calls"] for r in info["ranks"]] == [40005, 20005], info["ranks"]
'

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
