# SPDX-License-Identifier: Apache-2.0
"""Reads LIBRARY.api: for generators."""
import dataclasses
import re


@dataclasses.dataclass
class Argument:
    name: str
    wire: str  # i4 u8 f4 ptr c8 s128 void
    meaning: str
    type: str = ''  # of an enum or a struct
    direction: str = ''
    length: str = ''
    word: int = 0  # where it starts among the words of the call
    offset: int = 0  # of a field, in bytes
    count: int = 1  # elements of a field
    conditions: tuple = ()  # of a field: (field or ^argument, [values])

    @property
    def bytes(self):
        return 8 if self.wire == 'ptr' else 0 if self.wire == 'void' else int(self.wire[1:])

    @property
    def words(self):
        return (self.bytes + 7) // 8


@dataclasses.dataclass
class Call:
    name: str
    library: str  # cuda nccl cublas cublasLt
    verb: str  # its class
    result: Argument
    args: list

    @property
    def words(self):
        return sum(a.words for a in self.args)

    @property
    def stream(self):
        """The index of the stream that the call is for, or -1."""
        return next((i for i, a in enumerate(self.args) if a.meaning == 'stream' and not a.direction), -1)

    @property
    def per_thread(self):
        return bool(re.search(r'_pt[sd][sz]$', self.name))


@dataclasses.dataclass
class Struct:
    name: str
    bytes: int
    fields: list


@dataclasses.dataclass
class Description:
    libraries: list  # (library, soname, version)
    calls: list  # by name
    structs: dict  # by name
    enums: dict  # {name: [(enumerator, value)]}


LINE = re.compile(r'(\w+): ([a-z0-9-]+) (\w+) ([\w-]+) \((.*)\)')


def argument(text):
    name, wire, meaning, *rest = text.split(' ')
    meaning, _, kind = meaning.partition(':')
    return Argument(name, wire, meaning, kind, *rest)


def field(text):
    name, offset, *rest = text.split(' ')
    conditions = tuple((c[3:].partition('=')[0], c.partition('=')[2].split('|')) for c in rest if c.startswith('if:'))
    found = argument(' '.join([name.partition('[')[0], *(r for r in rest if not r.startswith('if:'))]))
    found.offset, found.conditions = int(offset), conditions
    found.count = int(name.partition('[')[2].rstrip(']') or 1)
    return found


def items(text):
    """What stands between the parentheses at the end of a line."""
    return [i for i in text[text.index('(') + 1:-1].split(', ') if i]


def call(text, library):
    match = LINE.fullmatch(text)
    if not match:
        raise ValueError('not a call')
    args = [argument(a) for a in items(text)]
    for before, after in zip(args, args[1:]):
        after.word = before.word + before.words
    return Call(match[1], library, match[2], Argument('', match[3], match[4]), args)


def read(paths):
    """The Description that the files are together."""
    found = Description([], [], {}, {})
    for path in paths:
        with open(path, encoding='utf-8') as file:
            for line in filter(lambda l: l and not l.startswith('#'), file.read().splitlines()):
                kind, name = line.split(' ')[:2]
                if kind == 'library':
                    found.libraries.append(tuple(line.split(' ')[1:]))
                elif kind == 'struct':
                    found.structs[name] = Struct(name, int(line.split(' ')[2]), [field(i) for i in items(line)])
                elif kind == 'enum':
                    found.enums[name] = [(n, int(v)) for n, v in (i.split('=') for i in items(line))]
                else:
                    found.calls.append(call(line, found.libraries[-1][0]))
    found.calls.sort(key=lambda c: c.name)
    return found
