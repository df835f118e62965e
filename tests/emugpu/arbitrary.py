#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The size of a message is computed by a kernel without a host kernel, so the receiver expects another size than the
sender sends. Both streams fail, and the errors name the kernel whose result was used. Values written by copies are not
arbitrary."""
import ctypes

from cuda import CHAR, INVALID_VALUE, LAUNCH_FAILED, Nccl, cu, launch, load_kernel, read, unload, use_device

logged = []


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
def log(_, level, message, length):
    assert (level, length) == (0, len(message)), (level, length, message)  # CU_LOG_LEVEL_ERROR
    logged.append(message.decode())


def counted_bytes(items):
    """The count that `count_items` would have computed: unwritten device memory is 0."""
    count, kernel = cu.new('cuMemAlloc_v2', 8), load_kernel('count_items(.param .u64 items, .param .u64 count)')
    launch(kernel, 0, items, count)
    ret = read(ctypes.c_uint64, count).value
    read(ctypes.c_char * 64, items)  # not arbitrary: not counted
    unload(kernel)
    return ret


def exchange(received_bytes):
    nccl, handle, contexts = Nccl(), cu.new('cuLogsRegisterCallback', log, None, ...), []
    sender, receiver = nccl.init_all(2)
    for i in range(2):
        contexts.append(cu.new('cuDevicePrimaryCtxRetain', i))
        cu.cuCtxSetCurrent(contexts[i])
        contexts[i] = contexts[i], cu.new('cuMemAlloc_v2', 4096)
    nccl.ncclGroupStart()
    nccl.ncclSend(contexts[0][1], 64, CHAR, 1, sender, 0)
    nccl.ncclRecv(contexts[1][1], received_bytes, CHAR, 0, receiver, 0)
    nccl.ncclGroupEnd()
    for context, _ in contexts:
        cu.cuCtxSetCurrent(context)
        cu.fails(LAUNCH_FAILED, 'cuStreamSynchronize', 0)
    cu.cuLogsUnregisterCallback(handle)
    cu.fails(INVALID_VALUE, 'cuLogsUnregisterCallback', handle)


if __name__ == '__main__':
    use_device(0)
    written = cu.new('cuMemAlloc_v2', 64)
    cu.cuMemcpyHtoD_v2(written, b'items'.ljust(64, b'\0'), 64)  # then read by `count_items`
    exchange(counted_bytes(written))
    for part in ('rank 0 sends 64 bytes to rank 1, which expects 0', '8 bytes that count_items should have written',
                 '--kernels'):
        assert part in logged[-1], logged
