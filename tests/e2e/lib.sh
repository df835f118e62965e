# SPDX-License-Identifier: Apache-2.0
# Every end-to-end test sources this file. The build sets $BUILD (its folder) and $SOURCE (the
# checkout). A test exits with 77 if it skips everything (skip) or a part (left_out).
# A command that fails ends the test, also within a pipeline or $(...); a glob without match is an
# error. tests/lint/shell.py refuses assertions in places where bash ignores a failure.
set -euo pipefail
shopt -s inherit_errexit failglob

# Independence of the user's environment: permissions of new files, sort order, language, blanks in
# TMPDIR.
umask 022
export LC_ALL=C.UTF-8
export LSAN_OPTIONS=print_suppressions=0:suppressions=$SOURCE/tests/python.supp
unset LANGUAGE
case ${TMPDIR:-} in *[!A-Za-z0-9/._-]*) unset TMPDIR ;; esac

: "${BUILD:?}" "${SOURCE:?}"
PATH=$BUILD/tools:$PATH
traces=$SOURCE/../shared/traces
golden=$SOURCE/tests/golden

work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-e2e.XXXXXX")
left=
cleanup() {
	status=$?
	trap - EXIT
	if [ $status -eq 0 ] && [ -n "$left" ]; then
		echo "skipped:$left"
		status=77
	fi
	for mounted in $({ grep -o " $work/[^ ]*" /proc/self/mounts || true; } | tac); do
		umount -l "$mounted" 2>/dev/null || fusermount3 -uz "$mounted" 2>/dev/null || true
	done
	rm -rf "$work"
	exit $status
}
trap cleanup EXIT
trap 'exit 1' INT TERM

skip() {
	echo "skipped: $*"
	exit 77
}

# left_out WHAT: skips that part of the test; if the rest passes, the test counts as skipped.
left_out() {
	left="$left $1;"
}

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# fails [-STATUS] COMMAND...: the command must end with STATUS; without -STATUS, with any failure
# except a signal or a command that cannot be run.
fails() {
	local want='' got=0
	case $1 in -[0-9]*) want=${1#-}; shift ;; esac
	"$@" >"$work/stdout" 2>"$work/stderr" || got=$?
	[ "$got" -ne 0 ] || die "$* did not fail"
	if [ -n "$want" ]; then
		[ "$got" -eq "$want" ] || die "$* ended with $got instead of $want: $(cat "$work/stderr")"
	else
		[ "$got" -lt 126 ] || die "$* ended with $got: $(cat "$work/stderr")"
	fi
}

# says TEXT: the last `fails` printed one line on stderr, which contains TEXT.
says() {
	[ "$(wc -l <"$work/stderr")" -eq 1 ] || die "not one line: $(cat "$work/stderr")"
	grep -qF -- "$1" "$work/stderr" || die "no '$1' in: $(cat "$work/stderr")"
}

# refuses STATUS TEXT COMMAND...: the command fails with STATUS and one line that contains TEXT, and
# leaves the current folder unchanged.
refuses() {
	local status=$1 text=$2
	shift 2
	ls -A >"$work.before"
	fails "-$status" "$@"
	says "$text"
	[ "$PWD" != "$work" ] || rm -f stdout stderr
	ls -A >"$work.after"
	equal "$(cat "$work.before")" "$(cat "$work.after")"
	rm -f "$work.before" "$work.after"
}

# equal GOT WANTED: WANTED may not be empty, because a failed command prints nothing, too; use
# prints_nothing.
equal() {
	[ -n "$2" ] || die "equal: nothing to compare '$1' with"
	[ "$1" = "$2" ] || die "'$1' instead of '$2'"
}

# prints_nothing COMMAND...: the command must succeed and print nothing on stdout.
prints_nothing() {
	local printed
	printed=$("$@") || die "$* ended with $?"
	[ -z "$printed" ] || die "$* printed: $printed"
}

# has_line [OPTION...] PATTERN: grep must find a line in stdin, which is read to its end.
has_line() {
	local input
	input=$(cat)
	grep -q "$@" <<<"$input" || die "no line matches '$*' in: $input"
}

# no_line [OPTION...] PATTERN FILE...: grep must read the files and find no line.
no_line() {
	local found got=0
	found=$(grep "$@") || got=$?
	[ $got -eq 1 ] || die "grep $* ended with $got: $found"
}

# exists PATTERN: succeeds if a file name matches.
exists() {
	compgen -G "$1" >/dev/null
}

# eventually COMMAND...: repeats the command until it succeeds, at most five minutes.
eventually() {
	for _ in $(seq 6000); do
		if "$@"; then
			return 0
		fi
		sleep 0.05
	done
	return 1
}

# wait_for PID...: each of these background commands must succeed.
wait_for() {
	local pid
	for pid; do
		wait "$pid" || die "background command $pid ended with $?"
	done
}

# hands_on_signals COMMAND...: the command forwards SIGTERM to the program it runs, and returns its
# exit status.
hands_on_signals() {
	"$@" sh -c 'trap "exit 7" TERM; echo started >"$0"; while :; do sleep 0.05; done' "$work/started" 2>/dev/null &
	pid=$!
	eventually test -s "$work/started" || die "$1 did not start it"
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	equal "$status" 7
}

# mounted, unmounted: tests for the mount on $mnt. gone WHAT: waits until it is unmounted.
mounted() {
	grep -q " $mnt fuse.gputracefs " /proc/self/mounts
}

unmounted() {
	! mounted
}

gone() {
	eventually unmounted || die "still mounted after $1"
}

# From here on, host time counts as zero in virtual time, because it differs from run to run; only
# calls and operations take time.
virtual_only() {
	export GPUEMU_HOST_SPEED=1e15
}

# Recordings use programs on emulated GPUs, from the build in $programs. AddressSanitizer's library
# and the capture library must both be loaded first, so tests of a sanitized build record programs
# of a plain build in $PLAIN; the reading side is sanitized.
programs=$BUILD
need_capture() {
	[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
	case $(ldd "$BUILD/tools/gpuemu") in *libasan* | *libtsan*) ;; *) return 0 ;; esac
	programs=${PLAIN:-}
	[ -x "$programs/tools/gpuemu" ] || skip "a sanitized program cannot be recorded, and \$PLAIN has no plain build"
	export ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}"
	mkdir "$work/bin"
	ln -s "$programs/tools/gpuemu" "$work/bin/gpuemu"
	PATH=$work/bin:$PATH
}

# record_rings FILE OPTION... -- PROGRAM...: runs a program on two emulated GPUs under the capture library, without a
# recorder; the options are those of tests/capture/run.c. FILE gets the records of its rings, FILE.err its stderr.
record_rings() {
	local file=$1
	shift
	gpuemu --gpus 2 -o "$file.report" -- "$BUILD/tests/capture/capture_run" \
		"$BUILD/capture/library/libgpucapture.so" "$@" >"$file" 2>"$file.err" || die "$file: $(cat "$file.err")"
	grep -qx 'ended with 0' "$file" || die "$file: $(tail -n 5 "$file" "$file.err")"
}

# can_mount: succeeds if gputracefs can be tested here; otherwise $why_not has the reason.
can_mount() {
	why_not=
	if [ ! -e /dev/fuse ]; then
		why_not="missing /dev/fuse"
	elif ! (: <>/dev/fuse) 2>/dev/null; then
		why_not="/dev/fuse may not be opened by this user"
	elif [ "$(id -u)" = 0 ] && ! unshare --mount true 2>/dev/null; then
		why_not="root may not mount here"
	elif [ ! -x "$BUILD/tools/gputracefs" ]; then
		why_not="gputracefs was not built (no libfuse3)"
	fi
	[ -z "$why_not" ]
}

need_fuse() {
	can_mount || skip "$why_not"
}

# need_traces RUN...: the runs are "$traces/RUN/rank-*.json.gz".
need_traces() {
	for run; do
		[ -d "$traces/$run" ] || skip "../shared/traces/$run is not there"
	done
}

# server DIR: prints the process id of the server of the mount on DIR, found by its command line. The
# server of an earlier mount there may still be ending: this waits until one is left.
servers() {
	for p in $(pgrep -x gputracefs); do
		if grep -qzxF -- "$1" "/proc/$p/cmdline" 2>/dev/null; then
			echo "$p"
		fi
	done
}

one_server() {
	found=$(servers "$1")
	[ "$(wc -w <<<"$found")" -eq 1 ]
}

server() {
	eventually one_server "$1" || die "not one server of $1: $found"
	echo "$found"
}

# confined COMMAND...: runs gpureplay, in whose confined workers LeakSanitizer does not work.
confined() {
	ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$@"
}
