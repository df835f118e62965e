# SPDX-License-Identifier: Apache-2.0
"""PyTorch's functions that call cuFFT, cuSOLVER and cuSPARSE give the CPU's results on an emulated GPU."""
import torch

torch.manual_seed(0)


def check(function, *arguments):
    want = function(*arguments)
    got = function(*(a.cuda() for a in arguments))
    torch.testing.assert_close(got.cpu(), want, rtol=1e-4, atol=1e-4)


real, wave = torch.randn(3, 60), torch.randn(4, 6, 35, dtype=torch.complex64)
check(torch.fft.rfft, real)
check(lambda x: torch.fft.irfft(torch.fft.rfft(x), n=60), real)
check(lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), real)
check(torch.fft.fft, wave)
check(torch.fft.fft2, wave)
check(lambda x: torch.fft.ifftn(x, norm='forward'), wave)  # another norm multiplies by a kernel of PyTorch

matrix, right = torch.randn(2, 16, 16), torch.randn(16, 3)
positive = matrix[0] @ matrix[0].T + 16 * torch.eye(16)
check(torch.linalg.cholesky, positive)
check(torch.linalg.cholesky, torch.stack([positive, 2 * positive]))
check(torch.linalg.solve, matrix[0], right)
check(torch.linalg.solve, matrix, matrix + 1)
check(torch.linalg.inv, matrix[0])
check(lambda a, b: torch.cholesky_solve(b, torch.linalg.cholesky(a)), positive, right)

sparse = matrix[0].relu()
check(torch.sparse.mm, sparse.to_sparse_csr(), right)
check(torch.sparse.mm, sparse.to_sparse(), right)
check(torch.mv, sparse.to_sparse_csr(), right[:, 0].contiguous())

try:
    torch.linalg.svd(matrix[0].cuda())
except RuntimeError:
    print('done')
