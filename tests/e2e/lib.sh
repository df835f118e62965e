# SPDX-License-Identifier: Apache-2.0
# Every end-to-end test sources this file. The build sets $BUILD (its folder) and $SOURCE (the checkout). A test exits
# with 77 if it skips all (skip) or part (left_out) of what it tests.
#
# A command that fails ends the test, also within a pipeline or $(...); a glob that matches nothing is an error.
# tests/lint/shell.py refuses the places where bash ignores a failure all the same.
set -euo pipefail
shopt -s inherit_errexit failglob

# Independence of the user's environment: permissions of new files, sort order, language, blanks in TMPDIR.
umask 022
export LC_ALL=C.UTF-8
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

# left_out WHAT: the test goes on without that part; if the rest passes, it counts as skipped.
left_out() {
	left="$left $1;"
}

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# fails [-STATUS] COMMAND...: the command must end with that status; without one, with any that is neither 0 nor that of
# a signal or of a command that could not be run.
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

# refuses STATUS TEXT COMMAND...: it fails so, in one line that has TEXT in it, and leaves this folder as it was.
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

# equal GOT WANTED: WANTED may not be empty, since a command that failed prints nothing either; use prints_nothing.
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

# no_line [OPTION...] PATTERN FILE...: grep must be able to read the files, and find no line.
no_line() {
	local found got=0
	found=$(grep "$@") || got=$?
	[ $got -eq 1 ] || die "grep $* ended with $got: $found"
}

# exists PATTERN: whether a file name matches.
exists() {
	compgen -G "$1" >/dev/null
}

# eventually COMMAND...: waits until the command succeeds, five minutes at most.
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

# hands_on_signals COMMAND...: a program that it runs gets SIGTERM, and its exit status is that of the program.
hands_on_signals() {
	"$@" sh -c 'trap "exit 7" TERM; echo started >"$0"; while :; do sleep 0.05; done' "$work/started" 2>/dev/null &
	pid=$!
	eventually test -s "$work/started" || die "$1 did not start it"
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	equal "$status" 7
}

# The mount on $mnt; there, and no longer after WHAT.
mounted() {
	grep -q " $mnt fuse.gputracefs " /proc/self/mounts
}

unmounted() {
	! mounted
}

gone() {
	eventually unmounted || die "still mounted after $1"
}

# In what follows the host's own work takes no virtual time: it is another on each machine, and in each run. What calls and
# operations take is left.
virtual_only() {
	export GPUEMU_HOST_SPEED=1e15
}

# What gpucapture records here: programs on emulated GPUs, of the build in $programs. AddressSanitizer's
# library and the capture library both want to be asked before all others: what is recorded beside a
# sanitized build comes from a plain one in $PLAIN; what reads it is sanitized.
programs=$BUILD
need_capture() {
	[ -x "$BUILD/tools/gpuemu" ] || skip "gpuemu was not built (no CUDA headers)"
	case $(ldd "$BUILD/tools/gpuemu") in *libasan* | *libtsan*) ;; *) return 0 ;; esac
	programs=${PLAIN:-}
	[ -x "$programs/tools/gpuemu" ] || skip "a sanitized program cannot be recorded, and \$PLAIN has none"
	export ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}"
	mkdir "$work/bin"
	ln -s "$programs/tools/gpuemu" "$work/bin/gpuemu"
	PATH=$work/bin:$PATH
}

# can_mount: whether gputracefs can be tried here; if not, $why_not says why.
can_mount() {
	why_not=
	if [ ! -e /dev/fuse ]; then
		why_not="there is no /dev/fuse"
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

# server DIR: the process that serves the mount on DIR, by its command line.
server() {
	for p in $(pgrep -x gputracefs); do
		if grep -qzxF -- "$1" "/proc/$p/cmdline" 2>/dev/null; then
			echo "$p"
		fi
	done
}
