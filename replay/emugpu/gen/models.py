#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""models.py OUT.c FILE.gpu...: the tables of data/gpus as strings, so that a library needs no files."""
import pathlib
import sys


def main():
    out = '/* Made by replay/emugpu/gen/models.py from data/gpus. */\n#include "replay/emugpu/driver/model.h"\n'
    out += '\nconst struct emu_model_text emu_model_texts[] = {\n'
    for path in map(pathlib.Path, sys.argv[2:]):
        lines = ''.join(f'\n\t "{line}\\n"' for line in path.read_text(encoding='utf-8').splitlines())
        out += f'\t{{"{path.stem}",{lines}}},\n'
    pathlib.Path(sys.argv[1]).write_text(out + '\t{0},\n};\n', encoding='utf-8')


if __name__ == '__main__':
    main()
