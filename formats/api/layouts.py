# SPDX-License-Identifier: Apache-2.0
"""The structs, unions and enums that a preprocessed header defines, flattened: members of members are leaves with a path."""
import re

import prototypes

SKIPPED = re.compile(r'(reserved\d*|unused\d*|pad(ding)?\d*|_\w+)$')


def braces(text, at):
    """Where the brace that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i
    return -1


def members(body):
    """The declarations between the braces of a struct: split at ; outside of inner braces."""
    start = depth = 0
    for i, c in enumerate(body):
        depth += {'{': 1, '}': -1}.get(c, 0)
        if c == ';' and depth == 0:
            yield ' '.join(body[start:i].split())
            start = i + 1


class Layouts:
    def __init__(self, text):
        self.bodies, self.enums, self.aliases = {}, {}, {}
        for s in prototypes.statements(prototypes.without_attributes(text)):
            match = re.match(r'(typedef )?(struct|union|enum) ?(\w*) ?\{', s)
            alias = re.fullmatch(r'typedef (?:struct |union |enum )?(\w+) (\w+)', s)
            if alias and alias[1] != alias[2]:
                self.aliases[alias[2]] = alias[1]
            if not match:
                continue
            end = braces(s, match.end() - 1)
            table = self.enums if match[2] == 'enum' else self.bodies
            names = [match[3]] + ([n.strip(' ') for n in s[end + 1:].split(',')] if match[1] else [])
            for name in filter(lambda n: re.fullmatch(r'\w+', n), names):
                table[name] = (match[2], s[match.end():end])

    def find(self, table, name):
        while name not in table and name in self.aliases:
            name = self.aliases[name]
        return table.get(name)

    def is_enum(self, name):
        return self.find(self.enums, name) is not None

    def enumerators(self, name):
        """The names of an enum's values."""
        body = self.find(self.enums, name)[1]
        return [re.match(r'\s*(\w+)', part)[1] for part in split(body) if part.strip()]

    def leaves(self, name, prefix='', choice=''):
        """(path, declaration, elements, union member that it is in or '') of each leaf of a struct."""
        kind, body = self.find(self.bodies, name)
        yield from self.flatten(kind, body, prefix, choice)

    def flatten(self, kind, body, prefix, choice):
        for member in members(body):
            inner = re.match(r'(struct|union) ?\w* ?\{', member)
            if inner:
                end = braces(member, inner.end() - 1)
                name = member[end + 1:].strip()
                path = f'{prefix}{name}.' if name else prefix
                yield from self.flatten(inner[1], member[inner.end():end], path, self.choose(kind, path, choice, name))
                continue
            for base, declarator in declarators(member):
                name = re.search(r'\w+', re.sub(r'^\(\s*\w*\s*\*', '', declarator))[0]
                count = 1
                for n in re.findall(r'\[([^\]]*)\]', declarator):
                    count *= int(n) if n.isdigit() else 0  # a length to be computed is one of padding
                if SKIPPED.match(name):
                    continue
                path = prefix + name
                within = self.choose(kind, path, choice, name)
                pointer = '*' in declarator or '(' in declarator
                if not pointer and count == 1 and self.find(self.bodies, base.split()[-1]):
                    yield from self.leaves(base.split()[-1], path + '.', within)
                else:
                    yield path, base + ' ' + declarator.partition('[')[0], count, within

    @staticmethod
    def choose(kind, path, choice, name):
        """The outermost member of a union that `path` is in."""
        return choice or (path.rstrip('.') if kind == 'union' and name else '')


def split(text):
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += {'(': 1, ')': -1}.get(c, 0)
        if c == ',' and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def declarators(member):
    """(base type, declarator) of each name that a member declares: `int a, *b` gives (int, a) and (int, *b)."""
    member = re.sub(r'_Alignas ?\([^)]*\) ?', '', member)
    if re.match(r'[^\[]*\(\s*\w*\s*\*', member):  # a pointer to a function
        at = member.index('(')
        return [(member[:at].strip(), member[at:])]
    first, *rest = [part.strip() for part in split(member)]
    match = re.match(r'(.+?)\s*(\**\s*\w+\s*(?:\[.*\])?)$', first)
    return [(match[1], d) for d in [match[2], *rest]]
