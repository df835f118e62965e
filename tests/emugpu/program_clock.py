#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clocks that a program reads are virtual: sleeps and time-outs advance them by their length, waiting for a GPU by the
modelled time, and the emulator's own work not at all.

    program_clock.py [paced]
"""
import ctypes
import errno
import os
import platform
import select
import sys
import threading
import time

from cuda import cu, load_kernel, structure, use_device
from host_kernels import register

MS = 1000000
Timespec = structure('seconds q, ns q')
libc = ctypes.CDLL(None, use_errno=True)
ref = ctypes.byref


def now(clock=time.CLOCK_MONOTONIC):
    return time.clock_gettime_ns(clock)


def after(clock, ns):
    return ref(Timespec(*divmod(now(clock) + ns, 1000 * MS)))


def timed_wait(ns):
    """For a condition that nobody signals."""
    condition, mutex = ctypes.create_string_buffer(48), ctypes.create_string_buffer(40)
    libc.pthread_mutex_lock(mutex)
    assert libc.pthread_cond_timedwait(condition, mutex, after(time.CLOCK_REALTIME, ns)) == errno.ETIMEDOUT
    libc.pthread_mutex_unlock(mutex)


def nanosleep():
    assert libc.nanosleep(ref(Timespec(0, 20 * MS)), None) == 0


def sleep_until():
    assert libc.clock_nanosleep(time.CLOCK_REALTIME, 1, after(time.CLOCK_REALTIME, 20 * MS), None) == 0


def poll_nothing():
    assert libc.poll(None, ctypes.c_ulong(0), 20) == 0


def select_nothing():
    assert libc.select(0, None, None, None, ref(Timespec(0, 20000))) == 0  # a timeval of the same layout


def epoll_nothing():
    with select.epoll() as epoll:
        assert libc.epoll_wait(epoll.fileno(), ctypes.create_string_buffer(16), 1, 20) == 0


def wait_for_semaphore():
    semaphore = ctypes.create_string_buffer(32)
    libc.sem_init(semaphore, 0, 0)
    assert libc.sem_clockwait(semaphore, time.CLOCK_MONOTONIC, after(time.CLOCK_MONOTONIC, 20 * MS)) < 0
    assert ctypes.get_errno() == errno.ETIMEDOUT


def test_waits():
    for wait in (lambda: libc.usleep(20000), nanosleep, sleep_until, poll_nothing, select_nothing, epoll_nothing,
                 lambda: timed_wait(20 * MS), wait_for_semaphore):
        before = now()
        wait()
        assert 20 * MS <= now() - before <= 1000 * MS, (wait, now() - before)


def test_short_waits():
    """A thread that waits for Python's interpreter lock polls it every 5 ms. Polling takes no virtual time, because on a
    busy host the owner of the lock may not run for longer than that."""
    before = now()
    for _ in range(20):
        timed_wait(5 * MS)
    assert now() - before < 50 * MS


def test_clocks():
    """All clocks advance alike."""
    monotonic, day, raw = now(), now(time.CLOCK_REALTIME), now(time.CLOCK_MONOTONIC_RAW)
    libc.usleep(20000)
    monotonic = now() - monotonic
    assert abs(now(time.CLOCK_REALTIME) - day - monotonic) < 5 * MS
    assert abs(now(time.CLOCK_MONOTONIC_RAW) - raw - monotonic) < 5 * MS
    day, value = now(time.CLOCK_REALTIME), structure('seconds q, us q')()
    libc.gettimeofday(ref(value), None)
    assert abs(value.seconds * 1000 * MS + value.us * 1000 - day) < 5 * MS
    libc.time.restype = ctypes.c_int64
    assert abs(libc.time(None) - day / (1000 * MS)) <= 1
    assert abs(day / (1000 * MS) - 1.7e9) < 1e9  # a date


def run_slow(*_):
    """Takes half a second of virtual time and 50 ms of the host."""
    until = time.thread_time_ns() + 50 * MS
    while time.thread_time_ns() < until:
        pass


def cost_slow(_launch, _args, ret):
    ret.contents.ns = 500 * MS


def test_gpu():
    register('slow', run_slow, cost_slow)
    use_device(0)
    kernel, start, end = load_kernel('slow()'), cu.new('cuEventCreate', 0), cu.new('cuEventCreate', 0)
    cu.cuEventRecord(start, 0)
    before = now()
    cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, None, None)
    assert now() - before < 40 * MS  # the launch returns at once
    cu.cuEventRecord(end, 0)
    cu.cuCtxSynchronize()
    took, ms = now() - before, ctypes.c_float()
    cu.cuEventElapsedTime_v2(ref(ms), start, end)
    assert 499 < ms.value < 520, ms
    assert 499 * MS < took < 540 * MS, took


def test_others():
    """Threads and processes start at the clock of their creator."""
    seen, before = [], now()
    thread = threading.Thread(target=lambda: seen.append(now()))
    thread.start()
    thread.join()
    assert 0 <= seen[0] - before < 100 * MS
    before = now()
    pid = os.fork()
    if pid == 0:
        os._exit(not 0 <= now() - before <= 100 * MS)
    assert os.waitpid(pid, 0) == (pid, 0)
    before = now()
    pid = os.fork()
    if pid == 0:
        os.execlp('sleep', 'sleep', '0.1')
    assert os.waitpid(pid, 0) == (pid, 0)
    assert now() - before > 99 * MS


def real_now():
    time_of = Timespec()
    assert libc.syscall({'x86_64': 228, 'aarch64': 113}[platform.machine()], time.CLOCK_MONOTONIC, ref(time_of)) == 0
    return time_of.seconds * 1000 * MS + time_of.ns


def test_paced():
    """With --pace, a sleep is no longer than on a real machine, even if nothing else runs."""
    use_device(0)
    took = []
    for _ in range(5):
        before, real_before = now(), real_now()
        assert libc.nanosleep(ref(Timespec(0, 100 * MS)), None) == 0
        took.append(real_now() - real_before)
        assert now() - before >= 100 * MS
    assert 100 * MS <= min(took) < 130 * MS, took


if __name__ == '__main__':
    if sys.argv[1:] == ['paced']:
        test_paced()
    else:
        test_clocks()
        test_waits()
        test_short_waits()
        test_gpu()
        test_clocks()
        test_others()
