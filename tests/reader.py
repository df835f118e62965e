#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace (a directory or a packed file) as doc/format.md says; it was written from that page alone.

    reader.py TRACE           a header line, then a line for each event, tab-separated: rank, kind, name,
                              start_ns, duration_ns, number, track, correlation, arguments (JSON)
    reader.py --edges TRACE   the same of edges: rank, rule, kind, from, to, lag_ns
    reader.py --id TRACE      compares all roots with the bytes, and prints the id

Needs `zstandard` (Debian: python3-zstandard). It does not check the XXH3 hashes, and damage ends it.
"""
import argparse
import collections
import hashlib
import itertools
import json
import os
import sys

import zstandard

EVENT_HEAD = 'rank kind name start_ns duration_ns number track correlation args'
EDGE_HEAD = 'rank rule kind from to lag_ns'
KINDS = ['call', 'kernel', 'memcpy', 'memset', 'collective', 'sync', 'range', 'mark']
NAMES, SLICE, MANIFEST = 1, 2, 6
SKIPPABLE, HEADER_BYTES, FOOTER_BYTES = bytes.fromhex('572a4d18'), 38, 53


def check(condition, what):
    if not condition:
        raise ValueError(what)


def wrap(v):
    return (v + (1 << 63)) % (1 << 64) - (1 << 63)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        check(0 <= n <= self.left(), 'cut short')
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def fixed(self, n):
        return int.from_bytes(self.take(n), 'little')

    def varint(self):
        v = 0
        for shift in range(0, 70, 7):
            b = self.byte()
            v |= (b & 127) << shift
            if b < 128:
                break
        return v % (1 << 64)

    def svarint(self):
        v = self.varint()
        return -(v + 1) // 2 if v & 1 else v // 2


def header(data):
    """Parses a header into its tag and body."""
    check(data.take(4) == SKIPPABLE, 'missing header')
    body = Bytes(data.take(data.fixed(4))[:-8])
    return chr(body.byte()), body


class Chunk:
    def __init__(self, body, data):
        start = body.at
        self.type, self.rank, self.slice = body.byte(), body.varint(), body.varint()
        if self.type == SLICE:
            self.iteration, self.start, self.duration = body.svarint(), body.svarint(), body.svarint()
            self.first, *self.counts, self.n_edges, self.n_digests = [body.varint() for _ in range(11)]
        self.fields = body.data[start:body.at]
        self.payload = unpack(data.take(body.varint()), body.varint())


def unpack(frame, size):
    made = zstandard.ZstdDecompressor().decompress(frame, max_output_size=max(size, 1))
    check(len(made) == size, 'wrong frame length')
    return made


class File:
    def __init__(self, name, data):
        self.name, self.data, self.chunks, self.root = name, data, [], None
        data = Bytes(data)
        while data.left() > 0:
            tag, body = header(data)
            if tag == 'F':
                check(body.take(10) == b'GPUTRACE\1\0', 'not a trace, or of a newer version')
                self.kind, _, self.number = body.take(2)[1], body.byte(), body.fixed(4)
            elif tag == 'C':
                self.chunks.append(Chunk(body, data))
            elif tag == 'E':
                self.root = body.take(36)[4:]

    def compute_root(self):
        return merkle([self.data[:HEADER_BYTES]] + [c.fields + c.payload for c in self.chunks])


def merkle(leaves):
    nodes = [hashlib.sha256(b'\0' + leaf).digest() for leaf in leaves]
    while len(nodes) > 1:
        pairs = [nodes[i:i + 2] for i in range(0, len(nodes), 2)]
        nodes = [hashlib.sha256(b'\1' + p[0] + p[1]).digest() if len(p) == 2 else p[0] for p in pairs]
    return nodes[0]


def files_of(path):
    """Returns the files by name, each as bytes, and the root hash in a packed file's footer."""
    if os.path.isdir(path):
        return {n: open(os.path.join(path, n), 'rb').read() for n in os.listdir(path) if n.endswith('.chunks')}, None
    data = open(path, 'rb').read()
    tag, body = header(Bytes(data[-FOOTER_BYTES:]))
    check(tag == 'E', 'not a footer')
    members_at, root = len(data) - FOOTER_BYTES - body.fixed(4), body.take(32)
    _, body = header(Bytes(data[members_at:]))
    size = body.varint()
    members = Bytes(unpack(body.take(body.left()), size))
    spans = [(members.take(members.varint()).decode(), members.varint(), members.varint())
             for _ in range(members.varint())]
    files, at, tail_at = {}, HEADER_BYTES, HEADER_BYTES + sum(n for _, n, _ in spans)
    for name, n, tail in spans:
        files[name] = data[at:at + n] + data[tail_at:tail_at + tail]
        at, tail_at = at + n, tail_at + tail
    return files, root


class Columns:
    def __init__(self, data):
        entries = [(data.varint(), data.byte()) for _ in range(data.varint())]
        lengths = [data.varint() for _ in entries]
        self.columns = {e[0]: Column(e[1], data.take(n)) for e, n in zip(entries, lengths)}
        check(data.left() == 0, 'bytes after the columns')

    def get(self, number):
        return self.columns.get(number) or Column(0, None)

    def end(self):
        check(all(c.data.left() == 0 for c in self.columns.values()), 'unused values')


class Column:
    def __init__(self, entry, data):
        self.kind, self.base = entry & 15, entry >> 4
        check(self.kind <= 2 and self.base <= 2, 'unknown column kind')
        self.data, self.last = data and Bytes(data), {}

    def next(self, of_class=None):
        v = integer(self.data, self.kind) if self.data else 0
        key = of_class if self.base == 2 else None
        self.last[key] = wrap(v + (self.last.get(key, 0) if self.base else 0))
        return self.last[key]


def integer(data, kind):
    return wrap(data.byte() if kind == 0 else data.varint() if kind == 1 else data.svarint())


class Names:
    def __init__(self):
        self.strings, self.templates, self.comms, self.rules = [''], [], [], []
        self.facts, self.ranks = {}, {}

    def add(self, data):
        self.strings += [self.string(data) for _ in range(data.varint())]
        self.add_templates(data)
        for _ in range(data.varint()):
            name, description = self.text(data), self.text(data)
            deltas = [data.svarint() for _ in range(data.varint())]
            self.comms.append((name, description, list(itertools.accumulate(deltas))))
        self.rules += [(self.text(data), data.byte()) for _ in range(data.varint())]
        self.add_facts(data, self.facts)
        for _ in range(data.varint()):
            self.add_rank(data)
        check(data.left() == 0, 'bytes after the names')

    @staticmethod
    def string(data):
        made = bytearray()
        while (b := data.byte()) != 0:
            made.append(data.byte() - 1 if b == 1 else b)
        return made.decode('utf-8', 'surrogateescape')

    def text(self, data):
        return self.strings[data.varint()]

    def add_facts(self, data, facts):
        for _ in range(data.varint()):
            key = self.text(data)
            facts[key] = self.text(data)

    def add_rank(self, data):
        rank = self.ranks.setdefault(data.varint(), {'tracks': [], 'devices': [], 'facts': {}})
        for _ in range(data.varint()):
            kind, text_ids, pid, tid = data.byte(), data.byte(), data.svarint(), data.svarint()
            pid_text, tid_text, name = self.text(data), self.text(data), self.text(data)
            rank['tracks'].append([kind, pid_text if text_ids & 1 else pid, tid_text if text_ids & 2 else tid, name])
        check(data.varint() == 0, 'reserved')
        rank['devices'] += [(data.svarint(), self.text(data), self.text(data)) for _ in range(data.varint())]
        self.add_facts(data, rank['facts'])

    def add_templates(self, data):
        shapes = []
        for _ in range(data.varint()):
            kind, category = data.byte(), self.text(data)
            shapes.append((kind, category, [(data.varint(), data.byte(), data.byte()) for _ in range(data.varint())]))
        n = data.varint()
        columns = Columns(Bytes(data.take(data.varint())))
        for _ in range(n):
            kind, category, shape = shapes[columns.get(0).next()]
            name = self.strings[columns.get(1).next()]
            args = [(k, t, varies, None if varies or t == 3 else columns.get(16 + k).next()) for k, t, varies in shape]
            self.templates.append((kind, category, name, args))
        columns.end()


def apply_patch(data, base):
    pieces = [(data.varint(), data.svarint(), data.varint()) for _ in range(data.varint())]
    made, at = bytearray(), 0
    for literal, jump, length in pieces:
        made += data.take(literal)
        at += literal + jump
        check(0 <= at <= len(base) - length, 'patch beyond its base')
        made += base[at:at + length]
        at += length
    return bytes(made + data.take(data.left()))


class Slice:
    def __init__(self, chunk, names, earlier):
        data = Bytes(chunk.payload)
        back, length, kind, times = data.varint(), data.varint(), data.byte(), data.varint()
        self.structure = data.take(length)
        if back:
            self.structure = apply_patch(Bytes(self.structure), earlier[chunk.slice - back].structure)
        self.names, self.chunk, self.columns = names, chunk, Columns(Bytes(self.structure))
        self.events, self.n_numbered, order = [], 0, []
        unit, tracks, counts, templates = self.columns.get(8).next(), *map(self.columns.get, (9, 10, 11))
        while tracks.data and tracks.data.left() > 0:
            track = tracks.next()
            order.append((track, [templates.next() for _ in range(counts.next())]))
        self.read_times(order, unit, data.take(times), kind & 15, data if kind & 16 else None)
        self.read_items(order)
        self.edges = [self.edge() for _ in range(chunk.n_edges)]
        self.columns.end()
        seen = collections.Counter(names.templates[e['template']][0] for e in self.events)
        check([seen[k] for k in range(8)] == chunk.counts, 'event counts differ from the header')

    def read_times(self, order, unit, times, kind, low):
        """Reads self.deltas: for each (is end, template) its deltas in ns, in order."""
        times, count = Bytes(times), collections.Counter(t for _, items in order for t in items)
        groups = [(is_end, t) for is_end in (0, 1) for t in sorted(count)]
        deltas = [integer(times, kind) for _, t in groups for _ in range(count[t])]
        if low:
            deltas = [256 * d + low.byte() for d in deltas]
        deltas = iter([wrap(d * unit) for d in deltas])
        self.deltas = {g: iter(list(itertools.islice(deltas, count[g[1]]))) for g in groups}
        check(times.left() == 0, 'unused times')

    def read_items(self, order):
        ends = self.columns.get(0)
        for track, items in order:
            now, still_open = self.chunk.start, []
            for template in items:
                for _ in range(ends.next(template)):
                    now = self.end_one(still_open, now)
                now = wrap(now + next(self.deltas[0, template]))
                event = {'track': track, 'template': template, 'start': now}
                numbered = self.names.templates[template][0] <= 5
                event['correlation'] = self.columns.get(1 if numbered else 2).next(template) % (1 << 64)
                event['values'] = self.values(template)
                if numbered:
                    event['number'] = self.chunk.first + self.n_numbered
                    self.n_numbered += 1
                self.events.append(event)
                still_open.append(event)
            while still_open:
                now = self.end_one(still_open, now)

    def end_one(self, still_open, now):
        event = still_open.pop()
        now = wrap(now + next(self.deltas[1, event['template']]))
        event['duration'] = wrap(now - event['start'])
        return now

    def values(self, template):
        return [self.columns.get(16 + key).next((template, i)) if varies else constant
                for i, (key, _, varies, constant) in enumerate(self.names.templates[template][3])]

    def edge(self):
        to, rule = self.columns.get(12).next() + self.chunk.first, self.columns.get(13).next()
        source, rank = to - self.columns.get(14).next(rule >> 2), self.columns.get(4).next()
        source = f'{rank:+d}:{source}' if rank else source
        return [self.names.rules[rule >> 2][0], rule & 3, source, to, self.columns.get(3).next(rule >> 2)]

    def args(self, event):
        """Returns names and values of an event's arguments, the values as JSON texts."""
        strings, found = self.names.strings, []
        template = self.names.templates[event['template']]
        integers = {strings[a[0]]: v for a, v in zip(template[3], event['values']) if a[1] == 0}
        for (key, arg_type, _, _), v in zip(template[3], event['values']):
            if arg_type in (1, 2):
                v = json.dumps(strings[v]) if arg_type == 1 else strings[v]
            elif arg_type == 3:
                v = wrap(event['correlation'])
            elif arg_type == 4:
                ns = event['duration'] + v
                v = repr(integers.get('bytes', 0) / ns) if ns > 0 else '0'
            found.append((strings[key], str(v)))
        return found


class Trace:
    def __init__(self, path):
        files, self.packed_root = files_of(path)
        self.files = {name: File(name, data) for name, data in files.items()}
        self.ranks = sorted((f for f in self.files.values() if f.kind == 1), key=lambda f: f.number)
        self.names = Names()
        for chunk in self.files['trace.chunks'].chunks if 'trace.chunks' in self.files else []:
            if chunk.type == NAMES:
                self.names.add(Bytes(chunk.payload))

    def slices(self, rank):
        """Yields the slices of a rank's file; earlier slices must be read first."""
        earlier = {}
        for chunk in rank.chunks:
            if chunk.type == SLICE:
                earlier[chunk.slice] = Slice(chunk, self.names, earlier)
                yield earlier[chunk.slice]

    def identity(self):
        for f in self.files.values():
            check(f.root in (None, f.compute_root()), f.name + ': root differs from that of the chunks')
        check('trace.chunks' in self.files, 'missing trace.chunks')
        listed, whole = set(), self.files['trace.chunks']
        data, = [Bytes(c.payload) for c in whole.chunks if c.type == MANIFEST]
        for _ in range(data.varint()):
            name, root = data.take(data.varint()).decode(), data.take(32)
            check(self.files[name].root == root, name + ': root differs from the manifest')
            listed.add(name)
        check(listed == set(self.files) - {'trace.chunks'}, 'files that the manifest does not list')
        check(self.packed_root in (None, whole.root), 'the packed file has another root')
        return whole.root.hex()


def escape(text):
    return text.translate({92: '\\\\', 9: '\\t', 10: '\\n', 13: '\\r', 0: '\\0'})


def event_rows(s):
    for e in s.events:
        kind, _, name, _ = s.names.templates[e['template']]
        args = ', '.join(f'{json.dumps(k)}: {v}' for k, v in s.args(e))
        yield [KINDS[kind], escape(name), e['start'], e['duration'], e.get('number', '-'), e['track'],
               e['correlation'], escape('{' + args + '}')]


def main():
    parser = argparse.ArgumentParser(description='Reads a trace as doc/format.md specifies.')
    parser.add_argument('--edges', action='store_true')
    parser.add_argument('--id', action='store_true')
    parser.add_argument('trace')
    args = parser.parse_args()
    out = open(sys.stdout.fileno(), 'w', encoding='utf-8', errors='surrogateescape')
    try:
        trace = Trace(args.trace)
        if args.id:
            out.write(trace.identity() + '\n')
            return
        out.write('\t'.join((EDGE_HEAD if args.edges else EVENT_HEAD).split()) + '\n')
        for rank in trace.ranks:
            for s in trace.slices(rank):
                for row in s.edges if args.edges else event_rows(s):
                    out.write('\t'.join(map(str, [rank.number, *row])) + '\n')
    except (ValueError, OSError, IndexError, KeyError, zstandard.ZstdError) as e:
        sys.exit(f'reader: {args.trace}: {e}')


if __name__ == '__main__':
    main()
