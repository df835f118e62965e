# SPDX-License-Identifier: Apache-2.0
"""The CUDA driver and NCCL for test programs. Each call is checked:

    cu.cuCtxSynchronize()
    at = cu.new('cuMemAlloc_v2', 4096)        # the result, which the first argument, or ..., points to
    cu.fails(1, 'cuMemcpyDtoDAsync_v2', ...)  # the expected error

Integers are passed as 64 bits, bytes and ctypes objects as pointers.
"""
import ctypes
import functools
import os
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../unit'))
from gd128 import gd128  # noqa: E402

NON_BLOCKING = 1  # stream flag
GUARD = 0xa5a5a5a5a5a5a5a5
# CUresult
INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INVALID_IMAGE, INVALID_CONTEXT = 1, 2, 3, 200, 201
INVALID_HANDLE, NOT_FOUND, NOT_READY, LAUNCH_FAILED, NOT_SUPPORTED = 400, 500, 600, 719, 801


def end(failure):
    """Python continues after an exception in another thread or in a callback: end the program."""
    sys.excepthook(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)


threading.excepthook = sys.unraisablehook = end


def converted(value):
    if isinstance(value, int):
        return ctypes.c_int64(value) if value < 0 else ctypes.c_uint64(value)
    return value


def structure(fields):
    """A struct type: structure('dst Q, value I, name c*8') has fields of the types of module struct."""
    types = {'Q': ctypes.c_uint64, 'q': ctypes.c_int64, 'I': ctypes.c_uint32, 'i': ctypes.c_int32, 'H': ctypes.c_uint16,
             'B': ctypes.c_uint8, 'c': ctypes.c_char, 'f': ctypes.c_float, 'd': ctypes.c_double, 'P': ctypes.c_void_p}
    made = []
    for field in fields.split(','):
        name, kind = field.split()
        letter, _, n = kind.partition('*')
        made.append((name, types[letter] * int(n) if n else types[letter]))
    return type('Structure', (ctypes.Structure,), {'_fields_': made})


class Library:
    def __init__(self, name):
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(None)  # as a linked program: preloaded libraries come first

    def fails(self, expected, name, *args):
        got = self.library[name](*map(converted, args))
        assert got == expected, f'{name}{args} gave {got} instead of {expected}'

    def __getattr__(self, name):
        return lambda *args: self.fails(0, name, *args)

    def new(self, name, *args, expected=0):
        result = (ctypes.c_uint64 * 2)(0, GUARD)
        args = [result if arg is ... else arg for arg in (args if ... in args else (..., *args))]
        self.fails(expected, name, *args)
        assert result[1] == GUARD, f'{name}() writes beyond its result'
        return result[0]


cu = Library('libcuda.so.1')


def use_device(number):
    """Makes the primary context of a device current."""
    cu.cuInit(0)
    context = cu.new('cuDevicePrimaryCtxRetain', number)
    cu.cuCtxSetCurrent(context)
    return context


def new_stream(flags=NON_BLOCKING):
    return cu.new('cuStreamCreate', flags)


def load_kernel(head):
    """A kernel without code, of its declaration in PTX."""
    ptx = f'.version 8.0\n.target sm_52\n.address_size 64\n.visible .entry {head} {{ ret; }}\n'
    return cu.new('cuModuleGetFunction', cu.new('cuModuleLoadData', ptx.encode()), head.split('(')[0].encode())


def unload(kernel):
    """Unloads the module of a kernel."""
    cu.cuModuleUnload(cu.new('cuFuncGetModule', kernel))


def launch(kernel, stream, *args, block=1):
    values = [ctypes.c_uint64(arg) for arg in args]
    params = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    cu.cuLaunchKernel(kernel, 1, 1, 1, block, 1, 1, 0, stream, params, None)


def allocation(device):
    """A CUmemAllocationProp of pinned memory on a device."""
    return struct.pack('<4i16x', 1, 0, 1, device)


def access(device, flags=3):
    """A CUmemAccessDesc; 0: none, 3: read and write."""
    return struct.pack('<3i', 1, device, flags)


def read(kind, address):
    """What a ctypes type, as c_int * 4, has at an address of the device."""
    ret = kind()
    cu.cuMemcpyDtoH_v2(ctypes.byref(ret), address, ctypes.sizeof(ret))
    return ret


def record_now():
    """An event that is recorded on the null stream."""
    event = cu.new('cuEventCreate', 0)
    cu.cuEventRecord(event, 0)
    return event


def ms_since(start):
    """Milliseconds from record_now() until the null stream gets here."""
    end, ms = record_now(), ctypes.c_float()
    cu.cuEventSynchronize(end)
    cu.cuEventElapsedTime_v2(ctypes.byref(ms), start, end)
    cu.cuEventDestroy_v2(start)
    cu.cuEventDestroy_v2(end)
    return ms.value


HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Held:
    """Streams are held from hold() to release(), so that later launches stay in flight."""

    def __init__(self):
        released = threading.Event()
        self.release = released.set
        self.function = HOST_FUNCTION(lambda _: released.wait())

    def hold(self, stream):
        cu.cuLaunchHostFunc(stream, self.function, None)


def resident_bytes():
    """Resident memory of this process."""
    with open('/proc/self/statm', encoding='ascii') as f:
        return int(f.read().split()[1]) * os.sysconf('SC_PAGESIZE')


def mark_iteration():
    """As gputrace_mark_iteration() of gputrace.h does."""
    mark = getattr(ctypes.CDLL(None), 'gpucapture_mark_iteration', None)
    if mark:
        mark()


def pattern(n):
    """Bytes without repetitions."""
    return bytes((i * 2654435761 >> 13) & 255 for i in range(n))


digest = functools.cache(gd128)


def print_wanted(*names, data):
    """The digest that a recording of the data must contain."""
    low, high = digest(data)
    print('want', *names, f'{low:016x}{high:016x}', flush=True)


# ---- NCCL

CHAR, INT, FLOAT = 0, 2, 7
SUM, MAX, MIN = 0, 2, 3
IN_PROGRESS = 7


class UniqueId(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_char * 128)]


class Config(ctypes.Structure):
    """ncclConfig_t up to the fields that a test sets; the library takes defaults for the others."""
    _fields_ = [('size', ctypes.c_size_t), ('magic', ctypes.c_uint), ('version', ctypes.c_uint),
                ('blocking', ctypes.c_int), ('others', ctypes.c_int * 3), ('net_name', ctypes.c_void_p)]


def config(blocking):
    undefined = -0x80000000
    return Config(ctypes.sizeof(Config), 0xcafebeef, 21700, blocking, (ctypes.c_int * 3)(*[undefined] * 3), None)


class Nccl(Library):
    def __init__(self):
        super().__init__('libnccl.so.2')

    def unique_id(self):
        ret = UniqueId()
        self.ncclGetUniqueId(ctypes.byref(ret))
        return ret

    def init_all(self, n):
        comms = (ctypes.c_void_p * n)()
        self.ncclCommInitAll(comms, n, None)
        return list(comms)

    def wait(self, comm):
        """For a non-blocking communicator."""
        state = ctypes.c_int(IN_PROGRESS)
        while state.value == IN_PROGRESS:
            self.ncclCommGetAsyncError(comm, ctypes.byref(state))
        assert state.value == 0, state
