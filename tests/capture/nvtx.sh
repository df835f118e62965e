# SPDX-License-Identifier: Apache-2.0
# NVTX ranges are recorded with names, domains and nesting; a program without CUDA has no calls.
. "$SOURCE/tests/e2e/lib.sh"
here=$BUILD/tests/capture
[ -x "$here/capture_nvtx" ] || skip "missing NVTX headers"
export TMPDIR="$work"

# record ARGUMENT...
record() {
	"$here/capture_run" "$BUILD/capture/library/libgpucapture.so" -- "$here/capture_nvtx" "$@" >"$work/rings"
	equal "$(tail -n 1 "$work/rings")" "ended with 0"
	equal "$(grep ^range "$work/rings" | sed 's/ $//')" "range what 2 key 1 before 1 epoch in
range what 4 key 0 before 1 begin in
range what 0 key 0 before 1 step\\200 in
range what 0 key 0 before 1 f\\c3\\bcr in
range what 0 key 0 before 1 batch in loader
range what 1 key 0 before 1  in loader
range what 1 key 0 before 1  in
range what 1 key 0 before 1  in
range what 3 key 1 before 1  in"
	no_line ^call "$work/rings"
}
record
LD_LIBRARY_PATH=$here record driver
