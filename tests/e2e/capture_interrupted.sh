# SPDX-License-Identifier: Apache-2.0
# An import that is interrupted or killed can be repeated: the raw recording stays.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "a sanitized library cannot be preloaded into a plain program"
program=$BUILD/tests/capture/capture_ends
calls() { gputrace info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"]["call"])'; }

# interrupted COMMAND...: the command gets a signal when it begins to write a trace.
interrupted() {
	got=0
	LD_PRELOAD=$BUILD/tests/e2e/libinterrupt.so "$@" >/dev/null 2>"$work/err" || got=$?
	equal "$got" 143
	[ ! -e "$work/run" ] || die "there is a trace"
	[ -s "$work/run.raw/part-0000.raw" ] || die "the raw recording is gone"
}

gpucapture -o "$work/whole" -- gpuemu -- "$program" >/dev/null 2>&1
interrupted gpucapture -o "$work/run" -- gpuemu -- "$program"
grep "^gpucapture: " "$work/err" >"$work/told"
equal "$(cat "$work/told")" "gpucapture: cannot write $work/run: interrupted; the raw recording remains; \`gputrace import -o OUT $work/run.raw\` makes the trace"
interrupted gputrace import -o "$work/run" "$work/run.raw"
gputrace import -o "$work/run" "$work/run.raw" >/dev/null
gputrace verify "$work/run" >/dev/null
equal "$(calls "$work/run")" "$(calls "$work/whole")"
rm -r "$work/run.raw"
prints_nothing find "$work" -maxdepth 1 -name '*.new-*' -o -name '*.raw'

# All of gpucapture is killed: the recording stays, the next run with the same output refuses to
# start, and a trace can be made of it after the program has ended.
cat >"$work/until.sh" <<'SH'
"$1" 1000
>"$0.began"
while [ ! -e "$0.go" ]; do sleep 0.05; done
SH
# stop PID: stops the process and waits until it has stopped.
is_stopped() { grep -q '^State:[[:space:]]*T' "/proc/$1/status"; }
stop() {
	kill -STOP "$1"
	eventually is_stopped "$1"
}
setsid gpucapture -o "$work/killed" -- gpuemu -o "$work/report" -- sh "$work/until.sh" "$program" >/dev/null 2>&1 &
pid=$!
eventually test -e "$work/until.sh.began" || die "the program did not start"
stop $pid # before its child, because it would start another recorder
kill -9 $(pgrep -P $pid -x gpucapture) $pid
wait $pid 2>/dev/null || true
>"$work/until.sh.go"
[ -s "$work/killed.raw/part-0000.recording" ] || die "no recording was left"
fails -2 gpucapture -f -o "$work/killed" -- true
says "$work/killed.raw: it contains an earlier recording; run \`gputrace import -o OUT $work/killed.raw\`"
gputrace import -o "$work/killed" "$work/killed.raw" >/dev/null
gputrace verify "$work/killed" >/dev/null
equal "$(calls "$work/killed")" 2005
rm -r "$work/killed.raw"
gpucapture -f -o "$work/killed" -- gpuemu -o "$work/report" -- "$program" 2>"$work/err"
prints_nothing cat "$work/err"
prints_nothing find "$work" -maxdepth 1 -name '*.new-*' -o -name '*.raw'

# A signal that arrives before the program is started ends the program.
if command -v strace >/dev/null; then
	fails -143 timeout 20 strace -qq -o "$work/calls" -e inject=clone,clone3,fork,vfork:signal=TERM:when=1 \
		gpucapture -o "$work/ended" -- sleep 60
else
	left_out "a signal before the program is started (needs strace)"
fi
