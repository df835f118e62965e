#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""After a synchronisation the stream is idle, and the next submission runs in the calling thread: another thread would
order it with other streams by real time."""
import ctypes
import threading

from cuda import HOST_FUNCTION, NOT_READY, cu, launch, load_kernel, new_stream, unload
from host_kernels import register

launched_by = []

if __name__ == '__main__':
    register('noted', lambda *_: launched_by.append(threading.get_ident()))
    do_nothing = HOST_FUNCTION(lambda _: None)
    cu.cuInit(0)
    context = cu.new('cuCtxCreate_v4', None, 0, 0)
    kernel, stream, event = load_kernel('noted()'), new_stream(), cu.new('cuEventCreate', 2)
    for _ in range(2000):
        cu.cuLaunchHostFunc(stream, do_nothing, None)  # runs in the stream's thread
        cu.cuEventRecord(event, stream)
        while cu.library.cuEventQuery(ctypes.c_uint64(event)) == NOT_READY:
            pass
        launch(kernel, stream)
        cu.cuStreamSynchronize(stream)
    assert launched_by == [threading.get_ident()] * 2000
    cu.cuEventDestroy_v2(event)
    cu.cuStreamDestroy_v2(stream)
    unload(kernel)
    cu.cuCtxDestroy_v2(context)
