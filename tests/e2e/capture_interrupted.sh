# SPDX-License-Identifier: Apache-2.0
# Who does not want to wait for the trace gets it later.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "what is preloaded here is sanitized, and what is recorded is not"
program=$BUILD/tests/capture/capture_ends
calls() { gputrace info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"]["call"])'; }

# interrupted ARGUMENT...: of gpucapture, which gets a signal when it begins to write.
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
[ -z "$(find "$work" -maxdepth 1 -name '*.new-*')" ] || die "something is left of what it wrote"
