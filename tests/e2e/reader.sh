# SPDX-License-Identifier: Apache-2.0
# The independent reader (tests/reader.py, written from doc/format.md) agrees with gputrace export
# on every trace.
. "$(dirname "$0")/lib.sh"
python=
for candidate in python3 /usr/bin/python3; do
	[ -n "$python" ] || ! "$candidate" -c 'import zstandard' 2>/dev/null || python=$candidate
done
[ -n "$python" ] || skip "missing python3 with zstandard (python3-zstandard)"
equal "$(wc -l <"$SOURCE/tests/reader.py" | awk '{ print ($1 <= 400) }')" 1
cd "$work"

# agree TRACE: compares reader and gputrace for the trace as a directory.
agree() {
	"$python" "$SOURCE/tests/reader.py" "$1" >events
	"$python" "$SOURCE/tests/reader.py" --edges "$1" >edges
	equal "$("$python" "$SOURCE/tests/reader.py" --id "$1")" \
		"$(gputrace info --json "$1" | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | sed -n 1p)"
	rm -rf tables timelines
	gputrace export --format=tsv -o tables "$1"
	gputrace export --format=chrome -o timelines "$1"
	"$python" "$SOURCE/tests/e2e/same_as_export.py" events edges tables timelines || die "$1: differs from the export"
}

both_shapes() {
	rm -rf packed unpacked
	gputrace pack --level=19 -o packed "$1"
	gputrace unpack -o unpacked packed
	agree unpacked
	cp events directory
	"$python" "$SOURCE/tests/reader.py" packed | cmp - directory
	equal "$("$python" "$SOURCE/tests/reader.py" --id packed)" "$("$python" "$SOURCE/tests/reader.py" --id unpacked)"
}

for trace in "$golden"/v*/*.gputrace; do
	"$python" "$SOURCE/tests/reader.py" "$trace" >packed.events
	[ "$(wc -l <packed.events)" -gt 100 ] || die "$trace: no events"
	gputrace unpack -o "$(basename "$trace")" "$trace"
	"$python" "$SOURCE/tests/reader.py" "$(basename "$trace")" | cmp - packed.events
	both_shapes "$(basename "$trace")"
done
for dialect in us ns; do
	python3 "$SOURCE/bench/make_run.py" --plan=small --ranks=2 --steps=3 --dialect=$dialect -o "made.$dialect" >/dev/null
	gputrace import -o "run.$dialect" "made.$dialect"/*.json >/dev/null
	both_shapes "run.$dialect"
done
for run in torchrec-dlrm-4-4xV100 nanogpt-H100-rank0of8; do
	[ -d "$traces/$run" ] || continue
	gputrace import -o "$run" "$traces/$run"/rank-*.json.gz >/dev/null
	agree "$run"
done

# Damage ends the reader with one line.
cp run.us/rank-00000.chunks whole
head -c 3000 whole >run.us/rank-00000.chunks
fails -1 "$python" "$SOURCE/tests/reader.py" run.us
says 'cut short'
