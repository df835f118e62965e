# SPDX-License-Identifier: Apache-2.0
# gpucapture forwards signals and the exit status, leaves no output for programs without CUDA, and
# records a program with all its processes.
. "$(dirname "$0")/lib.sh"
export TMPDIR="$work"

# Invalid options.
fails -2 gpucapture true
says "missing -o OUT"
fails -2 gpucapture -o "$work/run" --digest=all true
says "invalid value"
fails -2 gpucapture -o "$work/run" --iterations 5-3 true
says "invalid range '5-3'; expected A-B"
fails -2 gpucapture -o "$work/absent/run" true
fails -2 gpucapture -o "$work" true
says "exists already; choose another, or give --force"
fails -2 gpucapture --force -o "$work" true
says "exists already; choose another"
no_line "give --force" "$work/stderr"
need_capture

# A program that cannot be run: one line, and the exit status of a shell.
fails -127 gpucapture -o "$work/run" -- "$work/absent"
says "cannot run $work/absent: No such file or directory"
fails -126 gpucapture -o "$work/run" -- "$work"
says "cannot run $work: Permission denied"
prints_nothing find "$work" -maxdepth 1 -name 'run*'

# LD_PRELOAD: the capture library comes after a sanitizer's run-time and before all others; paths
# that the loader would split are refused.
order=$(LD_PRELOAD="$work/libasan.so.8 $work/mine.so" gpucapture -o "$work/run" -- sh -c 'echo "$LD_PRELOAD"' 2>/dev/null) || [ $? -eq 3 ]
case $order in "$work/libasan.so.8 "*"/libgpucapture.so:$work/mine.so") ;; *) die "preloaded: $order" ;; esac
mkdir -p "$work/a b/tools" "$work/a b/capture/library"
cp "$BUILD/tools/gpucapture" "$work/a b/tools"
cp "$BUILD/capture/library/libgpucapture.so" "$work/a b/capture/library"
fails -4 "$work/a b/tools/gpucapture" -o "$work/run" -- true
says "its path contains a space or a colon"

# A program without CUDA: a message, and the program's exit status, or 3 if it succeeds.
fails -3 gpucapture -o "$work/run" -- true
says "true made no CUDA call"
fails -5 gpucapture -o "$work/run" -- sh -c 'exit 5'
says "made no CUDA call"
[ ! -e "$work/run" ] || die "a program without CUDA left a trace"
# unseen WHY COMMAND...: gpucapture says why it could not record the program.
unseen() {
	why=$1
	shift
	fails gpucapture -o "$work/run" -- sh -c '"$@"; exit 5' - "$@"
	says "sh made no CUDA call: nothing was recorded; "
	says ", which it started, cannot be recorded: $why"
}
unseen "its environment does not contain GPUCAPTURE_SESSION" env -u GPUCAPTURE_SESSION true
unseen "its environment does not contain GPUCAPTURE_SESSION" env -i true
unseen "its environment does not contain GPUCAPTURE_SESSION" env -i sh -c :
fails -5 gpucapture -o "$work/run" -- sh -c 'sh -c :; "$0"; exit 5' "$work/absent"
grep -q "^gpucapture: sh made no CUDA call: nothing was recorded$" "$work/stderr" || die "$(cat "$work/stderr")"
static=$programs/tests/capture/capture_static
if [ ! -x "$static" ]; then
	left_out "static programs: the compiler cannot link one"
else
	unseen "it is statically linked" "$static"
	fails -5 gpucapture -o "$work/run" -- "$static"
	says "capture_static cannot be recorded: it is statically linked"
	echo "#!$static" >"$work/script"
	chmod +x "$work/script"
	fails -5 gpucapture -o "$work/run" -- "$work/script"
	says "script cannot be recorded: it is statically linked"
fi
if ! setpriv --reuid 65534 true 2>/dev/null; then
	left_out "another user: setpriv is not permitted"
else
	unseen "it runs as another user" setpriv --reuid 65534 true
fi
if ! unshare -m mount -t tmpfs tmpfs /dev/shm 2>/dev/null; then
	left_out "another /dev/shm: mount namespaces cannot be made"
else
	unseen "it has another /dev/shm or root directory" unshare -m sh -c 'mount -t tmpfs tmpfs /dev/shm; env true; :'
fi
status=0
gpucapture -o "$work/run" -- sh -c 'kill -9 $$' 2>/dev/null || status=$?
equal "$status" 137
hands_on_signals gpucapture -o "$work/run" --

# The recorder is killed twice: each successor continues, and nothing is lost.
program=$SOURCE/tests/emugpu/driver.py
cat >"$work/twice.sh" <<'SH'
"$1" >/dev/null 2>&1
>"$0.began"
while [ ! -e "$0.go" ]; do sleep 0.05; done
"$1" >/dev/null 2>&1
>"$0.ended"
exit 6
SH
calls() { gputrace info --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"]["call"])'; }
begin() { # NAME: starts a recording and waits until the middle; $pid is gpucapture's
	gpucapture -o "$work/$1" -- gpuemu -- sh "$work/twice.sh" "$program" 2>"$work/$1.err" &
	pid=$!
	eventually test -e "$work/twice.sh.began" || die "$1 did not start"
	rm "$work/twice.sh.began"
}
reader() { pgrep -P "$pid" -x gpucapture; }
another() { # waits for a recorder process other than $old
	now=$(reader)
	[ -n "$now" ] && [ "$now" != "$old" ]
}
finish() { # waits for gpucapture to end with STATUS
	touch "$work/twice.sh.go"
	status=0
	wait $pid || status=$?
	rm "$work/twice.sh.go" "$work/twice.sh.ended"
	equal "$status" "$1"
}
begin unharmed
finish 6
begin harmed
for i in 1 2; do
	old=$(reader)
	kill -9 "$old"
	eventually another || die "no successor after reader $i was killed"
done
finish 6
gputrace verify "$work/harmed" >/dev/null
equal "$(calls "$work/harmed")" "$(calls "$work/unharmed")"
no_line "^gpucapture: " "$work/harmed.err"

# Killed repeatedly, until gpucapture gives up: it says where the recording is, and the recording is
# complete.
begin given_up
for i in 1 2 3 4 5; do
	old=$(reader)
	kill -9 "$old"
	[ $i -eq 5 ] || eventually another || die "no successor after reader $i was killed"
done
finish 6
equal "$(grep -c "^gpucapture: " "$work/given_up.err")" 1
grep -q "was killed 5 times; \`gputrace import -o OUT $work/given_up.raw\` makes the trace" "$work/given_up.err" || die "$(cat "$work/given_up.err")"
gputrace import -o "$work/given_up" "$work/given_up.raw" >"$work/out"
rm -r "$work/given_up.raw"
gputrace verify "$work/given_up" >/dev/null
equal "$(calls "$work/given_up")" "$(calls "$work/unharmed")"

# The process that waits for the program is killed: the other one records what the program starts
# later, even if nothing is traced at that moment, and makes the trace.
begin widow
kill -9 $pid
wait $pid || true
sleep 0.1
touch "$work/twice.sh.go"
eventually test -e "$work/twice.sh.ended" || die "the program did not end"
eventually test ! -e "$work/widow.raw" || die "no trace was made"
rm "$work/twice.sh.go" "$work/twice.sh.ended"
equal "$(calls "$work/widow")" "$(calls "$work/unharmed")"

# All of gpucapture is killed, the program is not.
begin orphan
kill -9 $pid "$(reader)"
touch "$work/twice.sh.go"
wait $pid || true
eventually test -e "$work/twice.sh.ended" || die "the program did not end"
fails -2 gpucapture -o "$work/orphan" -- touch "$work/began"
says "orphan.raw: it contains an earlier recording; run \`gputrace import"
[ ! -e "$work/began" ] || die "the program was run"
fails -2 gputrace import -o "$work/unharmed" "$work/orphan.raw"
gputrace import -o "$work/orphan" "$work/orphan.raw" >"$work/out"
rm -r "$work/orphan.raw"
rm "$work/twice.sh.go"
gputrace verify "$work/orphan" >/dev/null
equal "$(calls "$work/orphan")" "$(calls "$work/unharmed")"
fails -3 gputrace import -o "$work/none" "$work/orphan"
prints_nothing find "$work" -maxdepth 1 -name '*.new-*' -o -name '*.raw'

# A raw recording gives the same trace each time, also in another folder.
gpucapture --raw -o "$work/kept" -- gpuemu -- "$program" >"$work/out" 2>&1
[ ! -e "$work/kept" ] || die "a trace was made"
cp "$work/kept.raw/part-0000.raw" "$work/copy"
gputrace import -o "$work/kept" "$work/kept.raw" >"$work/out"
gputrace import -o "$work/copied" "$work/copy" >"$work/out"
diff -r "$work/kept" "$work/copied"
cp -r "$work/kept.raw/part-0000.raw" "$work/cut"
truncate -s -100 "$work/cut"
gputrace import -o "$work/short" "$work/cut" >"$work/out" 2>"$work/cut.err"
has_line "$work/cut: damaged or cut off at byte [0-9]*; [0-9]* bytes are missing in $work/short" <"$work/cut.err"
gputrace info --json "$work/short" | has_line '"capture.damaged": 1'
fails -2 gputrace import -o "$work/kept" "$work/kept.raw"
# Damage to any chunk but the first costs only that chunk.
python3 - "$work/copy" "$work/damaged" <<'PY'
import sys
data = open(sys.argv[1], 'rb').read()
chunks = [i for i in range(len(data)) if data.startswith(bytes.fromhex('572a4d18'), i)]
assert len(chunks) > 1, chunks
for n, (begin, end) in enumerate(zip(chunks[1:], chunks[2:] + [len(data)])):
    middle = (begin + end) // 2
    open(f'{sys.argv[2]}-{n}', 'wb').write(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:])
PY
imported=0
for damaged in "$work"/damaged-*; do
	status=0
	gputrace import -f -o "$work/rest" "$damaged" >"$work/out" 2>"$work/damaged.err" || status=$?
	if [ "$status" -ne 0 ]; then # all calls were in that chunk
		equal "$status" 3
		has_line "$damaged: no CUDA call was recorded" <"$work/damaged.err"
		continue
	fi
	imported=$((imported + 1))
	has_line "$damaged: damaged or cut off at byte [0-9]*; [0-9]* bytes are missing in $work/rest" <"$work/damaged.err"
	[ ! -e "$work/rest" ] || gputrace verify "$work/rest" >/dev/null
done
[ "$imported" -gt 0 ] || die "no damaged recording was imported"
rm -r "$work/kept.raw"

# A program that uses the driver API; the counts of the report are those of the trace.
gpuemu --gpus 2 -- "$program" >"$work/alone" 2>"$work/alone.err"
gpucapture -o "$work/run" --json -- gpuemu --gpus 2 -- "$program" >"$work/out" 2>"$work/err"
cmp "$work/alone" "$work/out" || die "the program's output changed"
gputrace verify "$work/run" >/dev/null
# The report is valid JSON whatever the trace is called.
gpucapture -o "$work/a\"b" --json -- gpuemu -- "$program" >/dev/null 2>"$work/quoted"
tail -n 1 "$work/quoted" | python3 -c 'import json, sys; assert json.load(sys.stdin)["trace"].endswith("a\"b")'

gputrace info --json "$work/run" >"$work/info"
python3 - "$work/info" "$work/err" <<'PY'
import json, sys
info = json.load(open(sys.argv[1]))
(report,) = [json.loads(line) for line in open(sys.argv[2]) if line.startswith('{')]
assert info['records']['call'] == report['calls'] > 50, (info['records'], report)
assert report['ranks'] == info['gpus'] >= 1, (info, report)
facts = info['facts']
assert facts['capture.calls_begun'] == facts['capture.calls'] == report['calls'], facts
PY
prints_nothing find "$work" -maxdepth 1 -name '*.new-*'

# A file created at OUT while the program ran is not overwritten, and the recording is kept; with
# --force the file is replaced or kept.
came() {
	fails -2 gpucapture "$@" -o "$work/came" -- gpuemu -- sh -c 'mkdir "$0"; echo mine >"$0/file"; exec "$1"' "$work/came" "$program"
	tail -n 1 "$work/stderr" >"$work/last"
	mv "$work/last" "$work/stderr"
	says "it exists already; the raw recording remains; \`gputrace import -o OUT $work/came.raw\` makes the trace"
	equal "$(cat "$work/came/file")" mine
	gputrace import -o "$work/went" "$work/came.raw" >"$work/out"
	gputrace verify "$work/went" >/dev/null
	rm -rf "$work/came" "$work/went" "$work/came.raw"
}
came
came --force
