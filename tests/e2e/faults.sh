# SPDX-License-Identifier: Apache-2.0
# Faults at random places of recorded examples are found where they are: faults.py has the details.
. "$(dirname "$0")/lib.sh"
need_capture
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # LeakSanitizer does not work in a confined worker
[ -x "$programs/examples/ddp" ] || skip "the examples were not built (no nvcc)"
[ "$programs" = "$BUILD" ] || skip "the same in the plain build"
cd "$work"

python3 "$SOURCE/tests/e2e/faults.py" "$BUILD" --count 4 --seed "$(date +%j)" >found || die "$(cat found)"
equal "$(grep -c ': 4 of 4 found' found)" 6

# A stored content that was damaged: its checksum says so.
printf '\377\0\377' | dd of=ddp2/blobs.chunks bs=1 seek=30000 conv=notrunc 2>/dev/null
fails -3 gpuemu --gpus 2 -o report --kernels "$BUILD/examples/kernels.so" -- gpureplay ddp2
grep -q 'cannot re-execute ddp2: ' stderr || die "$(cat stderr)"
