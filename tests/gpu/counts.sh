# SPDX-License-Identifier: Apache-2.0
# Recorded driver calls equal those that CUPTI counts. Without device times and digests, so that the
# recorder makes no calls itself.
. "$SOURCE/tests/gpu/lib.sh"
oracle=$BUILD/tests/gpu/libcupti_counts.so
[ -e "$oracle" ] || skip "the oracle was not built (no CUPTI)"

CUDA_INJECTION64_PATH=$oracle CUPTI_COUNTS=$work/counts gpucapture -o "$work/run" --device-times=off -- \
	"$python" "$train" >"$work/out"
gputrace export --format=tsv -o "$work/tables" "$work/run"
"$python" "$SOURCE/tests/gpu/counts.py" "$work/tables" "$work/counts"
