# SPDX-License-Identifier: Apache-2.0
# A writer that is killed at any moment leaves a trace with every slice that it had written.
. "$(dirname "$0")/lib.sh"

for i in $(seq 50); do
	rm -rf "$work/trace" "$work/told"
	"$BUILD/tests/e2e/store_writer" "$work/trace" >"$work/told" &
	writer=$!
	# Somewhere in its first 80 ms; not before there is a slice to be found.
	while [ ! -s "$work/told" ]; do sleep 0.002; done
	sleep "0.0$(printf '%02d' "$((i * 37 % 80))")"
	kill -9 "$writer"
	wait "$writer" 2>/dev/null || true
	written=$(grep -c . "$work/told")
	gputrace info --json "$work/trace" >"$work/info" || die "killed after $written: does not open"
	python3 - "$work/info" "$written" <<-'END'
		import json, sys
		info, written = json.load(open(sys.argv[1])), int(sys.argv[2])
		have = len(info['iterations'])
		# One more can be whole than was told.
		assert written <= have <= written + 1, (written, have)
	END
	fails -1 gputrace verify "$work/trace"
	grep -q 'cut off' "$work/stdout" || die "verify says: $(cat "$work/stdout")"
done

# Wherever its last chunk ends.
for bytes in $(seq 200); do
	truncate -s -1 "$work/trace/rank-00000.chunks"
	fails -1 gputrace verify "$work/trace"
	grep -q 'cut off' "$work/stdout" || die "$bytes bytes less: $(cat "$work/stdout")"
done

# What ends cleanly is whole.
"$BUILD/tests/e2e/store_writer" "$work/whole" 20 >/dev/null
gputrace verify "$work/whole" >/dev/null
