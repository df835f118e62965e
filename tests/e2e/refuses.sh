# SPDX-License-Identifier: Apache-2.0
# Invalid traces, unreadable inputs and unwritable outputs give one line and the right status, and leave nothing
# behind.
. "$(dirname "$0")/lib.sh"
mkdir "$work/in" "$work/mnt"
cd "$work/in"
"$BUILD/bench/make_trace" good 2 3 20 >/dev/null
gputrace pack -o good.gputrace good
cp "$SOURCE/tests/fuzz/corpus/kineto/us.json" good.json

: >empty
echo text >text
head -c 100 good.gputrace >cut
cp good/rank-00000.chunks chunks
mkdir folder zeroes hollow
echo text >folder/text
: >zeroes/rank-00000.chunks
cp good/trace.chunks hollow
mkfifo pipe
ln -s loop loop

# Unusable inputs and the expected reasons. Commands that read a trace get the input as TRACE; commands that write get
# "out" as output.
inputs() {
	cat <<-ROWS
		nowhere|nowhere: No such file or directory
		loop|loop: Too many levels of symbolic links
		empty|empty: not a trace
		text|text: not a trace
		good.json|good.json: not a trace
		cut|cut: trace.chunks: truncated
		pipe|pipe: not a trace
		/dev/null|/dev/null: not a trace
		folder|folder: not a trace
		hollow|rank-00000.chunks: missing
		zeroes|rank-00000.chunks: not a trace at byte 0
		chunks|chunks: one file of a trace; name its directory
	ROWS
}
readers() {
	cat <<-ROWS
		gputrace info TRACE
		gputrace verify TRACE
		gputrace diff good TRACE
		gputrace pack -o out TRACE
		gputrace unpack -o out TRACE
		gputrace export -o out TRACE
		gputrace export -o out.json TRACE
		gputrace export --format=svg -o out TRACE
		gputrace export --format=tsv -o out TRACE
		gpureplay --emulate -o out TRACE
	ROWS
	[ ! -x "$BUILD/tools/gputracefs" ] || echo "gputracefs TRACE $work/mnt"
}
readers >"$work/readers"
inputs | while IFS='|' read -r input why; do
	while read -r command; do
		if [ "$input $command" = 'hollow gputrace verify TRACE' ]; then
			fails -1 gputrace verify hollow
			has_line "$why" <"$work/stdout"
			continue
		fi
		# shellcheck disable=SC2046
		refuses 3 "$why" $(echo "$command" | sed "s|TRACE|$input|")
	done <"$work/readers"
done
refuses 3 'folder: Is a directory; name the profiler files in it' gputrace import -o out folder
refuses 3 'good: a directory, not a packed file' gputrace unpack -o out good

# Inputs that are not traces but can be converted: a hint.
mkdir files run.raw
cp good.json files/rank-0.json
refuses 3 'not a trace; convert profiler files with `gputrace import -o OUT FILE...`' gpureplay --emulate good.json
refuses 3 'not a trace; convert the files in it with `gputrace import -o OUT FILE...`' gputrace info files
refuses 3 'not a trace; convert a raw recording with `gputrace import -o OUT OUT.raw`' gputrace verify run.raw
refuses 3 'good.gputrace: not JSON' gputrace import -o out good.gputrace

# Small files that claim large contents are refused, or read except for their damaged parts, in less than a minute of CPU time.
bomb() {
	"$SOURCE/tests/e2e/bomb.py" "$1" "$1"
	sed "s|TRACE|$1|" "$work/readers" >"$work/bombed"
	while read -r command; do
		got=0
		# shellcheck disable=SC2086
		(ulimit -t 60; exec $command) >"$work/stdout" 2>"$work/stderr" || got=$?
		[ $got -eq "$2" ] || [ "$2" = any ] && [ $got -lt 124 ] || die "$command ended with $got: $(cat "$work/stderr")"
		[ "$2" = any ] || says "$3"
		umount "$work/mnt" 2>/dev/null || true
		rm -rf out out.json
	done <"$work/bombed"
	rm "$1"
}
bomb calls 3 'more events than a trace of'
bomb templates 3 'trace.chunks: more names than a trace of'
bomb last-rank 3 'more ranks than a trace of'
bomb headers 3 'headers: not a trace'
bomb strings any
bomb chunks any
bomb gaps any

# Unwritable standard output: one line, and output files are complete.
printers() {
	cat <<-ROWS
		gputrace --help
		gputrace info --help
		gputrace --version
		gputrace info good
		gputrace info --json good
		gputrace verify good
		gputrace verify --json good
		gputrace diff good good
		gputrace export good
		gputrace export --format=svg good
		gpureplay --help
	ROWS
}
printers | while read -r command; do
	# shellcheck disable=SC2016,SC2086
	refuses 4 'No space left on device' sh -c '"$@" >/dev/full' sh $command
	# shellcheck disable=SC2016,SC2086
	refuses 4 'Bad file descriptor' sh -c '"$@" >&-' sh $command
done
gputrace import -o whole good.json >&- 2>&- <&- || [ $? -eq 4 ] || die 'import without any standard descriptor'
gputrace verify whole >"$work/stdout"
gpureplay --emulate -o emulated whole >&- 2>&- <&- || [ $? -eq 4 ] || die 'emulate without any standard descriptor'
gputrace verify emulated >"$work/stdout"
rm -r whole emulated

# Unwritable outputs.
writers() {
	cat <<-ROWS
		gputrace import -o OUT good.json
		gputrace pack -o OUT good
		gputrace unpack -o OUT good.gputrace
		gputrace export -o OUT good
		gputrace export -o OUT.json good
		gputrace export --format=svg -o OUT good
		gputrace export --format=tsv -o OUT good
		gpureplay --emulate -o OUT good
	ROWS
}
writers >"$work/writers"
mkdir "$work/room"
while read -r command; do
	$(echo "$command" | sed "s|OUT|$work/room/out|") >"$work/stdout"
	rm -r "$work"/room/*
done <"$work/writers"
# writes STATUS WHY OUT: each command that writes fails with that output.
writes() {
	while read -r command; do
		# shellcheck disable=SC2046
		refuses "$1" "$2" $(echo "$command" | sed "s|OUT|$3|")
	done <"$work/writers"
}
writes 2 'No such file or directory; its directory must exist' nowhere/out
writes 2 'Not a directory; its directory must exist' text/out
grep -v 'OUT.json\|svg' "$work/writers" >"$work/folders"
cp "$work/folders" "$work/writers"
writes 2 'cannot write folder: it exists already; choose another' folder
grep -v export "$work/folders" | sed 's/-o/--force -o/' >"$work/writers"
writes 2 'cannot write folder: it exists already; choose another' folder
no_line -e --force "$work/stderr"
writers >"$work/writers"

# Files that may not grow, and few descriptors, which are enough.
while read -r command; do
	# shellcheck disable=SC2016,SC2046
	refuses 4 'File too large' sh -c 'ulimit -f 1; exec "$@"' sh $(echo "$command" | sed 's|OUT|out|')
	# shellcheck disable=SC2016,SC2046
	sh -c 'ulimit -n 16; exec "$@"' sh $(echo "$command" | sed "s|OUT|$work/room/out|") >"$work/stdout"
	rm -r "$work"/room/*
done <"$work/writers"

# Another user, who may neither read nor write here and runs the programs in $work/bin.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod -R a+rX "$work"
	mkdir -m 755 "$work/bin"
	cp "$BUILD/tools/gputrace" "$BUILD/tools/gpureplay" "$work/bin"
	cp good.json closed.json
	chmod 000 closed.json
	as_user() {
		refuses "$1" "$2" setpriv --reuid=65534 --regid=65534 --clear-groups env "PATH=$work/bin:$PATH" \
			TMPDIR=/tmp $3
	}
	as_user 3 'cannot import closed.json: Permission denied' "gputrace import -o /tmp/out-$$ closed.json"
	while read -r command; do
		as_user 2 'cannot write out' "$(echo "$command" | sed 's|OUT|out|')"
	done <"$work/writers"
fi

# A full file system.
mkdir "$work/small"
mount -t tmpfs -o size=4k tmpfs "$work/small" 2>/dev/null || skip "mounting is not permitted: full file systems were not tested"
while read -r command; do
	# shellcheck disable=SC2046
	refuses 4 'No space left on device' $(echo "$command" | sed "s|OUT|$work/small/out|")
	prints_nothing ls -A "$work/small"
done <"$work/writers"
