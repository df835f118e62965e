# SPDX-License-Identifier: Apache-2.0
# The emulator uses no recorded start of an operation, no duration of a call that waits, and no wait
# time inside a collective: with random values for all of these, its result is identical.
. "$(dirname "$0")/lib.sh"

scramble=$BUILD/tests/e2e/scramble
same_times=$SOURCE/tests/e2e/same_times.py

# check NAME FILE...: imports the run and scrambles it three times.
check() {
	name=$1
	shift
	gputrace import -o "$work/$name" "$@" >/dev/null
	gpureplay --emulate -o "$work/$name.emulated" "$work/$name" >/dev/null
	for seed in 1 2 3; do
		"$scramble" "$work/$name" "$work/$name.$seed" $seed
		fails -1 "$same_times" "$work/$name" "$work/$name.$seed" # otherwise nothing was scrambled
		has_line ' times differ$' <"$work/stdout"
		gpureplay --emulate -o "$work/$name.$seed.emulated" "$work/$name.$seed" >/dev/null
		"$same_times" "$work/$name.emulated" "$work/$name.$seed.emulated" ||
			die "$name: a recorded time was read (seed $seed)"
	done
}

for plan in ddp tensor pipeline fsdp experts stalls; do
	python3 "$SOURCE/bench/make_run.py" --plan=$plan --ranks 4 --steps 2 -o "$work/made-$plan"
	check "$plan" "$work/made-$plan"/rank-*.json
done
python3 "$SOURCE/bench/make_run.py" --plan=fsdp --ranks 4 --steps 2 --polls -o "$work/made-polls"
check polls "$work/made-polls"/rank-*.json
for run in torchrec-resnet18-2xV100 torchrec-dlrm-2-4xV100 nanogpt-H100-rank0of8; do
	if [ -d "$traces/$run" ]; then
		check "$run" "$traces/$run"/rank-*.json.gz
	else
		echo "without ../shared/traces/$run, which is not there"
	fi
done
