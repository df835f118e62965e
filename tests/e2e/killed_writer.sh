# SPDX-License-Identifier: Apache-2.0
# A writer that is killed at any time leaves a trace with every slice written so far.
. "$(dirname "$0")/lib.sh"

for i in $(seq 50); do
	rm -rf "$work/trace" "$work/told"
	"$BUILD/tests/e2e/store_writer" "$work/trace" >"$work/told" &
	writer=$!
	# Kills it within 80 ms after its first slice.
	while [ ! -s "$work/told" ]; do sleep 0.002; done
	sleep "0.0$(printf '%02d' "$((i * 37 % 80))")"
	kill -9 "$writer"
	wait "$writer" 2>/dev/null || true
	written=$(grep -c . "$work/told")
	gputrace info --json "$work/trace" >"$work/info" || die "killed after $written: cannot be opened"
	python3 - "$work/info" "$written" <<-'END'
		import json, sys
		info, written = json.load(open(sys.argv[1])), int(sys.argv[2])
		have = len(info['iterations'])
		# One more slice may be complete than was reported.
		assert written <= have <= written + 1, (written, have)
	END
	fails -1 gputrace verify "$work/trace"
	grep -q 'cut off' "$work/stdout" || die "verify: $(cat "$work/stdout")"
done

# Truncated at any byte of the last chunk.
for bytes in $(seq 200); do
	truncate -s -1 "$work/trace/rank-00000.chunks"
	fails -1 gputrace verify "$work/trace"
	grep -q 'cut off' "$work/stdout" || die "$bytes bytes fewer: $(cat "$work/stdout")"
done

# A writer that ends normally leaves a complete trace.
"$BUILD/tests/e2e/store_writer" "$work/whole" 20 >/dev/null
gputrace verify "$work/whole" >/dev/null
