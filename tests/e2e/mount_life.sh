# SPDX-License-Identifier: Apache-2.0
# The mount command returns when the mount answers. A mount ends in every usual way, and a dead
# mount can be replaced.
. "$(dirname "$0")/lib.sh"
need_fuse
mnt=$work/mnt
mkdir "$mnt"
"$BUILD/bench/make_trace" "$work/run" 2 3 100
"$BUILD/bench/make_trace" "$work/other" 3 1 10

is_dead() {
	! grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null
}

ended() {
	eventually is_dead "$1" || die "gputracefs still runs after $2"
}

# Ways to end a mount.
for signal in TERM INT HUP; do
	# Under nohup this shell ignores SIGHUP, and the server would inherit that.
	env --default-signal="$signal" gputracefs "$work/run" "$mnt"
	pid=$(server "$mnt")
	kill -$signal "$pid"
	gone SIG$signal
	ended "$pid" SIG$signal
done

# Concurrent readers see the same; a signal ends the mount nevertheless.
gputracefs "$work/other" "$mnt"
pid=$(server "$mnt")
find "$mnt" -name emulated -prune -o -type f -print0 >"$work/files"
pids=
for i in $(seq 12); do
	xargs -0 cat <"$work/files" | sha256sum >"$work/sum$i" &
	pids="$pids $!"
done
wait_for $pids
equal "$(cat "$work"/sum* | sort -u | wc -l)" 1
pids=
for i in $(seq 6); do
	n=0
	while stat "$mnt/nothing-$((n = n + 1))" || [ -e "$mnt/id" ]; do :; done 2>/dev/null &
	pids="$pids $!"
done
kill -TERM "$pid"
gone "SIGTERM among readers"
ended "$pid" "SIGTERM among readers"
wait_for $pids

# The same while the server stores a long file in the page cache for several kinds of readers.
"$BUILD/bench/make_trace" "$work/long" 2 10 2000
for i in $(seq 5); do
	gputracefs "$work/long" "$mnt"
	pid=$(server "$mnt")
	pids=
	n=0
	for k in 1 2 3 4; do
		while cat "$mnt/timeline.json"; do :; done >/dev/null 2>&1 &
		pids="$pids $!"
		while dd if="$mnt/timeline.json" bs=4096 skip=$((n = (n + 7919) % 8000)) count=1; do :; done \
			>/dev/null 2>&1 &
		pids="$pids $!"
	done
	sleep "0.$i"
	kill -TERM "$pid"
	gone "SIGTERM among readers of a long file"
	ended "$pid" "SIGTERM among readers of a long file"
	wait_for $pids
done

gputracefs "$work/run" "$mnt"
pid=$(server "$mnt")
fusermount3 -u "$mnt"
gone "fusermount3 -u"
ended "$pid" "fusermount3 -u"

# Lazy unmount while a file is open: the server lives until the file is closed.
if [ "$(id -u)" = 0 ]; then
	gputracefs "$work/run" "$mnt"
	pid=$(server "$mnt")
	exec 3<"$mnt/summary"
	umount -l "$mnt"
	gone "umount -l"
	equal "$(cat <&3)" "$(gputrace info "$work/run")"
	exec 3<&-
	ended "$pid" "umount -l"
fi

# A killed server leaves a dead mount; the next mount replaces it.
gputracefs "$work/run" "$mnt"
cat "$mnt/id" >/dev/null
kill -9 "$(server "$mnt")"
fails ls "$mnt"
gputracefs "$work/other" "$mnt"
equal "$(ls "$mnt/gpus" | wc -l)" 3
equal "$(grep -c " $mnt fuse.gputracefs " /proc/self/mounts)" 1
fusermount3 -u "$mnt"
gone "the replacement"

# auto_unmount removes even a dead mount. fusermount3 checks for it as soon as the server's socket
# closes, which may be slightly before the mount is dead: so fusermount3 is stopped meanwhile.
helper() { pgrep -f "^fusermount3 .*$mnt\$" >"$work/helper"; }
gputracefs -o auto_unmount "$work/run" "$mnt"
ls "$mnt" >/dev/null
eventually helper || die "fusermount3 does not run"
kill -STOP "$(cat "$work/helper")"
pid=$(server "$mnt")
kill -9 "$pid"
ended "$pid" SIGKILL
kill -CONT "$(cat "$work/helper")"
gone auto_unmount

# -f stays in the foreground.
gputracefs -f "$work/run" "$mnt" &
pid=$!
eventually mounted
equal "$(cat "$mnt/id" | wc -c)" 65
kill "$pid"
wait "$pid" || die "-f ended with $?"
gone "-f"

# Invalid input: one line, the right status, no mount, no process.
echo hello >"$work/text"
fails -3 gputracefs "$work/text" "$mnt"; says "text"
fails -3 gputracefs "$work/nowhere" "$mnt"; says "nowhere"
fails -2 gputracefs "$work/run" "$work/nowhere"; says "nowhere"
fails -2 gputracefs "$work/run" "$work/text"; says "text"
fails -2 gputracefs "$work/run"; says "TRACE DIR"
fails -2 gputracefs -o frobnicate "$work/run" "$mnt"; says "frobnicate"
fails -2 gputracefs -o cache_mb=much "$work/run" "$mnt"; says "cache_mb"
unmounted || die "a mount exists"
gputracefs "$work/run" "$mnt"
fails -2 gputracefs "$work/other" "$mnt"; says "already mounted; unmount it with \`fusermount3 -u $mnt\`"
fusermount3 -u "$mnt"
gone "the only mount"

# Over a directory that is not empty, and over the trace itself.
touch "$mnt/file"
gputracefs "$work/run" "$mnt"
[ ! -e "$mnt/file" ] || die "not mounted over"
fusermount3 -u "$mnt"
gone "mounting over a file"
rm "$mnt/file"
gputrace info "$work/other" >"$work/info"
gputracefs "$work/other" "$work/other"
cmp "$work/info" "$work/other/summary"
fails -3 gputrace info "$work/other"
says "a mount hides it"
fusermount3 -u "$work/other"

# A packed file, and a mount of a mount.
gputrace pack -o "$work/packed.gputrace" "$work/run"
gputracefs "$work/packed.gputrace" "$mnt"
mkdir "$work/second"
gputracefs "$mnt" "$work/second"
diff -r -x emulated -x what-if "$mnt" "$work/second"
umount "$work/second" 2>/dev/null || fusermount3 -u "$work/second"
fusermount3 -u "$mnt"
gone "the packed file"

# Another trace replaces the mounted one. Commands that are given the mount refuse the other trace.
mv "$work/run" "$work/mounted"
cp -r "$work/mounted" "$work/run"
gputracefs "$work/run" "$mnt"
gputrace info "$work/run" >"$work/info"
gputrace info "$mnt" | cmp - "$work/info"
rm -r "$work/run"
cp -r "$work/other" "$work/run"
cmp "$work/info" "$mnt/summary"
for command in info verify "export -o $work/exported" "diff $work/mounted" "pack -o $work/exported" "unpack -o $work/exported"; do
	# shellcheck disable=SC2086
	fails -3 gputrace $command "$mnt"
	says "$work/run: not the trace that is mounted"
done
fails -3 gpureplay --emulate "$mnt"
says "$work/run: not the trace that is mounted"
mkdir -p "$work/second"
fails -3 gputracefs "$mnt" "$work/second"
says "$work/run: not the trace that is mounted"
[ ! -e "$work/exported" ] || die "something was exported"
# The mounted trace is moved back: the mount can be used for commands again.
rm -r "$work/run"
mv "$work/mounted" "$work/run"
gputrace info "$mnt" | cmp - "$work/info"
fusermount3 -u "$mnt"
gone "the replaced trace"
