# SPDX-License-Identifier: Apache-2.0
# Inferred waits keep their partner in all iterations, unless the program waits for something else in
# one of them.
. "$(dirname "$0")/lib.sh"

for run in stable unstable; do
	option=--unstable
	[ $run = unstable ] || option=
	python3 "$SOURCE/bench/make_run.py" --plan=fsdp --ranks 4 --steps 4 $option -o "$work/run-$run"
	gputrace import -o "$work/$run" "$work/run-$run"/rank-*.json >"$work/imported"
	gpureplay --emulate --json "$work/$run" >"$work/$run.json"
done
python3 - "$work/stable.json" "$work/unstable.json" <<'PYTHON'
import json
import sys

stable, unstable = (json.load(open(f, encoding='utf-8'))['edge_stability'] for f in sys.argv[1:])
assert stable['sites'] == stable['stable'] > 500 and stable['worst'] == [], stable
assert unstable['sites'] == stable['sites'], unstable
assert unstable['changing'] == 4 and unstable['partial'] == 0, 'a site of each rank'
site, = unstable['worst']
assert site['gpus'] == 4 and site['rule'] == 'sync-event', site
assert site['name'] == 'cudaEventSynchronize' and site['position'] == 7, site
assert site['iterations'] == 4 and site['partners'] == 2, site
usual = site['usual_partner']
assert usual['iterations'] == 3 and 'gemm2' in usual['name'] and usual['position'] == 7, usual
PYTHON
gpureplay --emulate "$work/unstable" >"$work/report"
has_line '^inferred waits: [0-9]* sites, [0-9]* with the same partner in all iterations, 4 with changing' <"$work/report"
has_line '^ *0  *4  *sync-event  *cudaEventSynchronize #7  *2  *3/4  *.*gemm2.* #7$' <"$work/report"

# Recorded waits are not inferred.
python3 "$SOURCE/bench/make_run.py" --plan=ddp --ranks 2 --steps 3 --syncs -o "$work/run-recorded"
gputrace import -o "$work/recorded" "$work/run-recorded"/rank-*.json >"$work/imported"
gpureplay --emulate --json "$work/recorded" >"$work/json"
has_line '"edge_stability": {"sites": 0, ' <"$work/json"
