# SPDX-License-Identifier: Apache-2.0
# Commands that take longer than a second show their progress on a terminal, on a line that is
# removed at the end; nothing if stderr is not a terminal, and nothing on stdout.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "a sanitized library cannot be preloaded into a plain program"
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "cannot open a terminal"
cd "$work"
cat >program <<PROGRAM
#!/bin/sh
"$ends" 100
printf 'no line end'
PROGRAM
chmod +x program

# on WHERE: prints a recording's output to a terminal that is its stdout, stderr or both.
on() {
	rm -rf run
	LD_PRELOAD=$BUILD/tests/e2e/libslow.so python3 "$SOURCE/tests/e2e/progress.py" "$1" \
		gpucapture -o run -- gpuemu -o report -- ./program || die "it ended with $?"
	gputrace verify run >/dev/null
}

equal "$(on stdout)" "'no line end'"
on stderr >shown
grep -q 'Kwriting *[0-9]* %' shown || die "$(cat shown)"
# Forty blanks wrap to a new line unless the cursor is at column 0; then the progress line is
# removed.
on both >shown
python3 - shown <<'PY'
import ast, sys
shown = ast.literal_eval(open(sys.argv[1]).read())
before, line = shown.split('no line end')
assert before == '', shown
assert line.startswith(' ' * 40 + '\r\x1b[Kwriting'), shown
assert line.endswith('\r\x1b[K'), shown
assert '\n' not in line, shown
PY
