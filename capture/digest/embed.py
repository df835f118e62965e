#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT [NVCC -I... FILE.cu]: the kernel as a fat binary (PTX, and machine code of the common GPUs), as a
C array; an empty one without NVCC."""
import pathlib
import subprocess
import sys
import tempfile

# PTX for GPUs without compiled code: it takes a compiler in the driver, of this toolkit's version or newer.
PTX, GPUS = '75', ['80', '90', '100', '120']


def code(nvcc):
    known = subprocess.run([nvcc, '--list-gpu-code'], check=True, capture_output=True, text=True).stdout.split()
    options = ['-gencode', f'arch=compute_{PTX},code=compute_{PTX}']
    for gpu in GPUS:
        if f'sm_{gpu}' in known:
            options += ['-gencode', f'arch=compute_{gpu},code=sm_{gpu}']
    return options


def fat_binary(command):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / 'kernel.fatbin'
        subprocess.run([command[0], '-std=c++17', '-O3', '-fatbin', '-no-compress', *code(command[0]), *command[1:], '-o',
                        str(out)], check=True)
        return out.read_bytes()


def main():
    data = fat_binary(sys.argv[2:]) if len(sys.argv) > 2 else b''
    rows = [','.join(map(str, data[i:i + 32])) for i in range(0, len(data), 32)]
    pathlib.Path(sys.argv[1]).write_text(
        '/* Made by capture/digest/embed.py. */\n#include "capture/digest/gd128_image.h"\n'
        f'const size_t gd128_image_bytes = {len(data)};\n'
        '_Alignas(16) const unsigned char gd128_image[] = {\n' + ',\n'.join(rows or ['0']) + '};\n')


if __name__ == '__main__':
    main()
