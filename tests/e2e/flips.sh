# SPDX-License-Identifier: Apache-2.0
# Verify detects every flipped bit, in every file of a real trace, in both shapes.
. "$(dirname "$0")/lib.sh"
need_traces torchrec-resnet18-2xV100
command -v python3 >/dev/null || skip "missing python3"
cd "$work"
gputrace import -o run "$traces"/torchrec-resnet18-2xV100/rank-*.json.gz >report
gputrace pack -o packed run
gputrace verify run >verified
gputrace verify packed >verified

python3 - <<'PY'
import pathlib, random, subprocess
random.seed(20261123)
FLIPS = 60  # in each file

def found(trace, what):
    run = subprocess.run(['gputrace', 'verify', trace], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and ' damaged\n' in run.stdout, \
        f'{what}: verify ended with {run.returncode}: {run.stdout}{run.stderr}'

def flip(path, trace):
    whole = path.read_bytes()
    for _ in range(FLIPS):
        at, bit = random.randrange(len(whole)), random.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1:])
        found(trace, f'{path} with bit {bit} of byte {at} flipped')
    path.write_bytes(whole)

files = sorted(pathlib.Path('run').iterdir())
assert [f.name for f in files] == ['manifest.chunks', 'names.chunks', 'rank-00000.chunks', 'rank-00001.chunks'], files
for file in files:
    flip(file, 'run')
for _ in range(2 * len(files)):
    flip(pathlib.Path('packed'), 'packed')
print(FLIPS * 3 * len(files), 'flips, all found')
PY
gputrace verify run >verified
gputrace verify packed >verified
