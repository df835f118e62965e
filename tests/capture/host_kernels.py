# SPDX-License-Identifier: Apache-2.0
"""Host kernels in Python, as include/gpuemu.h describes them."""
import ctypes

from cuda import cu, structure

Launch = structure('name P, grid I*3, block I*3, shared_bytes I, device i, start_ns q, end_ns q, error i, ticket Q')
Cost = structure('flops d, bytes d, math i, ns q')
Kernel = structure('name P, flags I, run P, cost P, context P, arg_bytes P, n_args I, post P, issue P')
RUN = ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), ctypes.POINTER(ctypes.c_void_p))
COST = ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Cost))
registered = []  # what the driver refers to


def parameter(args, i, kind=ctypes.c_uint64):
    return kind.from_address(args[i]).value


def register(name, run, cost=None):
    """`run` gets the launch and the addresses of its parameters; `cost` also a Cost to fill in."""
    name, run, cost = ctypes.create_string_buffer(name.encode()), RUN(run), COST(cost) if cost else None
    kernel = Kernel(name=ctypes.addressof(name), run=ctypes.cast(run, ctypes.c_void_p),
                    cost=ctypes.cast(cost, ctypes.c_void_p) if cost else None)
    registered.append((name, run, cost, kernel))
    cu.gpuemu_register_kernel(ctypes.byref(kernel))
