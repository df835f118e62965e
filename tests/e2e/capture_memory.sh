# SPDX-License-Identifier: Apache-2.0
# The memory table shows the size and address of each allocation and release: results of calls after
# the call, and the size of freed memory.
. "$(dirname "$0")/lib.sh"
need_capture
program=$SOURCE/tests/capture/memory.py
cd "$work"

gpucapture -o run -- gpuemu -o report -- "$program" >want 2>err || die "$(cat err)"
gputrace export -f tsv -o run.tsv run
table=$(echo run.tsv/iterations/*/gpu0/memory)
equal "$(head -n 1 $table | cut -f 5-7)" "name	bytes	address"
tail -n +2 $table | sort -n | cut -f 5-7 | tr '\t' ' ' >got
diff want got || die "the table differs"
