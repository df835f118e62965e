# SPDX-License-Identifier: Apache-2.0
# Driver calls with strict preconditions, which emulated drivers check too: the recorder's own calls
# observe them at every digest level.
. "$(dirname "$0")/lib.sh"
need_capture
strict=$SOURCE/tests/capture/strict.py
cd "$work"

# timed CASE: each operation of the case has a time.
timed() {
	grep '^call' "$1" | grep -E ' cu(Launch|Memcpy|Memset)' | cut -d' ' -f2 | sort >ran
	grep '^times' "$1" | cut -d' ' -f2 | sort >times
	cmp ran times || die "$1: $(diff ran times)"
	no_line '^times.* +0$' "$1"
}

for case in copy_in_another_context capture_joined_by_event load_during_capture map_for_no_device \
	copy_from_unmapped_memory stream_ordered_memory copy_without_peer_access copy_device_registers; do
	gpuemu --gpus 2 -o report -- "$strict" $case || die "$case fails without recording"
	for level in 0 1 3; do
		record_rings "$case" -g $level -t -- "$strict" $case
		case $case in copy_in_another_context) timed $case ;; esac
	done
done

[ -x "$programs/examples/ddp" ] || skip "digests: missing nvcc for the digest kernel"

# of CASE BYTES N: there are N digests of buffers of that length.
of() { equal "$(grep -c "^digest.*+$2 of" "$1")" "$3"; }
[ "$(grep -c ^digest map_for_no_device)" -gt 0 ] || die "no digests"
of map_for_no_device 2097152 2
of stream_ordered_memory 12345 2
of stream_ordered_memory 23456 0
of copy_without_peer_access 99998 0
of copy_without_peer_access 99997 1
of copy_without_peer_access 99999 2
of copy_device_registers 8192 0
