# SPDX-License-Identifier: Apache-2.0
# A recorded training step is executed again, and digest after digest is the same.
. "$SOURCE/tests/gpu/lib.sh"

gpucapture -o "$work/run" --replayable -- "$python" "$train" >"$work/out"
status=0
gpureplay --json -o "$work/again" "$work/run" >"$work/report" || status=$?
cat "$work/report"
[ $status -le 1 ] || die "gpureplay ended with $status"
equal "$status" 0
gputrace verify "$work/again" >/dev/null
