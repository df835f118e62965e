#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""through_driver.py LIBRARIES SANITIZER RECORDER LIBRARY PROGRAM [ARGUMENT...]

All that an emulated LIBRARY does reaches the GPU through libcuda.so.1, found under that name: a RECORDER that stands there
counts exactly the calls that the emulated driver behind it counts, and the driver ran no kernel or fill that was not launched.
"""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

# And what they begin. A graph has one kernel here.
LAUNCHES = ('cuLaunchKernel', 'cuLaunchCooperativeKernel', 'cuMemset', 'cuGraphLaunch')


def read(path):
    """{library: {function: calls}}"""
    found = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines():
        library, name, calls = line.split()
        found[library][name] += int(calls)
    return found


def main():
    libraries, sanitizer, recorder, library, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / 'report').touch()
        env = {**os.environ, 'LD_PRELOAD': os.pathsep.join(filter(None, (sanitizer, recorder))), 'LD_LIBRARY_PATH': libraries,
               'RECORDER_DRIVER': f'{libraries}/libcuda.so.1', 'RECORDER_COUNTS': str(work / 'recorded'),
               'GPUEMU_COUNTS': str(work / 'counts'), 'GPUEMU_REPORT': str(work / 'report')}
        with subprocess.Popen(command, env=env) as program:
            try:
                assert program.wait(500) == 0, f'exit status {program.returncode}'
            except subprocess.TimeoutExpired:
                for task in pathlib.Path(f'/proc/{program.pid}/task').iterdir():
                    print(task.name, (task / 'wchan').read_text(), (task / 'syscall').read_text().strip(), file=sys.stderr)
                program.kill()
                raise
        recorded, counts = read(work / 'recorded')['libcuda.so.1'], read(work / 'counts')
        report = [line.split('\t') for line in (work / 'report').read_text().splitlines()]
    assert counts[library], f'{library} was not called'
    for name in recorded.keys() | counts['libcuda.so.1'].keys():
        assert recorded[name] == counts['libcuda.so.1'][name], (name, recorded[name], counts['libcuda.so.1'][name])
    kernels = sum(int(fields[4]) for fields in report if fields[0] == 'gpu')
    launches = sum(calls for name, calls in recorded.items() if name.startswith(LAUNCHES))
    print(f'{library}: {sum(counts[library].values())} calls, {sum(recorded.values())} of the driver, {launches} launches, '
          f'{kernels} kernels and fills')
    assert 0 < kernels <= launches, (kernels, launches)


if __name__ == '__main__':
    main()
