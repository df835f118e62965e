#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace is exactly its list of files: a missing, exchanged or added file is reported, and no slice is read wrong.

    manifest.py GPUTRACE
"""
import filecmp
import json
import os
import re
import shutil

from profiler import Run, Training, gputrace, run_tests

RANKS, SLICES = 3, 2
FILE = 'rank-0000{}.chunks'.format


def empty(path):
    with open(path, 'w', encoding='ascii'):
        pass


# A change of a trace, given another one; what verify says, its exit status, and the number of slices that can still be read.
CHANGES = [
    (lambda own, other: os.remove(own(FILE(1))), 'rank-00001.chunks: missing', 1, 4),
    (lambda own, other: [os.remove(own(FILE(i))) for i in (0, 2)], 'rank-00002.chunks: missing', 1, 2),
    (lambda own, other: [os.remove(own(FILE(i))) for i in range(RANKS)], 'rank-00002.chunks: missing', 1, 0),
    (lambda own, other: os.remove(own('trace.chunks')), 'no trace.chunks', 1, 0),
    (lambda own, other: shutil.copy(other(FILE(1)), own()), 'rank-00001.chunks: of another trace', 1, 4),
    (lambda own, other: shutil.copy(own(FILE(0)), own(FILE(1))), 'rank-00001.chunks: a file of rank 0', 1, 4),
    (lambda own, other: shutil.copy(other(FILE(2)), own(FILE(3))), 'rank-00003.chunks: a file of rank', 1, 6),
    (lambda own, other: shutil.copy(own('trace.chunks'), own(FILE(1))), 'rank-00001.chunks: not a file of a rank', 1, 4),
    (lambda own, other: shutil.copy(own(FILE(1)), own('blobs.chunks')), 'blobs.chunks: not a file of contents', 1, 6),
    (lambda own, other: (os.remove(own(FILE(1))), os.symlink('nowhere', own(FILE(1)))),
     'rank-00001.chunks: cannot open: No such file', 3, 4),
    (lambda own, other: (os.remove(own(FILE(1))), os.symlink(FILE(1), own(FILE(1)))),
     'rank-00001.chunks: cannot open: Too many levels of symbolic links', 3, 4),
    (lambda own, other: (os.remove(own(FILE(1))), os.mkdir(own(FILE(1)))), 'rank-00001.chunks: ', 1, 4),
    (lambda own, other: empty(own(FILE(1))), 'rank-00001.chunks: not a trace', 1, 4),
    (lambda own, other: [empty(own(FILE(i))) for i in range(RANKS)], 'rank-00001.chunks: not a trace', 1, 0),
]


class Runs:
    """Two runs of one program with the same events, except that the strings of the other are numbered differently."""

    def __enter__(self):
        self.run = Run(Training(RANKS, SLICES, 2).files())
        self.other_run = Run(Training(RANKS, SLICES, 2, members='"a string of the other run":1,').files())
        self.tables = self.export(self.run.trace, 'tables')
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.run.folder)
        shutil.rmtree(self.other_run.folder)

    def path(self, name):
        return os.path.join(self.run.folder, name)

    def export(self, trace, name):
        shutil.rmtree(self.path(name), ignore_errors=True)
        gputrace('export', '--format=tsv', '-o', self.path(name), trace)
        return os.path.join(self.path(name), 'iterations')

    def changed(self, change):
        """A copy of the first run, changed."""
        shutil.rmtree(self.path('own'), ignore_errors=True)
        shutil.copytree(self.run.trace, self.path('own'))
        change(lambda name='': os.path.join(self.path('own'), name),
               lambda name='': os.path.join(self.other_run.trace, name))
        return self.path('own')

    def correct_slices(self, trace):
        """The number of slices that can be read. Each must be as it was."""
        slices = 0
        tables = self.export(trace, 'again')
        for folder, _, files in os.walk(tables):
            was = os.path.join(self.tables, os.path.relpath(folder, tables))
            events = [f for f in files if f in ('calls', 'kernels', 'memcpy', 'collectives', 'syncs')]
            assert filecmp.cmpfiles(was, folder, events, shallow=False)[0] == events, folder
            slices += bool(events)
        return slices


def reported(trace, what, status):
    found = gputrace('verify', trace)
    text = re.sub(r' at byte \d+', '', found.stdout + found.stderr)
    assert found.returncode == status and what in text, f'{what}: {found}'


def test_every_change_of_files_is_found():
    with Runs() as runs:
        assert runs.correct_slices(runs.run.trace) == RANKS * SLICES
        for change, what, status, left in CHANGES:
            trace = runs.changed(change)
            reported(trace, what, status)
            assert runs.correct_slices(trace) == left, f'{what}: {runs.correct_slices(trace)} slices'


def test_the_id_stays():
    with Runs() as runs:
        ids = [json.loads(gputrace('info', '--json', trace).stdout)['id']
               for trace in (runs.run.trace, runs.changed(CHANGES[0][0]))]
        assert ids[0] == ids[1], ids


def test_packing_keeps_the_report_of_a_missing_file():
    with Runs() as runs:
        gputrace('pack', '-o', runs.path('packed'), runs.changed(CHANGES[0][0]))
        reported(runs.path('packed'), CHANGES[0][1], 1)
        assert runs.correct_slices(runs.path('packed')) == 4
        gputrace('unpack', '-o', runs.path('unpacked'), runs.path('packed'))
        reported(runs.path('unpacked'), CHANGES[0][1], 1)


def test_names_of_another_trace_are_refused():
    """Which of the two is wrong is unknown."""
    with Runs() as runs:
        trace = runs.changed(lambda own, other: shutil.copy(other('trace.chunks'), own()))
        found = gputrace('info', trace)
        assert found.returncode == 3 and 'of another trace' in found.stderr, found


if __name__ == '__main__':
    run_tests(globals())
