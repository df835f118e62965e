#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own depthwise convolutions take the time of their instructions, which the sizes of their tensors tell."""
import ctypes
import struct

from cuda import cu, load_kernel, ms_since, record_now, unload, use_device

PARAMS = '(.param .align 8 .b8 a[40], .param .align 8 .b8 b[40], .param .align 8 .b8 c[40])'


def accessor(*sizes):
    """The data of a tensor, its sizes and its strides."""
    return ctypes.create_string_buffer(struct.pack('<Q4i16x', 0, *sizes), 40)


def ms_of(name, a, b, blocks):
    kernel = load_kernel(f'conv_depthwise2d_{name}_kernel{PARAMS}')
    params = (ctypes.c_void_p * 3)(*map(ctypes.addressof, (a, b, w)))
    before = record_now()
    cu.cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, 0, params, None)
    ms = ms_since(before)
    unload(kernel)
    return ms


def check(ms, elements, least, most):
    """For each element a thread or a lane of a warp has some hundred instructions, on 132 multiprocessors that issue four
    times 32 in a cycle of 1.98 GHz."""
    instructions = ms / 1e3 * 132 * 4 * 32 * 1.98e9 / elements
    assert least < instructions < most, instructions


if __name__ == '__main__':
    x, y, w = accessor(256, 96, 112, 112), accessor(256, 96, 56, 56), accessor(96, 1, 3, 3)
    inputs = 256 * 96 * 112 * 112
    use_device(0)
    check(ms_of('forward', x, y, 1000000), inputs / 4, 200, 400)
    check(ms_of('backward', y, x, 1000000), inputs, 400, 800)
    check(ms_of('grad_weight', y, x, 96 * 9), 9 * inputs / 4, 30, 60)
