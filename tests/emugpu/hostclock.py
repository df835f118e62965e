#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host clock in a run of gpuemu: what advances it, what does not, and that a process continues from its parent's time,
however it was started.

    hostclock.py [NS]      with a time: checks that this process starts there
"""
import ctypes
import os
import platform
import subprocess
import sys
import threading
import time

from cuda import cu, structure

MS = 1000000
FAR = 1000 * 1000 * MS  # longer than any test
libc = ctypes.CDLL(None)
clock = libc.gpuemu_host_ns
clock.restype = ctypes.c_uint64


def work(ns):
    start = time.thread_time_ns()
    while time.thread_time_ns() - start < ns:
        pass


def sleep_unseen():
    """As if the host ran something else: gpuemu does not see the system call."""
    number = {'x86_64': 35, 'aarch64': 101}[platform.machine()]
    libc.syscall(number, ctypes.byref(structure('seconds q, ns q')(0, 20 * MS)), None)


def test_own_work_counts():
    before = clock()
    work(5 * MS)
    assert clock() - before >= 4.9 * MS
    # Reads the clock around the CPU clock, to subtract time in which the machine ran something else.
    cpu, before = time.thread_time_ns(), clock()
    sleep_unseen()
    assert clock() - before <= time.thread_time_ns() - cpu + MS


def test_work_in_a_pause_does_not():
    cpu, before = time.thread_time_ns(), clock()
    libc.gpuemu_clock_pause()
    now = clock()
    work(20 * MS)
    libc.gpuemu_clock_pause()
    assert all(clock() == now for _ in range(1000))
    libc.gpuemu_clock_resume()
    work(20 * MS)
    assert clock() == now
    libc.gpuemu_clock_resume()
    assert clock() - before <= time.thread_time_ns() - cpu - 39 * MS
    before = clock()
    work(5 * MS)
    assert clock() - before >= 4.9 * MS


def test_threads():
    """A thread's work before its first call counts."""
    began, before = [], clock()

    def run():
        began.append(clock())
        work(3 * MS)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert began[0] >= before
    assert clock() >= began[0] + 2.9 * MS


def is_child_of(start):
    now = clock()
    assert start <= now < start + FAR, f'a child is at {now} and its parent at {start}'


def fork(start):
    pid = os.fork()
    if pid == 0:
        is_child_of(start)
        os._exit(0)
    assert os.waitpid(pid, 0) == (pid, 0)


def fork_and_exec(start):
    pid = os.fork()
    if pid == 0:
        os.execv(*program(start))
    assert os.waitpid(pid, 0) == (pid, 0)


def spawn(start):
    assert os.waitpid(os.posix_spawn(*program(start), os.environ), 0)[1] == 0


def vfork(start):
    subprocess.run(program(start)[1], check=True)


def shell(start):
    """Through a shell, which never calls the driver."""
    assert os.system(f"true; (true; '{sys.executable}' '{sys.argv[0]}' {start}); exit $?") == 0


def program(start):
    """The path of this program, and its arguments with a time."""
    return sys.executable, [sys.executable, sys.argv[0], str(start)]


def test_children():
    """Each way starts later than any child of the way before could."""
    for i, way in enumerate((fork, fork_and_exec, spawn, vfork, shell)):
        start = 2 * (i + 1) * FAR
        libc.gpuemu_thread_not_before(ctypes.c_int64(start))
        way(start)


if __name__ == '__main__':
    if len(sys.argv) > 1:
        is_child_of(int(sys.argv[1]))
    else:
        assert clock() < FAR
        cu.cuInit(0)
        test_own_work_counts()
        test_work_in_a_pause_does_not()
        test_threads()
        test_children()
