# SPDX-License-Identifier: Apache-2.0
# A deterministic run has the same digests each time.
. "$SOURCE/tests/gpu/lib.sh"

for i in 1 2; do
	gpucapture -o "$work/run$i" --digest=comm -- "$python" "$train" >"$work/out$i"
	gputrace export --format=tsv -o "$work/tables$i" "$work/run$i"
	cat "$work/tables$i"/iterations/*/gpu0/digests | cut -f 2- >"$work/digests$i"
done
cmp "$work/out1" "$work/out2" || skip "the program itself does not repeat"
[ "$(wc -l <"$work/digests1")" -gt 20 ] || die "too few digests"
cmp "$work/digests1" "$work/digests2" || die "they differ"
