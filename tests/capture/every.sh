# SPDX-License-Identifier: Apache-2.0
# Every described call is recorded exactly as often as the real library receives it.
. "$SOURCE/tests/e2e/lib.sh"
here=$BUILD/tests/capture
export GPUCAPTURE_DRIVER="$here/libcapture_every.so" LD_LIBRARY_PATH="$here" TMPDIR="$work"
"$here/capture_run" "$BUILD/capture/library/libgpucapture.so" -- "$here/capture_every" >"$work/rings" ||
	die "capture_run: $?"
tail -n 1 "$work/rings" | has_line -x "ended with 0"
sed -n 's/^made //p' "$work/rings" | sort >"$work/made"
# Leave out the first call, which initialises the library.
sed -n 's/^call [0-9]* \([^ ]*\) .*/\1/p' "$work/rings" | sed 1d | sort | uniq -c | awk '{print $2, $1}' | sort >"$work/recorded"
cmp "$work/made" "$work/recorded" || die "$(diff "$work/made" "$work/recorded")"
[ "$(wc -l <"$work/recorded")" -gt 1500 ] || die "$(wc -l <"$work/recorded") calls"
