/* SPDX-License-Identifier: Apache-2.0 */

/* The host kernels of the examples, as a plug-in: gpureplay makes the calls of a recorded example
 * without the example itself.
 *
 *     gpuemu --gpus 2 --kernels kernels.so -- gpureplay run.gputrace
 */
#include "mlp.cuh"
