# SPDX-License-Identifier: Apache-2.0
# Damage costs only the damaged part: every command reports what it leaves out and ends with 1, or
# with 3 if it needs the whole trace.
. "$(dirname "$0")/lib.sh"
mkdir "$work/in"
cd "$work/in"
"$BUILD/bench/make_trace" good 2 4 400

# flip FILE OFFSET: flips one bit.
flip() {
	local byte octal
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	octal=$(printf %o $((byte ^ 16)))
	printf '%b' "\\0$octal" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# hurt TRACE RANK ITERATION: damages that slice and no other.
hurt() {
	local file=$1/rank-0000$2.chunks size at line
	size=$(stat -c %s "$file")
	for at in $(seq 100 300 "$size"); do
		flip "$file" "$at"
		line=$(gputrace verify "$1" | grep '(slice)') || true # verify ends with 1
		case $line in
		*$'\n'*) ;;
		*"(slice), GPU $2, iteration $3: "*) return 0 ;;
		esac
		flip "$file" "$at"
	done
	die "no byte of $file belongs to iteration $3"
}

# leaves_out TEXT COMMAND...: the command ends with 1, and its stderr contains TEXT.
leaves_out() {
	local text=$1
	shift
	fails -1 "$@"
	says "$text"
}

cp -r good hurt
hurt hurt 1 2
place='hurt/rank-00001.chunks: a chunk fails its checksum at byte'

# Exports of each format, to files and to standard output, contain the undamaged rest.
gputrace export -o good.json good
for form in 'hurt.json' 'hurt.json.gz' 'hurt.svg' '-'; do
	format=chrome
	[ "$form" != hurt.svg ] || format=svg
	leaves_out "$place" gputrace export -f $format -o "$form" hurt
	grep -qF '1 slice' "$work/stderr" || die "$(cat "$work/stderr")"
	[ "$form" = - ] || [ -s "$form" ] || die "no $form"
done
python3 -m json.tool hurt.json >parsed
[ "$(grep -c '"cat":"kernel"' hurt.json)" -lt "$(grep -c '"cat":"kernel"' good.json)" ] || die "nothing was left out"
[ "$(grep -c '"cat":"kernel"' hurt.json)" -gt 100 ] || die "all was left out"
gzip -dc hurt.json.gz | cmp - hurt.json
leaves_out "$place" gputrace export -o hurt.ranks hurt
gputrace export -o good.ranks good
cmp hurt.ranks/rank-0.json good.ranks/rank-0.json
leaves_out "$place" gputrace export -f tsv -o hurt.tables hurt
[ -s hurt.tables/iterations/000002/gpu0/kernels ] || die "tables of the other GPU are missing"
[ -s hurt.tables/iterations/000001/gpu1/kernels ] || die "tables of the other iteration are missing"
[ ! -e hurt.tables/iterations/000002/gpu1/kernels ] || die "a table of a damaged slice"

# An undamaged part is exported as usual.
gputrace export --iteration 1 hurt >part.json 2>why
[ ! -s why ] || die "$(cat why)"
leaves_out "$place" gputrace export --iteration 2 --gpu 1 hurt

# Reports and comparisons.
fails -1 gputrace info hurt
grep -qF 'a chunk fails its checksum' "$work/stdout" || die "$(cat "$work/stdout")"
gputrace info --iteration 1 hurt >info
leaves_out "$place" gputrace diff hurt good
no_line 'are the same' "$work/stdout"
leaves_out "$place" gputrace diff good hurt
leaves_out "$place" gputrace diff hurt hurt
leaves_out "$place" gputrace diff --json hurt good
cp -r good all
for rank in 0 1; do
	for at in 3000 6000 9000; do
		flip all/rank-0000$rank.chunks $at
	done
done
leaves_out 'all/rank-00000.chunks: ' gputrace diff all good
no_line 'are the same' "$work/stdout"

# Commands that need the whole trace.
refuses 3 'hurt: rank-00001.chunks: a chunk fails its checksum at byte' gpureplay --emulate -o emulated hurt

# Packing and unpacking preserve the bytes, damage included.
leaves_out "$place" gputrace pack -o hurt.packed hurt
leaves_out 'hurt.packed:rank-00001.chunks: a chunk fails its checksum' gputrace unpack -o hurt.unpacked hurt.packed
diff -r hurt hurt.unpacked
refuses 3 'a chunk fails its checksum' gputrace pack --level 5 -o none hurt

# A rank file that is missing, of another trace, or unreadable: the others can be read.
cp -r good missing
rm missing/rank-00001.chunks
"$BUILD/bench/make_trace" other 2 5 300
cp -r good mixed
cp other/rank-00001.chunks mixed
for trace in missing mixed; do
	why="$trace/rank-00001.chunks: missing"
	[ $trace = missing ] || why="$trace/rank-00001.chunks: of another trace"
	fails -1 gputrace verify $trace
	grep -qF "$why" "$work/stdout" || die "$(cat "$work/stdout")"
	fails -1 gputrace info $trace
	grep -qF "$why" "$work/stdout" || die "$(cat "$work/stdout")"
	grep -qF '1 GPU,' "$work/stdout" || die "$(cat "$work/stdout")"
	leaves_out "$why" gputrace export -o $trace.json $trace
	leaves_out "$why" gputrace export -f svg -o $trace.svg $trace
	leaves_out "$why" gputrace export -f tsv -o $trace.tables $trace
	[ -s $trace.tables/iterations/000002/gpu0/kernels ] || die "$trace: missing tables of the other GPU"
	leaves_out "$why" gputrace diff $trace good
	leaves_out "$why" gputrace pack -o $trace.packed $trace
	fails -1 gputrace verify $trace.packed
	leaves_out 'rank-00001.chunks: missing' gputrace unpack -o $trace.again $trace.packed
	refuses 3 "${why/\//: }" gpureplay --emulate -o emulated $trace
done
cp -r good renamed
cp other/trace.chunks renamed
refuses 3 'of another trace: trace.chunks lists another root' gputrace export -f tsv -o renamed.tables renamed
fails -1 gputrace verify renamed
has_line 'of another trace: trace.chunks lists another root' <"$work/stdout"

# A file that appears twice.
gputrace pack -o twice good
cat other/trace.chunks >>twice
leaves_out 'the index of the packed file is damaged' gputrace unpack -o twice.unpacked twice
fails -1 gputrace verify twice
grep -q 'another trace.chunks' "$work/stdout" || die "$(cat "$work/stdout")"
diff -r good twice.unpacked

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp -r good closed
	chmod 000 closed/rank-00001.chunks
	mkdir bin
	cp "$BUILD/tools/gputrace" bin
	chmod -R a+rX "$work"
	chmod 000 closed/rank-00001.chunks
	leaves_out 'closed/rank-00001.chunks: cannot open: Permission denied' \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$work/in/bin/gputrace" export closed
	fails -3 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/in/bin/gputrace" verify closed
	grep -qF 'closed/rank-00001.chunks: cannot open: Permission denied' "$work/stdout" || die "$(cat "$work/stdout")"
	fails -1 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/in/bin/gputrace" info closed
	grep -qF 'cannot open: Permission denied' "$work/stdout" || die "$(cat "$work/stdout")"
else
	left_out "a file that may not be read (needs root)"
fi
if command -v strace >/dev/null; then
	export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a traced process
	leaves_out 'good/rank-00001.chunks: cannot read: Input/output error' \
		strace -qq -o /dev/null -P "$work/in/good/rank-00001.chunks" -e inject=pread64:error=EIO gputrace export good
	leaves_out '2 slices are left out' \
		strace -qq -o /dev/null -P "$work/in/good/rank-00001.chunks" -e inject=pread64:error=EIO:when=4+ \
		gputrace export good
	grep -qF 'good/rank-00001.chunks: cannot read: Input/output error' "$work/stderr" || die "$(cat "$work/stderr")"
else
	left_out "a file that gives I/O errors (needs strace)"
fi

# A truncated file: slices at its end are missing, which only the manifest shows.
cp -r good short
truncate -s -3000 short/rank-00001.chunks
leaves_out 'short/rank-00001.chunks: truncated' gputrace export -o short.json short
fails -1 gputrace info short
refuses 3 'truncated' gpureplay --emulate short
cp -r good shorter
printf '\0\0\0\0\0\0\0\0' | dd of=shorter/rank-00001.chunks bs=1 seek=$(($(stat -c %s good/rank-00001.chunks) - 1500)) conv=notrunc status=none
truncate -s -300 shorter/rank-00001.chunks
leaves_out 'shorter/rank-00001.chunks: ' gputrace export -o shorter.json shorter

# A damaged index or footer loses nothing: it is rebuilt from the chunks.
for behind in 20 90; do
	rm -rf tail
	cp -r good tail
	flip tail/rank-00001.chunks $(($(stat -c %s good/rank-00001.chunks) - behind))
	fails -1 gputrace verify tail
	gputrace export -o tail.json tail
	cmp tail.json good.json
	gpureplay --emulate tail >report
	rm tail.json
done
