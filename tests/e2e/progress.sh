# SPDX-License-Identifier: Apache-2.0
# What takes longer than a second says on a terminal how far it is, on a line of its own that goes
# again; nothing is said where stderr is no terminal, nor on stdout.
. "$(dirname "$0")/lib.sh"
need_capture
[ "$programs" = "$BUILD" ] || skip "what is preloaded here is sanitized, and what is recorded is not"
ends=$programs/tests/capture/capture_ends
[ -x "$ends" ] || skip "this build has no CUDA headers"
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "there are no terminals to be had"
cd "$work"
cat >program <<PROGRAM
#!/bin/sh
"$ends" 100
printf 'no line end'
PROGRAM
chmod +x program

# on WHERE: what a recording writes to a terminal, if that is its stdout, stderr or both.
on() {
	rm -rf run
	LD_PRELOAD=$BUILD/tests/e2e/libslow.so python3 "$SOURCE/tests/e2e/progress.py" "$1" \
		gpucapture -o run -- gpuemu -o report -- ./program || die "it ended with $?"
	gputrace verify run >/dev/null
}

equal "$(on stdout)" "'no line end'"
on stderr >shown
grep -q 'Kwriting *[0-9]* %' shown || die "$(cat shown)"
# Forty blanks go to the next line unless nothing stands on this one; then the line is taken away.
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
