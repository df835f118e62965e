# SPDX-License-Identifier: Apache-2.0
# An interrupted or killed gpucapture leaves a recording from which the trace can be made later.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "a sanitized library cannot be preloaded into a plain program"
program=$BUILD/tests/capture/capture_ends
calls() { gputrace info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"]["call"])'; }

# interrupted ARGUMENT...: runs gpucapture, which gets a signal when it begins to write the trace.
interrupted() {
	got=0
	LD_PRELOAD=$BUILD/tests/e2e/libinterrupt.so gpucapture -o "$work/run" "$@" >/dev/null 2>"$work/err" || got=$?
	equal "$got" 143
	grep "^gpucapture: " "$work/err" >"$work/told"
	equal "$(cat "$work/told")" "gpucapture: cannot write $work/run: interrupted; what was recorded is in $(echo "$work"/run.new-*), see gpucapture --recover"
	[ ! -e "$work/run" ] || die "there is a trace"
}

gpucapture -o "$work/whole" -- gpuemu -- "$program" >/dev/null 2>&1
interrupted -- gpuemu -- "$program"
interrupted --recover "$work"/run.new-*
gpucapture -o "$work/run" --recover "$work"/run.new-*
gputrace verify "$work/run" >/dev/null
equal "$(calls "$work/run")" "$(calls "$work/whole")"
prints_nothing find "$work" -maxdepth 1 -name '*.new-*'

# All of gpucapture is killed: the recording stays, the next run with the same output reports it,
# and a trace can be made of it. Other files in its folder are not removed.
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
stop $pid # before its children, because it would start another recorder
for child in $(pgrep -P $pid -x gpucapture); do
	stop "$child"
	kill -9 $(pgrep -P "$child" -x gpucapture) "$child"
done
kill -9 $pid
wait $pid 2>/dev/null || true
>"$work/until.sh.go"
folder=$(echo "$work"/killed.new-*)
[ -s "$folder/spool" ] || die "no recording was left"
said() { gpucapture -f -o "$work/killed" -- gpuemu -o "$work/report" -- "$program" 2>"$work/err" && grep -qF "gpucapture: $folder: an earlier recording that was killed" "$work/err"; }
eventually said || die "no message about the recording that was left: $(cat "$work/err")"
[ -s "$folder/spool" ] || die "a recording was removed"
echo mine >"$folder/notes"
gpucapture -f -o "$work/killed" --recover "$folder"
gputrace verify "$work/killed" >/dev/null
equal "$(ls "$folder")" notes
rm -r "$folder"
gpucapture -f -o "$work/killed" -- gpuemu -o "$work/report" -- "$program" 2>"$work/err"
prints_nothing cat "$work/err"
prints_nothing find "$work" -maxdepth 1 -name '*.new-*'
