# SPDX-License-Identifier: Apache-2.0
# A full disk loses only what does not fit: the program is unaffected, one line reports the loss,
# and the result can be opened and lists what is missing.
. "$(dirname "$0")/lib.sh"
need_capture
here=$programs/tests/capture
[ -x "$here/capture_ends" ] || skip "this build has no CUDA headers"
mkdir "$work/small"
mount -t tmpfs -o size=96k tmpfs "$work/small" 2>/dev/null || skip "may not mount"
run=$work/small/run

# full STATUS COMMAND...: runs gpucapture without space for the trace (in another folder), or for
# all of the raw recording.
full() {
	status=$1
	shift
	got=0
	gpucapture -o "$run" -- "$@" >"$work/out" 2>"$work/err" || got=$?
	equal "$got" "$status"
	grep "^gpucapture: " "$work/err" >"$work/told" || [ $? -eq 1 ]
	equal "$(wc -l <"$work/told")" 1
	[ ! -e "$run" ] || mv "$run" "$work/elsewhere"
	if [ ! -e "$work/elsewhere" ]; then
		has_line "cannot write $run.*: No space left on device.*; the raw recording remains; \`gputrace import -o OUT $run.raw\` makes" <"$work/told"
	fi
	[ -e "$work/elsewhere" ] || gputrace import -o "$work/elsewhere" "$run.raw" >"$work/out"
	gputrace verify "$work/elsewhere" >/dev/null
	gputrace info "$work/elsewhere" >"$work/info"
	rm -rf "$work/elsewhere" "$run.raw"
	prints_nothing ls -A "$work/small"
}

# The raw recording is kept. If the program itself fails, the status is the program's.
for own in 0 7; do
	full $((own ? own : 4)) gpuemu -- sh -c '"$0" 1000; exit "$1"' "$here/capture_ends" $own
	grep -q "2,005 begun, 2,005 recorded, .* here" "$work/info" || die "$(cat "$work/info")"
done

# No space for the raw recording while the program runs: the program does not wait.
mount -o remount,size=256k "$work/small"
full 4 gpuemu -o "$work/report" -- "$here/capture_ends" 40000
mount -o remount,size=96k "$work/small"
export LD_LIBRARY_PATH="$here"
grep -q "missing .* calls begun but not recorded: No space left on device" "$work/info" || die "$(cat "$work/info")"

# No space at all: the program is not started.
dd if=/dev/zero of="$work/small/file" bs=1k count=96 2>/dev/null || true
fails -4 gpucapture -o "$run" -- touch "$work/begun"
says "No space left on device"
[ ! -e "$work/begun" ] || die "the program was run"
rm "$work/small/file"
prints_nothing ls -A "$work/small"

# Little or no space for rings: the program runs, and the trace reports lost events.
if ! unshare -m true 2>/dev/null; then
	left_out "a full /dev/shm: mount namespaces cannot be made"
else
	cat >"$work/rings.sh" <<-SH
		mount -t tmpfs -o size=9m tmpfs /dev/shm || exit 77
		gpucapture -o "$work/little" -- "$here/capture_cases" threads
		gpucapture -o "$work/none" -- sh -c 'dd if=/dev/zero of=/dev/shm/file bs=64k 2>/dev/null; truncate -s -160K /dev/shm/file; exec "\$0" threads' \
			"$here/capture_cases"
	SH
	unshare -m sh "$work/rings.sh" >"$work/out" 2>"$work/err" || die "$(cat "$work/err")"
	[ ! -s "$work/err" ] || die "$(cat "$work/err")"
	gputrace info "$work/little" | has_line "2,803 begun, 2,803 recorded, 2,803 here"
	gputrace info "$work/none" | has_line "missing .* calls of threads that got no ring buffer: No space left on device"
fi
