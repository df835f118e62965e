# SPDX-License-Identifier: Apache-2.0
# Traces of every released version of the format (tests/golden/vN) can be read and give the expected
# text. There are directories and packed files; both verify, and packed ones can be unpacked by zstd
# alone.
. "$(dirname "$0")/lib.sh"

# text TRACE: all events with their arguments, names, facts and dependencies, without the names of
# columns.
text() {
	rm -rf "$work/tables"
	gputrace export "$1"
	gputrace export --format=tsv -o "$work/tables" "$1"
	cat "$work/tables/id"
	tail -qn +2 "$work"/tables/iterations/*/*/syncs
}

for trace in "$golden"/v*/*.gputrace; do
	text "$trace" | cmp - <(gzip -dc "${trace%.gputrace}.txt.gz") || die "$trace"
	gputrace verify "$trace" >/dev/null || die "$trace is damaged"
	rm -rf "$work/unpacked"
	gputrace unpack -o "$work/unpacked" "$trace"
	gputrace verify "$work/unpacked" >/dev/null || die "$trace unpacked is damaged"
	text "$work/unpacked" | cmp - <(gzip -dc "${trace%.gputrace}.txt.gz")
	# Packing and unpacking gives the same bytes.
	rm -f "$work/packed"
	gputrace pack -o "$work/packed" "$work/unpacked"
	cmp "$work/packed" "$trace" || die "$trace does not pack to itself"
	# At another compression level it is the same trace.
	rm -f "$work/packed"
	gputrace pack --level=1 -o "$work/packed" "$trace"
	text "$work/packed" | cmp - <(gzip -dc "${trace%.gputrace}.txt.gz")
	! command -v zstd >/dev/null || zstd -dcq "$trace" >/dev/null || die "zstd cannot unpack $trace"
done
