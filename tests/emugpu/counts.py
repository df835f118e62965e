#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""$GPUEMU_COUNTS: public calls are counted by name, a library's internal calls are not, and a child counts separately.

    counts.py            counts the calls of another process that runs it
    counts.py counted    makes the calls
"""
import ctypes
import os
import subprocess
import sys
import tempfile

from cuda import NOT_SUPPORTED, Nccl, cu

# Expected counts of the parent, and of a child that the parent forks at the end.
EXPECTED = '''libcuda.so.1 cuCtxCreate_v4 1
libcuda.so.1 cuDeviceGetCount 1
libcuda.so.1 cuDeviceGetCount 3
libcuda.so.1 cuGetProcAddress_v2 1
libcuda.so.1 cuGraphicsUnmapResources 2
libcuda.so.1 cuStreamQuery 2
libcuda.so.1 cuStreamQuery_ptsz 1
libnccl.so.2 ncclGetVersion 2
libnccl.so.2 pncclGetVersion 1
'''


def make_calls():
    nccl, n = Nccl(), ctypes.byref(ctypes.c_int())
    cu.cuInit(0)
    for _ in range(3):
        cu.cuDeviceGetCount(n)
    for _ in range(2):
        cu.fails(NOT_SUPPORTED, 'cuGraphicsUnmapResources', 0, None, None)
    cu.new('cuCtxCreate_v4', None, 0, 0)
    cu.cuStreamQuery(0)
    cu.cuStreamQuery_ptsz(0)
    query = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(
        cu.new('cuGetProcAddress_v2', b'cuStreamQuery', ..., 13000, 0, None))
    assert query(0) == 0
    nccl.ncclGetVersion(n)
    nccl.ncclGetVersion(n)
    nccl.pncclGetVersion(n)
    child = os.fork()
    if child == 0:
        cu.cuDeviceGetCount(n)
        sys.exit()
    assert os.waitpid(child, 0) == (child, 0)


def main():
    with tempfile.NamedTemporaryFile('r', prefix='gpuemu-counts-', encoding='ascii') as counts:
        subprocess.run([sys.executable, sys.argv[0], 'counted'], env={**os.environ, 'GPUEMU_COUNTS': counts.name}, check=True)
        text = counts.read()
    for line in EXPECTED.splitlines(True):
        assert line in text, f'no line {line}in\n{text}'
    assert text.count('cuInit') == 1, text


if __name__ == '__main__':
    if len(sys.argv) > 1:
        make_calls()
    else:
        main()
