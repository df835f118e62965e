#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuDNN on an emulated GPU: convolutions by the legacy and the graph API against sums in this program, batch
normalisation, and the layout of the weights of a recurrent network."""
import ctypes

from cuda import Library, cu, ms_since, read, record_now, structure, use_device

# Tensors of a convolution: x of N x C x H x W, w of K x C / GROUPS x R x R, y of N x K x OH x OW.
N, C, H, W, K, R, GROUPS, STEP, OH, OW = 2, 4, 6, 5, 6, 3, 2, 2, 3, 3
X, F, Y = N * C * H * W, K * C // GROUPS * R * R, N * K * OH * OW
NCHW = FLOAT = 0
CROSS_CORRELATION = SPATIAL = 1
BAD_PARAM, SHAPE_MISMATCH = 2000, 2008  # cudnnStatus_t

dnn = Library('libcudnn.so.9')
ref = ctypes.byref
one, zero = ref(ctypes.c_float(1)), ref(ctypes.c_float(0))
use_device(0)
handle = dnn.new('cudnnCreate')


def floats(values):
    return (ctypes.c_float * len(values))(*values)


def copy_in(values):
    at = cu.new('cuMemAlloc_v2', 4 * len(values))
    cu.cuMemcpyHtoD_v2(at, floats(values), 4 * len(values))
    return at


host = [[i * 7 % 11 - 5 for i in range(X)], [i * 5 % 7 - 3 for i in range(F)], [i * 3 % 5 - 2 for i in range(Y)]]
device = [copy_in(values) for values in host]


def products():
    """The indices into x, w and y of each product of the convolution."""
    for n in range(N):
        for k in range(K):
            for at in range(OH * OW * C // GROUPS * R * R):
                s, r, c, o = at % R, at // R % R, at // (R * R) % (C // GROUPS), at // (R * R * C // GROUPS)
                q, p = o % OW, o // OW
                row, column = p * STEP + r - 1, q * STEP + s - 1
                if 0 <= row < H and 0 <= column < W:
                    yield (((n * C + k // (K // GROUPS) * (C // GROUPS) + c) * H + row) * W + column,
                           ((k * (C // GROUPS) + c) * R + r) * R + s, ((n * K + k) * OH + p) * OW + q)


def check_result(which, old=None):
    """Compares one of the three tensors with the sum of the products of the other two, and restores it."""
    wanted = list(old or [0] * len(host[which]))
    a, b = (i for i in range(3) if i != which)
    for indices in products():
        wanted[indices[which]] += host[a][indices[a]] * host[b][indices[b]]
    got = read(ctypes.c_float * len(wanted), device[which])
    assert all(abs(x - y) < 1e-3 for x, y in zip(got, wanted)), which
    cu.cuMemcpyHtoD_v2(device[which], floats(host[which]), 4 * len(wanted))


class Convolution:
    """Descriptors of the legacy API, and the three calls that use them."""

    def __init__(self, x, w, y, pad, step, groups=1):
        self.x, self.y = dnn.new('cudnnCreateTensorDescriptor'), dnn.new('cudnnCreateTensorDescriptor')
        self.w, self.how = dnn.new('cudnnCreateFilterDescriptor'), dnn.new('cudnnCreateConvolutionDescriptor')
        dnn.cudnnSetTensor4dDescriptor(self.x, NCHW, FLOAT, *x)
        dnn.cudnnSetTensor4dDescriptor(self.y, NCHW, FLOAT, *y)
        dnn.cudnnSetFilter4dDescriptor(self.w, FLOAT, NCHW, *w)
        dnn.cudnnSetConvolution2dDescriptor(self.how, pad, pad, step, step, 1, 1, CROSS_CORRELATION, FLOAT)
        dnn.cudnnSetConvolutionGroupCount(self.how, groups)

    def run(self, which, at, beta=zero, algorithm=0, expected=0):
        """Computes x (0), w (1) or y (2), which are at three addresses."""
        x, w, y = zip((self.x, self.w, self.y), at)
        call, first, second, to = (('BackwardData', w, y, x), ('BackwardFilter', x, y, w), ('Forward', x, w, y))[which]
        algorithm = algorithm if which == 2 else 1
        dnn.fails(expected, f'cudnnConvolution{call}', handle, one, *first, *second, self.how, algorithm, None, 0, beta,
                  *to)

    def destroy(self):
        dnn.cudnnDestroyConvolutionDescriptor(self.how)
        dnn.cudnnDestroyFilterDescriptor(self.w)
        dnn.cudnnDestroyTensorDescriptor(self.x)
        dnn.cudnnDestroyTensorDescriptor(self.y)


def test_legacy():
    c = Convolution((N, C, H, W), (K, C // GROUPS, R, R), (N, K, OH, OW), 1, STEP, GROUPS)
    sizes, size, n = (ctypes.c_int * 4)(), ctypes.c_size_t(), ctypes.c_int()
    dnn.cudnnGetConvolutionNdForwardOutputDim(c.how, c.x, c.w, 4, sizes)
    assert sizes[:] == [N, K, OH, OW]
    dnn.cudnnGetTensorSizeInBytes(c.x, ref(size))
    assert size.value == 4 * X
    best = structure('algorithm i, status i, time f, memory Q, more i*5')()
    dnn.cudnnGetConvolutionForwardAlgorithm_v7(handle, c.x, c.w, c.how, c.y, 1, ref(n), ref(best))
    assert (n.value, best.status) == (1, 0)
    c.run(2, device, algorithm=best.algorithm)
    check_result(2)
    c.run(0, device, beta=one)
    check_result(0, host[0])
    c.run(1, device)
    check_result(1)
    dnn.cudnnSetTensor4dDescriptor(c.y, NCHW, FLOAT, N, K, OH, OW + 1)
    c.run(2, device, algorithm=best.algorithm, expected=SHAPE_MISMATCH)
    c.destroy()


def test_times():
    """Gradients take about as long as the convolution, even the filter gradient, whose result is small."""
    batch, inputs, outputs, size = 32, 64, 256, 56
    at = [cu.new('cuMemAlloc_v2', 4 * n) for n in (batch * inputs * size * size, inputs * outputs,
                                                   batch * outputs * size * size)]
    c = Convolution((batch, inputs, size, size), (outputs, inputs, 1, 1), (batch, outputs, size, size), 0, 1)
    ms = []
    for which in 2, 0, 1:
        before = record_now()
        c.run(which, at)
        ms.append(ms_since(before))
    assert 0.01 < ms[0] < 1, ms
    assert all(0.5 * ms[0] < each < 2 * ms[0] for each in ms[1:]), ms
    c.destroy()
    for address in at:
        cu.cuMemFree_v2(address)


# ---- the graph API

# cudnnBackendDescriptorType_t, and cudnnBackendAttributeName_t for the attributes of each
CONVOLUTION, ENGINE_CONFIG, HEURISTIC, PLAN, FORWARD, GRAPH, PACK, TENSOR = 1, 3, 4, 5, 10, 15, 16, 17
TYPE, MODE, DILATIONS, STRIDES, POST_PADDINGS, PRE_PADDINGS, DIMENSIONS = range(100, 107)
HEURISTIC_MODE, HEURISTIC_GRAPH, HEURISTIC_RESULTS = range(200, 203)
PLAN_HANDLE, PLAN_CONFIG, PLAN_WORKSPACE = range(400, 403)
ALPHA, BETA, OF_CONVOLUTION, OF_W, OF_X, OF_Y = range(700, 706)
GRAPH_HANDLE, GRAPH_OPERATIONS = 800, 801
ALIGNMENT, TENSOR_TYPE, SIZES, TENSOR_STRIDES, UNIQUE_ID = 900, 901, 902, 903, 906
IDS, POINTERS = 1000, 1001
# cudnnBackendAttributeType_t, with the type of a value
HANDLE, DATA_TYPE, INT, NUMBER, POINTER, CONVOLUTION_MODE, HEURISTIC_MODES, DESCRIPTOR = (
    (0, ctypes.c_void_p), (1, ctypes.c_int), (3, ctypes.c_int64), (4, ctypes.c_float), (6, ctypes.c_void_p),
    (7, ctypes.c_int), (8, ctypes.c_int), (15, ctypes.c_void_p))


def create(kind):
    return dnn.new('cudnnBackendCreateDescriptor', kind, ...)


def put(descriptor, attribute, kind, *values):
    number, ctype = kind
    dnn.cudnnBackendSetAttribute(descriptor, attribute, number, len(values), (ctype * len(values))(*values))


def get(descriptor, attribute, kind, *values):
    """Returns the number of values, and the values; the attribute may fill existing descriptors."""
    number, ctype = kind
    n, to = ctypes.c_int64(), (ctype * len(values))(*values)
    dnn.cudnnBackendGetAttribute(descriptor, attribute, number, len(values), ref(n), to if values else None)
    return n.value, to[:]


def finalize(descriptor):
    dnn.cudnnBackendFinalize(descriptor)
    return descriptor


def destroy(*descriptors):
    for descriptor in descriptors:
        dnn.cudnnBackendDestroyDescriptor(descriptor)


def tensor(name, a, b, c, d):
    t = create(TENSOR)
    put(t, TENSOR_TYPE, DATA_TYPE, FLOAT)
    put(t, SIZES, INT, a, b, c, d)
    put(t, TENSOR_STRIDES, INT, b * c * d, c * d, d, 1)
    put(t, UNIQUE_ID, INT, ord(name))
    put(t, ALIGNMENT, INT, 4)
    return finalize(t)


def convolution_graph():
    c, operation, graph = create(CONVOLUTION), create(FORWARD), create(GRAPH)
    x, w, y = tensor('x', N, C, H, W), tensor('w', K, C // GROUPS, R, R), tensor('y', N, K, OH, OW)
    put(c, DIMENSIONS, INT, 2)
    put(c, TYPE, DATA_TYPE, FLOAT)
    put(c, MODE, CONVOLUTION_MODE, CROSS_CORRELATION)
    for attribute in PRE_PADDINGS, POST_PADDINGS, DILATIONS:
        put(c, attribute, INT, 1, 1)
    put(c, STRIDES, INT, STEP, STEP)
    finalize(c)
    for attribute, value in (OF_CONVOLUTION, c), (OF_X, x), (OF_W, w), (OF_Y, y):
        put(operation, attribute, DESCRIPTOR, value)
    put(operation, ALPHA, NUMBER, 1)
    put(operation, BETA, NUMBER, 0)
    finalize(operation)
    put(graph, GRAPH_HANDLE, HANDLE, handle)
    put(graph, GRAPH_OPERATIONS, DESCRIPTOR, operation)
    finalize(graph)
    destroy(c, operation, x, w, y)
    return graph


def plan_of(graph):
    """Makes a plan; it stays valid after the graph is destroyed."""
    heuristic, config, plan = create(HEURISTIC), create(ENGINE_CONFIG), create(PLAN)
    dnn.fails(BAD_PARAM, 'cudnnBackendFinalize', heuristic)
    put(heuristic, HEURISTIC_GRAPH, DESCRIPTOR, graph)
    put(heuristic, HEURISTIC_MODE, HEURISTIC_MODES, 0)
    finalize(heuristic)
    assert get(heuristic, HEURISTIC_RESULTS, DESCRIPTOR) == (2, [])
    assert get(heuristic, HEURISTIC_RESULTS, DESCRIPTOR, config) == (1, [config])
    put(plan, PLAN_HANDLE, HANDLE, handle)
    put(plan, PLAN_CONFIG, DESCRIPTOR, config)
    finalize(plan)
    assert get(plan, PLAN_WORKSPACE, INT, -1) == (1, [0])
    destroy(heuristic, config, graph)
    return plan


def test_graph():
    plan, pack = plan_of(convolution_graph()), create(PACK)
    put(pack, IDS, INT, *map(ord, 'yxw'))
    put(pack, POINTERS, POINTER, device[2], device[0], device[1])
    finalize(pack)
    dnn.cudnnBackendExecute(handle, plan, pack)
    check_result(2)
    destroy(plan, pack)


# ---- batch normalisation

def test_batch_norm():
    p, out = copy_in([1] * C + [0] * 3 * C), copy_in(host[0])
    t, of_channel = dnn.new('cudnnCreateTensorDescriptor'), dnn.new('cudnnCreateTensorDescriptor')
    epsilon = ctypes.c_double(1e-5)
    dnn.cudnnSetTensor4dDescriptor(t, NCHW, FLOAT, N, C, H, W)
    dnn.cudnnDeriveBNTensorDescriptor(of_channel, t, SPATIAL)
    dnn.cudnnBatchNormalizationForwardTraining(
        handle, SPATIAL, one, zero, t, device[0], t, out, of_channel, p, p + 4 * C, ctypes.c_double(1), None, None,
        epsilon, p + 8 * C, p + 12 * C)
    got, mean = read(ctypes.c_float * X, out), read(ctypes.c_float * C, p + 8 * C)
    per_channel = N * H * W
    for c in range(C):
        at = [i for i in range(X) if i // (H * W) % C == c]
        assert abs(sum(host[0][i] for i in at) / per_channel - mean[c]) < 1e-4
        assert abs(sum(got[i] for i in at)) < 1e-3
        assert abs(sum(got[i] * got[i] for i in at) / per_channel - 1) < 1e-3
    # Normalisation makes the sum constant, so its gradient is zero.
    cu.cuMemcpyHtoD_v2(out, floats([1] * X), 4 * X)
    dnn.cudnnBatchNormalizationBackward(
        handle, SPATIAL, one, zero, one, zero, t, device[0], t, out, t, out, of_channel, p, p, p + 4 * C, epsilon,
        p + 8 * C, p + 12 * C)
    assert all(abs(value) < 1e-4 for value in read(ctypes.c_float * X, out))
    assert all(abs(value - per_channel) < 1e-3 for value in read(ctypes.c_float * C, p + 4 * C))
    dnn.cudnnDestroyTensorDescriptor(t)
    dnn.cudnnDestroyTensorDescriptor(of_channel)


def test_rnn_weights():
    """An LSTM of two directions: matrices by layer, direction and gate, then the biases."""
    lstm, bidirectional, double_bias, inputs, hidden = 2, 1, 2, 3, 5
    d = dnn.new('cudnnCreateRNNDescriptor')
    m, b = dnn.new('cudnnCreateTensorDescriptor'), dnn.new('cudnnCreateTensorDescriptor')
    dnn.cudnnSetRNNDescriptor_v8(d, 0, lstm, double_bias, bidirectional, 0, FLOAT, FLOAT, 0, inputs, hidden, hidden, 1,
                                 None, 0)
    size = dnn.new('cudnnGetRNNWeightSpaceSize', handle, d, ...)
    assert size == 4 * 2 * (4 * 5 * 3 + 4 * 5 * 5 + 8 * 5)

    def weights(layer, number):
        matrix, bias = ctypes.c_void_p(), ctypes.c_void_p()
        dnn.cudnnGetRNNWeightParams(handle, d, layer, size, None, number, m, ref(matrix), b, ref(bias))
        return matrix.value, bias.value

    assert weights(1, 4) == (4 * (4 * 5 * 3 + 4 * 5 * 5 + 4 * 5 * 3), 4 * (2 * (4 * 5 * 3 + 4 * 5 * 5) + 8 * 5 + 4 * 5))
    assert weights(0, 8) == (None, None)
    dnn.cudnnDestroyRNNDescriptor(d)
    dnn.cudnnDestroyTensorDescriptor(m)
    dnn.cudnnDestroyTensorDescriptor(b)


if __name__ == '__main__':
    assert dnn.library.cudnnGetVersion() >= 90000
    test_legacy()
    test_times()
    test_graph()
    test_batch_norm()
    test_rnn_weights()
    dnn.cudnnDestroy(handle)
