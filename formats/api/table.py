#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of api.c: table.py OUT.c CALLS.api..."""
import sys

import lines

WIRES = {'i': 'INT', 'u': 'UINT', 'f': 'FLOAT', 'p': 'POINTER', 'c': 'COMPLEX', 's': 'STRUCT', 'v': 'NONE'}

TOP = '''/* Made by formats/api/table.py. */
#include "formats/api/api.h"

'''

BOTTOM = '''
const struct api_call api_calls[] = {{
{calls}}};
const unsigned api_n_calls = {count};
'''


def enumerator(prefix, word):
    return f'API_{prefix}_{word.upper().replace("-", "_") or "NONE"}'


def factor(text, args):
    """The initialiser of a factor that is not a number."""
    if text == '{ranks}':
        return '{API_FACTOR_RANKS, 0, 0}'
    kind = {'[': 'POINTED', '{': 'DATATYPE'}.get(text[0], 'VALUE')
    name, _, less = text.strip('[]{}').partition('-')
    return f'{{API_FACTOR_{kind}, {[a.name for a in args].index(name)}, {less or 0}}}'


def length(text, args):
    kinds = {'': 'NONE', '?': 'UNKNOWN', 'nul': 'NUL', 'image': 'IMAGE', 'params': 'PARAMS', 'extra': 'EXTRA'}
    if text in kinds:
        return f'{{.kind = API_LENGTH_{kinds[text]}}}'
    number, factors = 1, []
    for part in text.split('*'):
        if part.isdigit():
            number *= int(part)
        else:
            factors.append(factor(part, args))
    by = f', {len(factors)}, {{{", ".join(factors)}}}' if factors else ', 0, {}'
    return f'{{API_LENGTH_PRODUCT{by}, {number}}}'


def argument(a, args):
    name = f'"{a.name}"' if a.name else 'NULL'
    kind = f'"{a.type}"' if a.type else 'NULL'
    layout = f'&struct_{a.type}' if a.meaning == 'struct' else 'NULL'
    values = f'&enum_{a.type}' if a.meaning == 'enum' else 'NULL'
    return (f'{{{name}, {kind}, {layout}, {values}, {a.word}, {a.bytes}, API_WIRE_{WIRES[a.wire[0]]}, {enumerator("MEANING", a.meaning)}, '
            f'{enumerator("DIRECTION", a.direction)}, {length(a.length, args)}}}')


def enum_text(name, values):
    rows = ''.join(f'\t{{"{n}", {v}}},\n' for n, v in values)
    return (f'static const struct api_value values_{name}[] = {{\n{rows}}};\n'
            f'static const struct api_enum enum_{name} = {{"{name}", values_{name}, {len(values)}}};\n')


def outer_index(name, struct, calls):
    """Which argument `name` is in the calls that take the struct: the same in all."""
    at = {[a.name for a in c.args].index(name) for c in calls if struct.name in (a.type for a in c.args)}
    if len(at) != 1:
        raise SystemExit(f'{struct.name}: {name} is not the same argument everywhere')
    return at.pop()


def condition(where, values, struct, calls):
    bits = sum(1 << int(v) for v in values)
    outer = where.startswith('^')
    index = outer_index(where[1:], struct, calls) if outer else [f.name for f in struct.fields].index(where)
    return f'{{{bits:#x}, {index}, {int(outer)}}}'


def struct_text(struct, calls):
    rows = ''
    for f in struct.fields:
        when = ', '.join(condition(where, values, struct, calls) for where, values in f.conditions)
        rows += (f'\t{{{argument(f, struct.fields)}, {f.offset}, {f.count}, {len(f.conditions)}, '
                 f'{{{when}}}}},\n')
    fields = f'fields_{struct.name}' if rows else 'NULL'
    out = f'static const struct api_field fields_{struct.name}[] = {{\n{rows}}};\n' if rows else ''
    return out + (f'static const struct api_struct struct_{struct.name} = {{"{struct.name}", {fields}, {struct.bytes}, '
                  f'{len(struct.fields)}}};\n')


def main():
    found = lines.read(sys.argv[2:])
    calls = found.calls
    out, rows, shared = TOP, '', {}
    out += ''.join(enum_text(n, found.enums[n]) for n in sorted(found.enums))
    out += ''.join(f'static const struct api_struct struct_{n};\n' for n in sorted(found.structs))
    out += ''.join(struct_text(found.structs[n], calls) for n in sorted(found.structs))
    for c in calls:
        text = ''.join(f'\t{argument(a, c.args)},\n' for a in c.args)
        if text and text not in shared:
            shared[text] = f'args_{c.name}'
            out += f'static const struct api_arg args_{c.name}[] = {{\n{text}}};\n'
        rows += (f'\t{{"{c.name}", {argument(c.result, [])}, {shared.get(text, "NULL")}, {len(c.args)}, {c.words}, '
                 f'{enumerator("LIBRARY", c.library)}, {enumerator("CLASS", c.verb)}, {int(c.per_thread)}, '
                 f'{c.stream}}},\n')
    names = [c.name for c in calls]
    assert names == sorted(set(names)) and len(names) < 0x8000
    with open(sys.argv[1], 'w', encoding='utf-8') as file:
        file.write(out + BOTTOM.format(calls=rows, count=len(calls)))


if __name__ == '__main__':
    main()
