# SPDX-License-Identifier: Apache-2.0
# Outputs: regular files and folders appear completely or not at all, even if the writer is killed;
# other kinds of files are written directly. Names may be as long as the file system allows.
. "$(dirname "$0")/lib.sh"
mkdir "$work/in"
cd "$work/in"
"$BUILD/bench/make_trace" good 2 3 200
cp "$SOURCE/tests/fuzz/corpus/kineto/us.json" good.json
gputrace export good >want.json
gputrace export -f svg good >want.svg

# Devices, pipes and standard output.
for format in chrome svg; do
	want=want.json
	[ $format = chrome ] || want=want.svg
	gputrace export -f $format -o /dev/null good
	[ -c /dev/null ] || die "/dev/null was replaced"
	gputrace export -f $format -o /dev/stdout good | cmp - $want
	gputrace export -f $format -o /dev/stdout good >redirected
	cmp redirected $want
	gputrace export -f $format -o /dev/fd/7 good 7>numbered
	cmp numbered $want
	mkfifo pipe
	cat pipe >piped &
	reader=$!
	gputrace export -f $format -o pipe good
	wait "$reader"
	cmp piped $want
	[ -p pipe ] || die "the pipe was replaced"
	rm pipe
	refuses 4 'No space left on device' gputrace export -f $format -o /dev/full good
	[ -c /dev/full ] || die "/dev/full was replaced"
done
refuses 2 'missing -o FOLDER' gputrace export -f tsv -o /dev/null good
refuses 2 'Is a directory' gputrace export -f svg -o good good

# A symbolic link is kept.
echo old >real.json
ln -s real.json link.json
gputrace export -o link.json good
[ -L link.json ] || die "the link was replaced"
cmp real.json want.json

# No space: one line, status 4, no temporary files, and the previous file stays.
cp real.json before.json
for output in real.json new.json.gz new.svg new.tables new.ranks; do
	format=chrome
	case $output in *.svg) format=svg ;; *.tables) format=tsv ;; esac
	# shellcheck disable=SC2016
	refuses 4 'File too large' bash -c 'ulimit -f 1; exec "$@"' bash gputrace export -f $format -o $output good
done
cmp real.json before.json
mkdir small
if mount -t tmpfs -o size=4k tmpfs small 2>/dev/null; then
	for output in a.json a.json.gz a.svg a.tables a.ranks; do
		format=chrome
		case $output in *.svg) format=svg ;; *.tables) format=tsv ;; esac
		refuses 4 'No space left on device' gputrace export -f $format -o small/$output good
		prints_nothing ls -A small
	done
	umount small
else
	left_out "a full disk (needs mount)"
fi
rm -r small

# kill_at MS COMMAND...: sends SIGKILL that long after the command began to write beside OUT.
kill_at() {
	local delay=$1 writer
	shift
	"$@" &
	writer=$!
	sleep "0.$(printf '%03d' "$delay")"
	kill -9 $writer 2>/dev/null || true
	wait $writer 2>/dev/null || true
}

# Temporary files of a killed writer are removed by the next writer of the same output; those of a
# living writer are kept.
"$BUILD/bench/make_trace" large 4 12 4000
for delay in 1 3 6 10 15 20 30; do
	kill_at "$delay" gputrace pack --level 19 -o out large 2>/dev/null
	kill_at "$delay" gputrace export -o out large 2>/dev/null
	rm -rf out
done
mkdir -p out.new-abcdef/trace out.new-recorded/trace out.new-123456
echo mine >out.new-123456/old
gputrace pack --level 19 -o out large
equal "$(echo out*)" 'out out.new-123456 out.new-recorded'
rm -r out out.new-*
if command -v strace >/dev/null; then
	# Killed after the trace is complete and before it is renamed.
	strace -qq -o /dev/null -e inject=renameat2:signal=SIGKILL gputrace pack -o out good 2>why || [ $? -eq 137 ]
	set -- out.new-*
	[ -s "$1/trace" ] || die "no temporary file was left: $*"
	gputrace pack -o out good
	equal "$(echo out*)" out
	rm out
	# A signal ends the command.
	for command in 'pack -o out good' 'unpack -o out packed'; do
		gputrace pack -o packed good
		fails -143 strace -qq -o /dev/null -e inject=renameat2:signal=SIGTERM gputrace $command
		rm -rf out packed
	done
else
	left_out "a writer that is killed at its last call (needs strace)"
fi
for _ in 1 2 3 4; do
	gputrace pack --level 12 -o alive.1 large &
	a=$!
	gputrace pack --level 12 -o alive.1 large 2>>why &
	b=$!
	got=0
	wait $a || got=$?
	wait $b || got=$((got + $?))
	equal "$got" 2 # the later of the two fails, because the output exists
	gputrace verify alive.1 >verified
	equal "$(echo alive*)" alive.1
	rm alive.1
done

# At any time during a replacement, either the old or the new trace is there.
gputrace import -o replaced good.json >report
for delay in 1 2 4 8 12 16 20 25 30 40; do
	kill_at "$delay" gputrace import -f -o replaced good.json >report
	gputrace verify replaced >verified
done
if command -v strace >/dev/null; then
	for call in 1 2; do
		strace -qq -o /dev/null -e inject=renameat2:signal=SIGKILL:when=$call \
			gputrace import -f -o replaced good.json >report 2>why || [ $? -eq 137 ]
		gputrace verify replaced >verified
	done
fi
gputrace import -f -o replaced good.json >report
equal "$(echo replaced*)" replaced

# The longest names, and names one character longer.
long=$(printf '%0255d' 0)
gputrace import -o "$long" good.json >report
gputrace verify "$long" >verified
gputrace info "$long" >report
rm -r "$long"
gputrace pack -o "$long" good
gputrace unpack -o "${long%0}1" "$long"
gputrace export -o "${long%0}2" good
gputrace export -o "${long%?????}.json" good
gputrace export -f svg -o "${long%0}3" good
gputrace export -f tsv -o "${long%0}4" good
gpureplay --emulate -o "${long%0}5" good >report
rm -r 0*
while read -r command; do
	# shellcheck disable=SC2086
	refuses 2 'File name too long' ${command//LONG/${long}0}
done <<-ROWS
	gputrace import -o LONG good.json
	gputrace pack -o LONG good
	gputrace export -o LONG good
	gputrace export -o LONG.json good
	gputrace export -f svg -o LONG good
	gputrace export -f tsv -o LONG good
	gpureplay --emulate -o LONG good
ROWS
while read -r command; do
	# shellcheck disable=SC2086
	refuses 3 'File name too long' ${command//LONG/${long}0}
done <<-ROWS
	gputrace info LONG
	gputrace verify LONG
	gputrace pack -o out LONG
	gputrace unpack -o out LONG
	gputrace export -o out LONG
	gputrace diff good LONG
	gputrace diff LONG good
	gputrace import -o out LONG
	gpureplay --emulate LONG
ROWS
fails -3 gputrace info "${long}0"
equal "$(grep -o "$long" "$work/stderr" | wc -l)" 1
deep=folder/folder/folder/folder/
for _ in 1 2 3 4 5 6 7; do
	deep=$deep$deep
done
refuses 3 'No such file or directory' gputrace info "$deep"
refuses 3 'File name too long' gputrace info "$deep$deep"

# Default outputs of pack and unpack.
cp -r good run.gputrace
gputrace pack good
gputrace pack run.gputrace/
equal "$(echo good.* run.*)" 'good.gputrace good.json run.gputrace run.packed.gputrace'
cmp good.gputrace run.packed.gputrace
refuses 2 'run.gputrace: it exists already' gputrace unpack run.packed.gputrace
rm -r run.gputrace good
gputrace unpack run.packed.gputrace
gputrace unpack good.gputrace
diff -r good run.gputrace
refuses 2 'give -o DIR' gputrace unpack good.json
