# SPDX-License-Identifier: Apache-2.0
# What every end-to-end test begins with. The build hands over $BUILD (its folder) and $SOURCE (the
# checkout). A test that needs what the machine lacks says so and exits 77.
set -eu

# Nothing of the one who runs it: what others may read, how text is sorted and said, names with blanks in them.
umask 022
export LC_ALL=C.UTF-8
unset LANGUAGE
case ${TMPDIR:-} in *[!A-Za-z0-9/._-]*) unset TMPDIR ;; esac

: "${BUILD:?}" "${SOURCE:?}"
PATH=$BUILD/tools:$PATH
traces=$SOURCE/../shared/traces
golden=$SOURCE/tests/golden

work=$(mktemp -d "${TMPDIR:-/tmp}/gputrace-e2e.XXXXXX")
cleanup() {
	status=$?
	trap - EXIT
	for mounted in $(grep -o " $work/[^ ]*" /proc/self/mounts | tac || true); do
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

die() {
	echo "FAILED: $*" >&2
	exit 1
}

# fails [-STATUS] COMMAND...: the command must end with that status, or with any but 0.
fails() {
	want=
	case $1 in -[0-9]*) want=${1#-}; shift ;; esac
	got=0
	"$@" >"$work/stdout" 2>"$work/stderr" || got=$?
	[ "$got" -ne 0 ] || die "$* did not fail"
	[ -z "$want" ] || [ "$got" -eq "$want" ] ||
		die "$* ended with $got instead of $want: $(cat "$work/stderr")"
}

# says TEXT: the last `fails` printed one line on stderr, and TEXT is in it.
says() {
	[ "$(wc -l <"$work/stderr")" -eq 1 ] || die "not one line: $(cat "$work/stderr")"
	grep -qF -- "$1" "$work/stderr" || die "no '$1' in: $(cat "$work/stderr")"
}

# refuses STATUS TEXT COMMAND...: it fails so, in one line that has TEXT in it, and leaves this folder as it was.
refuses() {
	status=$1 text=$2
	shift 2
	ls -A >"$work.before"
	fails "-$status" "$@"
	says "$text"
	[ "$PWD" != "$work" ] || rm -f stdout stderr
	ls -A >"$work.after"
	equal "$(cat "$work.before")" "$(cat "$work.after")"
	rm -f "$work.before" "$work.after"
}

equal() {
	[ "$1" = "$2" ] || die "'$1' is not '$2'"
}

# eventually COMMAND...: waits until it succeeds; that it gives up after minutes is for one who runs a test that fails.
eventually() {
	for _ in $(seq 6000); do
		if "$@"; then
			return 0
		fi
		sleep 0.05
	done
	return 1
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

# sized TRACE: it says how long the files of each slice are, and is right.
sized() {
	"$BUILD/tests/e2e/stored_lengths" "$1" || die "$1: lengths are missing or wrong"
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
	ldd "$BUILD/tools/gpuemu" | grep -q libasan || return 0
	programs=${PLAIN:-}
	[ -x "$programs/tools/gpuemu" ] || skip "a sanitized program cannot be recorded, and \$PLAIN has none"
	export ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}"
	mkdir "$work/bin"
	ln -s "$programs/tools/gpuemu" "$work/bin/gpuemu"
	PATH=$work/bin:$PATH
}

need_fuse() {
	[ -e /dev/fuse ] || skip "there is no /dev/fuse"
	(: <>/dev/fuse) 2>/dev/null || skip "/dev/fuse may not be opened by this user"
	[ "$(id -u)" != 0 ] || unshare --mount true 2>/dev/null || skip "root may not mount here"
	[ -x "$BUILD/tools/gputracefs" ] || skip "gputracefs was not built (no libfuse3)"
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
		if { tr '\0' '\n' <"/proc/$p/cmdline" | grep -qxF "$1"; } 2>/dev/null; then
			echo "$p"
		fi
	done
}
