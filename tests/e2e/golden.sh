# SPDX-License-Identifier: Apache-2.0
# Traces of every released version of the format (tests/golden/vN) can be read and give the expected
# text. There are directories and packed files; both verify, and packed ones can be unpacked by zstd
# alone.
. "$(dirname "$0")/lib.sh"

for trace in "$golden"/v*/*.gputrace; do
	"$BUILD/tests/e2e/store_dump" "$trace" | cmp - "${trace%.gputrace}.txt" || die "$trace"
	gputrace verify "$trace" >/dev/null || die "$trace is damaged"
	rm -rf "$work/unpacked"
	gputrace unpack -o "$work/unpacked" "$trace"
	gputrace verify "$work/unpacked" >/dev/null || die "$trace unpacked is damaged"
	"$BUILD/tests/e2e/store_dump" "$work/unpacked" | cmp - "${trace%.gputrace}.txt"
	# Packing and unpacking gives the same bytes.
	rm -f "$work/packed"
	gputrace pack -o "$work/packed" "$work/unpacked"
	cmp "$work/packed" "$trace" || die "$trace does not pack to itself"
	# At another compression level it is the same trace.
	rm -f "$work/packed"
	gputrace pack --level=1 -o "$work/packed" "$trace"
	"$BUILD/tests/e2e/store_dump" "$work/packed" | cmp - "${trace%.gputrace}.txt"
	! command -v zstd >/dev/null || zstd -dcq "$trace" >/dev/null || die "zstd cannot unpack $trace"
done
