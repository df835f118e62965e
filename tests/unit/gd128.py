#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gd128 from doc/design/digest.md alone: its answers must stand in test_gd128.c, the argument."""
import pathlib
import sys

M = (1 << 64) - 1


def key(n):
    z = (n + 1) * 0x9e3779b97f4a7c15 & M
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M
    return z ^ z >> 31


def add(total, unit, first_key):
    product = (unit[0] + key(first_key) & M) * (unit[1] + key(first_key + 1) & M)
    return total[0] + product & M, total[1] + (product >> 64) & M


def words(data):
    return int.from_bytes(data[:8], 'little'), int.from_bytes(data[8:16], 'little')


def gd128(data):
    total = 0, 0
    for number, at in enumerate(range(0, len(data), 65536)):
        page = 0, 0
        for unit in range(0, min(65536, len(data) - at), 16):
            page = add(page, words(data[at + unit:at + unit + 16]), unit // 8)
        total = add(total, page, (1 << 32) + 2 * number)
    return add(total, (len(data), 0), 1 << 63)


def main():
    data = b''.join(key(1000 + i).to_bytes(8, 'little') for i in range((3 * 65536 + 1003) // 8 + 1))
    table = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')
    missing = 0
    for size in (0, 1, 15, 16, 17, 1000, 65536, 65537, 3 * 65536 + 1003):
        low, high = gd128(data[:size])
        row = f'{{{size}, {{0x{low:016x}u, 0x{high:016x}u}}}}'
        if row not in table:
            print('not there:', row)
            missing += 1
    return missing > 0


if __name__ == '__main__':
    sys.exit(main())
