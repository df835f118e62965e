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

# Stored contents that were damaged: their checksums say so.
python3 - <<'PYTHON'
with open('ddp2/blobs.chunks', 'r+b') as file:
    data = bytearray(file.read())
    for at in range(30000, len(data) - 4096, 65536): # behind the header, before the index
        data[at] ^= 255
    file.seek(0)
    file.write(data)
PYTHON
fails -3 gpuemu --gpus 2 -o report --kernels "$BUILD/examples/kernels.so" -- gpureplay ddp2
grep -q 'cannot re-execute ddp2: ' stderr || die "$(cat stderr)"
