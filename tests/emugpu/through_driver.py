#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""through_driver.py GPUEMU LIBRARIES SANITIZER RECORDER LIBRARY PROGRAM [ARGUMENT...]

An emulated LIBRARY uses the GPU only through libcuda.so.1, found by that name: a RECORDER with this name counts exactly
the calls that the emulated driver behind it counts, and the driver ran no kernel or fill that was not launched.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Calls that launch, and the operations that they launch. A graph has one kernel here.
LAUNCHES = ('cuLaunchKernel', 'cuLaunchCooperativeKernel', 'cuMemset', 'cuGraphLaunch')


def read(path):
    """Returns {library: {function: calls}}."""
    found = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines():
        library, name, calls = line.split()
        found[library][name] += int(calls)
    return found


def main():
    gpuemu, libraries, sanitizer, recorder, library, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        # gpuemu preloads its libraries after a recorder, which it recognises by this name.
        first = work / 'libgpucapture.so'
        shutil.copy(recorder, first)
        env = {**os.environ, 'LD_PRELOAD': os.pathsep.join(filter(None, (sanitizer, str(first)))),
               'RECORDER_DRIVER': f'{libraries}/libcuda.so.1', 'RECORDER_COUNTS': str(work / 'recorded'),
               'GPUEMU_COUNTS': str(work / 'counts')}
        run = [gpuemu, '--gpus', '8', '--json', '-o', str(work / 'report'), '--', *command]
        with subprocess.Popen(run, env=env) as program:
            try:
                assert program.wait(500) == 0, f'exit status {program.returncode}'
            except subprocess.TimeoutExpired:
                for task in pathlib.Path(f'/proc/{program.pid}/task').iterdir():
                    print(task.name, (task / 'wchan').read_text(), (task / 'syscall').read_text().strip(), file=sys.stderr)
                program.kill()
                raise
        recorded, counts = read(work / 'recorded')['libcuda.so.1'], read(work / 'counts')
        report = json.loads((work / 'report').read_text())
    assert counts[library], f'{library} was not called'
    for name in recorded.keys() | counts['libcuda.so.1'].keys():
        assert recorded[name] == counts['libcuda.so.1'][name], (name, recorded[name], counts['libcuda.so.1'][name])
    kernels = sum(gpu['kernels'] for gpu in report['gpus'])
    launches = sum(calls for name, calls in recorded.items() if name.startswith(LAUNCHES))
    print(f'{library}: {sum(counts[library].values())} calls, {sum(recorded.values())} of the driver, {launches} launches, '
          f'{kernels} kernels and fills')
    assert 0 < kernels <= launches, (kernels, launches)


if __name__ == '__main__':
    main()
