# SPDX-License-Identifier: Apache-2.0
# `gputrace join` makes one trace from the parts of a run, and refuses traces of different runs.
. "$(dirname "$0")/lib.sh"
need_traces torchrec-resnet18-2xV100 torchrec-dlrm-2-4xV100 torchrec-dlrm-3-4xV100
mkdir "$work/in"
cd "$work/in"

# imported NAME RUN RANK: makes the trace of one rank.
imported() {
	gputrace import -o "$1" "$traces/$2/rank-$3.json.gz" >report
}

imported a0 torchrec-resnet18-2xV100 0
imported a1 torchrec-resnet18-2xV100 1
imported b0 torchrec-dlrm-2-4xV100 0
imported b1 torchrec-dlrm-2-4xV100 1
imported c1 torchrec-dlrm-3-4xV100 1

gputrace join -o a a0 a1 >report
gputrace verify a >verified
gputrace info a | has_line '^2 GPUs, '
gputrace join -o b b1 b0 >report
gputrace info b | has_line '^2 GPUs, '

refuses 3 'a0: the same trace as a0' gputrace join -o none a0 a0
refuses 3 'a1: not known to be of the same run as b0' gputrace join -o none b0 a1
refuses 3 'c1: not known to be of the same run as b0' gputrace join -o none b0 c1
refuses 3 'c1: not known to be of the same run as b1' gputrace join -o none b1 c1
