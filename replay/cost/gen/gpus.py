#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpus.py OUT.c FILE.gpu...: the tables of data/gpus as strings, so that a library needs no files."""
import pathlib
import sys


def literal(path):
    return ''.join(f'\n\t "{line}\\n"' for line in path.read_text(encoding='utf-8').splitlines())


def main():
    paths = [pathlib.Path(p) for p in sys.argv[2:]]
    out = '/* Made by replay/cost/gen/gpus.py from data/gpus. */\n#include "replay/cost/gpu.h"\n'
    out += ''.join(f'\nconst char cost_gpu_common[] = {literal(p)};\n' for p in paths if p.stem == 'common')
    out += '\nconst struct cost_gpu_text cost_gpu_texts[] = {\n'
    out += ''.join(f'\t{{"{p.stem}",{literal(p)}}},\n' for p in paths if p.stem != 'common')
    pathlib.Path(sys.argv[1]).write_text(out + '\t{0},\n};\n', encoding='utf-8')


if __name__ == '__main__':
    main()
