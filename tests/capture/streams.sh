# SPDX-License-Identifier: Apache-2.0
# Threads launch on shared and on short-lived streams: each operation has its times, and there are
# no data races.
. "$SOURCE/tests/e2e/lib.sh"
here=$BUILD/tests/capture
library=$BUILD/capture/library/libgpucapture.so
# Built with ThreadSanitizer, the program contains the library; a race gives exit status 66.
if [ "$SANITIZE" = thread ]; then
	library=-
	export TSAN_OPTIONS=exitcode=66 GPUCAPTURE_DRIVER=$here/libstreams_driver.so
fi
cd "$work"

for how in "" forked; do
	"$here/capture_run" "$library" -t -r 4194304 -- "$here/capture_streams" 64 $how >rings 2>told || die "capture_run: $(cat told)"
	grep -qx "ended with 0" rings || die "$how: $(tail -n 1 rings): $(cat told)"
	no_line "^damage" rings
	operations=$(sed -n 's/^operations //p' rings)
	equal "$(grep -c '^times' rings)" "$operations"
	grep -q '^fact device_times .*"untimed":\\200,' rings || die "$(grep '^fact device_times' rings)"
done
