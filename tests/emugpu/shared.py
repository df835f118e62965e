#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory at requested addresses, mapped twice, and shared with another process; a killed process takes nothing with it."""
import ctypes
import mmap
import os
import signal

from cuda import INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, access, allocation, cu, read

PIECE = 4 << 20
HINTED = 32 << 20  # a hint is rounded up to a multiple of this
WORDS = ctypes.c_uint32 * 1024
INTERPROCESS, NO_TIMING = 4, 2
HANDLE_BYTES = 64


class Handle(ctypes.Structure):
    """A CUipcMemHandle or CUipcEventHandle, which functions take by value."""
    _fields_ = [('bytes', ctypes.c_char * HANDLE_BYTES)]


def start_driver():
    cu.cuInit(0)
    return cu.new('cuCtxCreate_v4', None, 0, 0)


def memory_info():
    total = ctypes.c_size_t()
    return cu.new('cuMemGetInfo_v2', ..., ctypes.byref(total)), total.value


def test_requested_address():
    hole = mmap.mmap(-1, 16 * HINTED, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(hole))
    hole.close()
    wanted = (start + 5 * HINTED) // HINTED * HINTED
    assert PIECE % cu.new('cuMemGetAllocationGranularity', ..., allocation(0), 0) == 0
    at = cu.new('cuMemAddressReserve', 2 * PIECE, 0, wanted, 0)
    assert at == wanted
    other = cu.new('cuMemAddressReserve', PIECE, 0, wanted, 0)
    assert other != wanted
    cu.cuMemAddressFree(other, PIECE)
    other = cu.new('cuMemAddressReserve', PIECE, 0, wanted + 2 * HINTED - PIECE, 0)
    assert other == wanted + 2 * HINTED
    before, total = memory_info()
    memory = cu.new('cuMemCreate', PIECE, allocation(0), 0)
    assert before - memory_info()[0] == PIECE
    cu.cuMemMap(at, PIECE, 0, memory, 0)
    cu.fails(INVALID_VALUE, 'cuMemMap', at, PIECE, 0, memory, 0)
    cu.cuMemMap(at + PIECE, PIECE, 0, memory, 0)
    cu.cuMemSetAccess(at, 2 * PIECE, access(0), 1)
    cu.cuMemsetD32_v2(at, 0x1234, PIECE // 4)
    assert read(ctypes.c_uint32, at + 2 * PIECE - 4).value == 0x1234
    cu.fails(INVALID_VALUE, 'cuMemAddressFree', at, PIECE)
    cu.cuMemUnmap(at, 2 * PIECE)
    cu.cuMemRelease(memory)
    assert memory_info()[0] == before
    cu.fails(INVALID_VALUE, 'cuMemFree_v2', at)
    cu.cuMemAddressFree(at, 2 * PIECE)
    cu.cuMemAddressFree(other, PIECE)
    cu.new('cuMemCreate', total // PIECE * PIECE, allocation(0), 0, expected=OUT_OF_MEMORY)


def other_process(letters, answers):
    """Waits for the event, adds one to each word, and waits to be killed."""
    start_driver()
    letter = os.read(letters, 2 * HANDLE_BYTES)
    memory, signalled = (Handle.from_buffer_copy(letter, i * HANDLE_BYTES) for i in range(2))
    # A handle of more memory than the file has: see struct handle in ipc.c.
    wrong = Handle.from_buffer_copy(letter[:24] + b'\x7f' * 8 + letter[32:])
    cu.new('cuIpcOpenMemHandle_v2', wrong, 0, expected=INVALID_VALUE)
    at = cu.new('cuIpcOpenMemHandle_v2', memory, 1)
    event = cu.new('cuIpcOpenEventHandle', signalled)
    cu.cuStreamWaitEvent(0, event, 0)
    words = WORDS(*(word + 1 for word in read(WORDS, at)))
    cu.cuMemcpyHtoD_v2(at, words, ctypes.sizeof(words))
    cu.cuEventRecord(event, 0)
    os.write(answers, b'x')
    signal.pause()


def test_two_processes():
    (letters, there), (back, answers) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there)
        other_process(letters, answers)
        os._exit(0)
    context = start_driver()
    test_requested_address()
    before = cu.new('cuMemAlloc_v2', 512)  # so that the next one starts in the middle of a page
    at = cu.new('cuMemAlloc_v2', ctypes.sizeof(WORDS))
    cu.cuMemsetD32_v2(at, 41, 1024)
    event, memory, signalled = cu.new('cuEventCreate', INTERPROCESS | NO_TIMING), Handle(), Handle()
    cu.cuIpcGetMemHandle(ctypes.byref(memory), at)
    cu.cuIpcGetEventHandle(ctypes.byref(signalled), event)
    cu.new('cuIpcOpenMemHandle_v2', memory, 0, expected=INVALID_CONTEXT)
    cu.cuEventRecord(event, 0)
    os.write(there, bytes(memory) + bytes(signalled))
    assert os.read(back, 1) == b'x'
    cu.cuEventSynchronize(event)
    words = read(WORDS, at)
    assert words[0] == words[1023] == 42
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    cu.cuMemsetD32_v2(at, 7, 1024)
    for memory in at, before:
        cu.cuMemFree_v2(memory)
    cu.cuEventDestroy_v2(event)
    cu.cuCtxDestroy_v2(context)


if __name__ == '__main__':
    test_two_processes()
