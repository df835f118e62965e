#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills device memory a few times and ends as its argument says: "exit", "_exit", "wait" (until a signal arrives), or a
signal number. "child N": a child process ends by signal N."""
import os
import signal
import subprocess
import sys

from cuda import cu


def use_gpu():
    cu.cuInit(0)
    cu.new('cuCtxCreate_v4', None, 0, 0)
    memory = cu.new('cuMemAlloc_v2', 4096)
    for _ in range(5):
        cu.cuMemsetD8_v2(memory, 1, 4096)


def main(how, *more):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if how == 'child':
        subprocess.run([sys.executable, sys.argv[0], *more], check=False)
        return
    use_gpu()
    if how == '_exit':
        os._exit(0)
    if how == 'wait':
        print('waiting', flush=True)
        signal.pause()
    if how != 'exit':
        os.kill(os.getpid(), int(how))


if __name__ == '__main__':
    main(*sys.argv[1:])
