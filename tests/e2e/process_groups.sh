# SPDX-License-Identifier: Apache-2.0
# Collectives are matched by the process groups and numbers that PyTorch recorded.
. "$(dirname "$0")/lib.sh"

# make NAME OPTION...: a run with two kinds of groups, imported, and its tables.
make() {
	name=$1
	shift
	python3 "$SOURCE/bench/make_run.py" --plan=grid --ranks 4 --steps 2 --skew 3000 "$@" -o "$work/run-$name"
	gputrace import -o "$work/$name" "$work/run-$name"/rank-*.json >"$work/imported"
	gputrace export -f tsv -o "$work/tables-$name" "$work/$name"
}

# The profiler lost a collective: the order of the others does not show which one.
make lost --lost 1:3 --numbered
python3 - "$work/tables-lost" <<'PYTHON'
import csv
import glob
import sys

n = 0
for name in glob.glob(sys.argv[1] + '/iterations/*/gpu*/collectives'):
    with open(name, encoding='utf-8') as f:
        for row in csv.DictReader(f, delimiter='\t', quoting=csv.QUOTE_NONE):
            assert f';Seq={row["sequence"]};' in f';{row["args"]};', row
            n += 1
assert n == 2 * 4 * 36 - 1, n
PYTHON
gpureplay --emulate --json "$work/lost" >"$work/json"
has_line '"mean_abs_error": 0\.000' <"$work/json"

# Only the range record_param_comms around a launch names the group: the same communicators.
for plan in grid pipeline; do
	make kernel --plan=$plan --seed 29
	make params --plan=$plan --seed 29 --params
	for table in kernel params; do
		for rows in "$work/tables-$table"/iterations/*/gpu*/collectives; do
			cut -f 5,6,7,8,9,10,11,12 "$rows"
		done >"$work/$table.txt"
		cat "$work/tables-$table"/communicators/*/ranks >>"$work/$table.txt"
	done
	cmp "$work/kernel.txt" "$work/params.txt" || die "$plan: other communicators"
	[ "$(wc -l <"$work/params.txt")" -gt 100 ] || die "$plan: no collectives"
	gputrace export -o "$work/exported-$plan" "$work/params"
	gputrace import -o "$work/again" "$work/exported-$plan"/rank-*.json >/dev/null
	gputrace diff "$work/params" "$work/again" | has_line 'are the same'
	rm -r "$work/kernel" "$work/params" "$work/again" "$work"/tables-* "$work"/run-*
done

# Without names, ends tell the same communicators apart, even if their ranks run in lockstep and one
# collective directly follows that of another communicator.
for option in groups no-groups; do
	make $option --plan=combined --ranks 8 --steps 3 --seed 8 --$option
	for ranks in "$work/tables-$option"/communicators/*/ranks; do
		cut -f 1 "$ranks" | paste -s
	done | sort >"$work/$option.txt"
done
cmp "$work/groups.txt" "$work/no-groups.txt" || die "other communicators"

# A number is not the name of a group.
for rank in 0 1; do
	cat >"$work/number-$rank.json" <<JSON
{"distributedInfo": {"rank": $rank, "world_size": 2}, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 7, "ts": 20, "dur": 10,
"args": {"correlation": 1, "stream": 7, "device": 0, "Process Group Name": 777777, "Process Group Ranks": 888888}}]}
JSON
done
gputrace import -o "$work/number" "$work"/number-*.json >/dev/null
gpureplay --emulate "$work/number" >/dev/null
