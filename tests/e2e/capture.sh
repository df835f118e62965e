# SPDX-License-Identifier: Apache-2.0
# gpucapture hands signals and status on, leaves nothing where there was no CUDA, and records a
# program with all its processes.
. "$(dirname "$0")/lib.sh"
export TMPDIR="$work"

# What is asked for wrongly.
fails -2 gpucapture true
says "where to?"
fails -2 gpucapture -o "$work/run" --digest=all true
says "none of"
fails -2 gpucapture -o "$work/run" --iterations 5-3 true
says "no range"
fails -2 gpucapture -o "$work/absent/run" true
fails -2 gpucapture -o "$work" true
says "exists already"
need_capture

fails -127 gpucapture -o "$work/run" -- "$work/absent"
[ ! -e "$work/run" ] || die "a program that was not run left a trace"

# No CUDA: it says so, and the status is the program's.
fails -5 gpucapture -o "$work/run" -- sh -c 'exit 5'
says "made no CUDA call"
[ ! -e "$work/run" ] || die "a program without CUDA left a trace"
status=0
gpucapture -o "$work/run" -- sh -c 'kill -9 $$' 2>/dev/null || status=$?
equal "$status" 137
gpucapture -o "$work/run" -- sh -c 'trap "exit 7" TERM; echo started >"$0"; while :; do sleep 0.05; done' "$work/started" 2>/dev/null &
pid=$!
while [ ! -s "$work/started" ]; do sleep 0.05; done
kill -TERM $pid
status=0
wait $pid || status=$?
equal "$status" 7

# The process that records is killed: the status is still the program's, and nothing is left.
gpucapture -o "$work/run" -- sh -c '>"$0.began"; while [ ! -e "$0" ]; do sleep 0.05; done; exit 6' \
	"$work/go" 2>"$work/err" &
pid=$!
while [ ! -e "$work/go.began" ]; do sleep 0.05; done
kill -9 "$(pgrep -P $pid -x gpucapture)"
touch "$work/go"
status=0
wait $pid || status=$?
equal "$status" 6
equal "$(wc -l <"$work/err")" 1
grep -q "was killed" "$work/err" || die "nothing is said of the process that was killed"
[ -z "$(find "$work" -maxdepth 1 -name '*.new-*')" ] || die "something is left of what it wrote"

# A driver program; the counts of the report are those of the trace.
program=$BUILD/tests/emugpu/emugpu_driver
gpuemu --gpus 2 -- "$program" >"$work/alone" 2>"$work/alone.err"
gpucapture -o "$work/run" --json -- gpuemu --gpus 2 -- "$program" >"$work/out" 2>"$work/err"
cmp "$work/alone" "$work/out" || die "the program's output changed"
gputrace verify "$work/run" >/dev/null
# The report is JSON whatever the trace is called.
gpucapture -o "$work/a\"b" --json -- gpuemu -- "$program" >/dev/null 2>"$work/quoted"
tail -n 1 "$work/quoted" | python3 -c 'import json, sys; assert json.load(sys.stdin)["trace"].endswith("a\"b")'

gputrace info --json "$work/run" >"$work/info"
python3 - "$work/info" "$work/err" <<'PY'
import json, sys
info = json.load(open(sys.argv[1]))
(report,) = [json.loads(line) for line in open(sys.argv[2]) if line.startswith('{')]
assert info['records']['call'] == report['calls'] > 50, (info['records'], report)
assert report['ranks'] == info['gpus'] >= 1, (info, report)
PY
[ -z "$(find "$work" -maxdepth 1 -name '*.new-*')" ] || die "something is left beside the trace"

# What came to be at OUT while the program ran stays, and so does the recording; with --force it is a trace or stays, too.
came() {
	fails -2 gpucapture "$@" -o "$work/came" -- gpuemu -- sh -c 'mkdir "$0"; echo mine >"$0/file"; exec "$1"' "$work/came" "$program"
	tail -n 1 "$work/stderr" >"$work/last"
	mv "$work/last" "$work/stderr"
	says "File exists; the recording is $work/came.new-"
	equal "$(cat "$work/came/file")" mine
	gputrace verify "$work"/came.new-*/trace >/dev/null
	rm -rf "$work/came" "$work"/came.new-*
}
came
came --force
