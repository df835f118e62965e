/* SPDX-License-Identifier: Apache-2.0 */

/* cuDNN on an emulated GPU: convolutions by the legacy and the graph API against sums in this
 * program, batch normalisation, and the layout of the weights of a recurrent network. */
#include "tests/emugpu/check_driver.h"

#include <cudnn.h>
#include <math.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define DNN(call) TRUE((call) == CUDNN_STATUS_SUCCESS)

enum { N = 2, C = 4, H = 6, W = 5, K = 6, R = 3, GROUPS = 2, STEP = 2, OH = 3, OW = 3 };
enum { X = N * C * H * W, F = K * C / GROUPS * R * R, Y = N * K * OH * OW };

static cudnnHandle_t handle;
static CUdeviceptr device[3]; /* x, w, y */
static float x[X], w[F], y[Y], got[X + F + Y];
static const float one = 1, zero = 0;

static CUdeviceptr copy_in(const float *data, int n)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, (size_t)n * sizeof(float)));
	OK(cuMemcpyHtoD(p, data, (size_t)n * sizeof(float)));
	return p;
}

static void make_data(void)
{
	for (int i = 0; i < X; i++)
		x[i] = (float)(i * 7 % 11) - 5;
	for (int i = 0; i < F; i++)
		w[i] = (float)(i * 5 % 7) - 3;
	for (int i = 0; i < Y; i++)
		y[i] = (float)(i * 3 % 5) - 2;
	device[0] = copy_in(x, X);
	device[1] = copy_in(w, F);
	device[2] = copy_in(y, Y);
}

/* Adds, for each product of the convolution, a[i] * b[j] to out[k]; the three are x, w and y in
 * some order. */
static void each_product(float *out, int which)
{
	for (int n = 0; n < N; n++)
		for (int k = 0; k < K; k++)
			for (int at = 0; at < OH * OW * C / GROUPS * R * R; at++) {
				int s = at % R, r = at / R % R, c = at / (R * R) % (C / GROUPS);
				int o = at / (R * R * C / GROUPS), q = o % OW, p = o / OW;
				int row = p * STEP + r - 1, column = q * STEP + s - 1;
				int xi = ((n * C + k / (K / GROUPS) * (C / GROUPS) + c) * H + row) *
						 W +
					 column;
				int wi = ((k * (C / GROUPS) + c) * R + r) * R + s;
				int yi = ((n * K + k) * OH + p) * OW + q;

				if (row < 0 || row >= H || column < 0 || column >= W)
					continue;
				if (which == 0)
					out[xi] += w[wi] * y[yi];
				else if (which == 1)
					out[wi] += x[xi] * y[yi];
				else
					out[yi] += x[xi] * w[wi];
			}
}

static void check_result(int which, const float *scaled_old)
{
	static float want[X + F + Y];
	int n = which == 0 ? X : which == 1 ? F : Y;

	memset(want, 0, sizeof(want));
	each_product(want, which);
	OK(cuMemcpyDtoH(got, device[which], (size_t)n * sizeof(float)));
	for (int i = 0; i < n; i++)
		TRUE(fabsf(got[i] - want[i] - (scaled_old ? scaled_old[i] : 0)) < 1e-3f);
	OK(cuMemcpyHtoD(device[which],
			which == 0   ? x
			: which == 1 ? w
				     : y,
			(size_t)n * sizeof(float)));
}

static void test_legacy(void)
{
	cudnnTensorDescriptor_t tx, ty;
	cudnnFilterDescriptor_t tw;
	cudnnConvolutionDescriptor_t c;
	cudnnConvolutionFwdAlgoPerf_t best;
	int n, sizes[4];
	size_t bytes;

	DNN(cudnnCreateTensorDescriptor(&tx));
	DNN(cudnnCreateTensorDescriptor(&ty));
	DNN(cudnnCreateFilterDescriptor(&tw));
	DNN(cudnnCreateConvolutionDescriptor(&c));
	DNN(cudnnSetTensor4dDescriptor(tx, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, C, H, W));
	DNN(cudnnSetTensor4dDescriptor(ty, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, K, OH, OW));
	DNN(cudnnSetFilter4dDescriptor(tw, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, K, C / GROUPS, R,
				       R));
	DNN(cudnnSetConvolution2dDescriptor(c, 1, 1, STEP, STEP, 1, 1, CUDNN_CROSS_CORRELATION,
					    CUDNN_DATA_FLOAT));
	DNN(cudnnSetConvolutionGroupCount(c, GROUPS));
	DNN(cudnnGetConvolutionNdForwardOutputDim(c, tx, tw, 4, sizes));
	TRUE(sizes[0] == N && sizes[1] == K && sizes[2] == OH && sizes[3] == OW);
	DNN(cudnnGetTensorSizeInBytes(tx, &bytes));
	TRUE(bytes == sizeof(x));
	DNN(cudnnGetConvolutionForwardAlgorithm_v7(handle, tx, tw, c, ty, 1, &n, &best));
	TRUE(n == 1 && best.status == CUDNN_STATUS_SUCCESS);
	DNN(cudnnConvolutionForward(handle, &one, tx, (void *)device[0], tw, (void *)device[1], c,
				    best.algo, NULL, 0, &zero, ty, (void *)device[2]));
	check_result(2, NULL);
	DNN(cudnnConvolutionBackwardData(handle, &one, tw, (void *)device[1], ty, (void *)device[2],
					 c, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, NULL, 0, &one, tx,
					 (void *)device[0]));
	check_result(0, x);
	DNN(cudnnConvolutionBackwardFilter(
		handle, &one, tx, (void *)device[0], ty, (void *)device[2], c,
		CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0, &zero, tw, (void *)device[1]));
	check_result(1, NULL);
	DNN(cudnnSetTensor4dDescriptor(ty, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, K, OH, OW + 1));
	TRUE(cudnnConvolutionForward(handle, &one, tx, (void *)device[0], tw, (void *)device[1], c,
				     best.algo, NULL, 0, &zero, ty,
				     (void *)device[2]) == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
	DNN(cudnnDestroyConvolutionDescriptor(c));
	DNN(cudnnDestroyFilterDescriptor(tw));
	DNN(cudnnDestroyTensorDescriptor(tx));
	DNN(cudnnDestroyTensorDescriptor(ty));
}

/* Milliseconds of a convolution of x, w and y at `at`: 0 forward, 1 data, 2 filter. */
static float time_of(int direction, cudnnTensorDescriptor_t tx, cudnnTensorDescriptor_t ty,
		     cudnnFilterDescriptor_t tw, cudnnConvolutionDescriptor_t c,
		     const CUdeviceptr at[3])
{
	void *px = (void *)at[0], *pw = (void *)at[1], *py = (void *)at[2];
	CUevent before = record_now();

	if (direction == 0)
		DNN(cudnnConvolutionForward(handle, &one, tx, px, tw, pw, c,
					    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0,
					    &zero, ty, py));
	else if (direction == 1)
		DNN(cudnnConvolutionBackwardData(handle, &one, tw, pw, ty, py, c,
						 CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, NULL, 0, &zero,
						 tx, px));
	else
		DNN(cudnnConvolutionBackwardFilter(handle, &one, tx, px, ty, py, c,
						   CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, NULL, 0,
						   &zero, tw, pw));
	return ms_since(before);
}

/* Gradients take about as long as the convolution, even the filter gradient, whose result is
 * small. */
static void test_times(void)
{
	enum { BATCH = 32, IN = 64, OUT = 256, SIZE = 56 };
	cudnnTensorDescriptor_t tx, ty;
	cudnnFilterDescriptor_t tw;
	cudnnConvolutionDescriptor_t c;
	CUdeviceptr at[3];
	float ms[3];

	OK(cuMemAlloc(&at[0], (size_t)4 * BATCH * IN * SIZE * SIZE));
	OK(cuMemAlloc(&at[1], (size_t)4 * IN * OUT));
	OK(cuMemAlloc(&at[2], (size_t)4 * BATCH * OUT * SIZE * SIZE));
	DNN(cudnnCreateTensorDescriptor(&tx));
	DNN(cudnnCreateTensorDescriptor(&ty));
	DNN(cudnnCreateFilterDescriptor(&tw));
	DNN(cudnnCreateConvolutionDescriptor(&c));
	DNN(cudnnSetTensor4dDescriptor(tx, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, BATCH, IN, SIZE,
				       SIZE));
	DNN(cudnnSetTensor4dDescriptor(ty, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, BATCH, OUT, SIZE,
				       SIZE));
	DNN(cudnnSetFilter4dDescriptor(tw, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, OUT, IN, 1, 1));
	DNN(cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
					    CUDNN_DATA_FLOAT));
	for (int i = 0; i < 3; i++)
		ms[i] = time_of(i, tx, ty, tw, c, at);
	TRUE(ms[0] > 0.01f && ms[0] < 1);
	TRUE(ms[1] > 0.5f * ms[0] && ms[1] < 2 * ms[0]);
	TRUE(ms[2] > 0.5f * ms[0] && ms[2] < 2 * ms[0]);
	DNN(cudnnDestroyConvolutionDescriptor(c));
	DNN(cudnnDestroyFilterDescriptor(tw));
	DNN(cudnnDestroyTensorDescriptor(tx));
	DNN(cudnnDestroyTensorDescriptor(ty));
	for (int i = 0; i < 3; i++)
		OK(cuMemFree(at[i]));
}

/* ---- the graph API ---- */

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d;

	DNN(cudnnBackendCreateDescriptor(type, &d));
	return d;
}

#define SET(d, name, type, n, ...)                                                                 \
	DNN(cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, __VA_ARGS__))

static cudnnBackendDescriptor_t tensor(int64_t id, int64_t a, int64_t b, int64_t c, int64_t d)
{
	cudnnBackendDescriptor_t t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	int64_t sizes[] = {a, b, c, d}, strides[] = {b * c * d, c * d, d, 1}, alignment = 4;

	SET(t, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type);
	SET(t, TENSOR_DIMENSIONS, INT64, 4, sizes);
	SET(t, TENSOR_STRIDES, INT64, 4, strides);
	SET(t, TENSOR_UNIQUE_ID, INT64, 1, &id);
	SET(t, TENSOR_BYTE_ALIGNMENT, INT64, 1, &alignment);
	DNN(cudnnBackendFinalize(t));
	return t;
}

static cudnnBackendDescriptor_t convolution_graph(void)
{
	cudnnBackendDescriptor_t c = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	cudnnBackendDescriptor_t op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	cudnnBackendDescriptor_t tensors[] = {tensor('x', N, C, H, W),
					      tensor('w', K, C / GROUPS, R, R),
					      tensor('y', N, K, OH, OW)};
	int64_t ones[] = {1, 1}, steps[] = {STEP, STEP}, spatial = 2;
	cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;

	SET(c, CONVOLUTION_SPATIAL_DIMS, INT64, 1, &spatial);
	SET(c, CONVOLUTION_COMP_TYPE, DATA_TYPE, 1, &type);
	SET(c, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE, 1, &mode);
	SET(c, CONVOLUTION_PRE_PADDINGS, INT64, 2, ones);
	SET(c, CONVOLUTION_POST_PADDINGS, INT64, 2, ones);
	SET(c, CONVOLUTION_DILATIONS, INT64, 2, ones);
	SET(c, CONVOLUTION_FILTER_STRIDES, INT64, 2, steps);
	DNN(cudnnBackendFinalize(c));
	SET(op, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, BACKEND_DESCRIPTOR, 1, &c);
	SET(op, OPERATION_CONVOLUTION_FORWARD_X, BACKEND_DESCRIPTOR, 1, &tensors[0]);
	SET(op, OPERATION_CONVOLUTION_FORWARD_W, BACKEND_DESCRIPTOR, 1, &tensors[1]);
	SET(op, OPERATION_CONVOLUTION_FORWARD_Y, BACKEND_DESCRIPTOR, 1, &tensors[2]);
	SET(op, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, 1, &one);
	SET(op, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, 1, &zero);
	DNN(cudnnBackendFinalize(op));
	SET(graph, OPERATIONGRAPH_HANDLE, HANDLE, 1, &handle);
	SET(graph, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &op);
	DNN(cudnnBackendFinalize(graph));
	DNN(cudnnBackendDestroyDescriptor(c));
	DNN(cudnnBackendDestroyDescriptor(op));
	for (int i = 0; i < 3; i++)
		DNN(cudnnBackendDestroyDescriptor(tensors[i]));
	return graph;
}

/* Makes a plan; it stays valid after the graph is destroyed. */
static cudnnBackendDescriptor_t plan_of(cudnnBackendDescriptor_t graph)
{
	cudnnBackendDescriptor_t heuristic = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_INSTANT;
	int64_t n = 0, bytes = -1;

	TRUE(cudnnBackendFinalize(heuristic) == CUDNN_STATUS_BAD_PARAM);
	SET(heuristic, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, &graph);
	SET(heuristic, ENGINEHEUR_MODE, HEUR_MODE, 1, &mode);
	DNN(cudnnBackendFinalize(heuristic));
	DNN(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
				     CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL));
	TRUE(n == 2);
	DNN(cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS,
				     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &config));
	TRUE(n == 1);
	SET(plan, EXECUTION_PLAN_HANDLE, HANDLE, 1, &handle);
	SET(plan, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, &config);
	DNN(cudnnBackendFinalize(plan));
	DNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
				     CUDNN_TYPE_INT64, 1, &n, &bytes));
	TRUE(n == 1 && bytes == 0);
	DNN(cudnnBackendDestroyDescriptor(heuristic));
	DNN(cudnnBackendDestroyDescriptor(config));
	DNN(cudnnBackendDestroyDescriptor(graph));
	return plan;
}

static void test_graph(void)
{
	cudnnBackendDescriptor_t plan = plan_of(convolution_graph());
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	int64_t ids[] = {'y', 'x', 'w'};
	void *pointers[] = {(void *)device[2], (void *)device[0], (void *)device[1]};

	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 3, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 3, pointers);
	DNN(cudnnBackendFinalize(pack));
	DNN(cudnnBackendExecute(handle, plan, pack));
	check_result(2, NULL);
	DNN(cudnnBackendDestroyDescriptor(plan));
	DNN(cudnnBackendDestroyDescriptor(pack));
}

/* ---- batch normalisation ---- */

static void test_batch_norm(void)
{
	float parameters[4 * C] = {1, 1, 1, 1}, mean[C], variance[C];
	CUdeviceptr p = copy_in(parameters, 4 * C), out = copy_in(x, X);
	cudnnTensorDescriptor_t t, of_channel;

	DNN(cudnnCreateTensorDescriptor(&t));
	DNN(cudnnCreateTensorDescriptor(&of_channel));
	DNN(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, N, C, H, W));
	DNN(cudnnDeriveBNTensorDescriptor(of_channel, t, CUDNN_BATCHNORM_SPATIAL));
	DNN(cudnnBatchNormalizationForwardTraining(
		handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, t, (void *)device[0], t, (void *)out,
		of_channel, (void *)p, (void *)(p + 4 * C), 1, NULL, NULL, 1e-5,
		(void *)(p + 8 * C), (void *)(p + 12 * C)));
	OK(cuMemcpyDtoH(got, out, sizeof(x)));
	OK(cuMemcpyDtoH(mean, p + 8 * C, sizeof(mean)));
	for (int c = 0; c < C; c++) {
		double sum = 0, square = 0, from = 0;

		for (int i = 0; i < N * H * W; i++) {
			int at = (i / (H * W) * C + c) * H * W + i % (H * W);

			from += x[at];
			sum += got[at];
			square += got[at] * got[at];
		}
		TRUE(fabs(from / (N * H * W) - mean[c]) < 1e-4);
		TRUE(fabs(sum) < 1e-3 && fabs(square / (N * H * W) - 1) < 1e-3);
	}
	/* Normalisation makes the sum constant, so its gradient is zero. */
	for (int i = 0; i < X; i++)
		got[i] = 1;
	OK(cuMemcpyHtoD(out, got, sizeof(x)));
	DNN(cudnnBatchNormalizationBackward(
		handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, t, (void *)device[0], t,
		(void *)out, t, (void *)out, of_channel, (void *)p, (void *)p, (void *)(p + 4 * C),
		1e-5, (void *)(p + 8 * C), (void *)(p + 12 * C)));
	OK(cuMemcpyDtoH(got, out, sizeof(x)));
	OK(cuMemcpyDtoH(variance, p + 4 * C, sizeof(variance)));
	for (int i = 0; i < X; i++)
		TRUE(fabsf(got[i]) < 1e-4f);
	for (int c = 0; c < C; c++)
		TRUE(fabsf(variance[c] - N * H * W) < 1e-3f);
	DNN(cudnnDestroyTensorDescriptor(t));
	DNN(cudnnDestroyTensorDescriptor(of_channel));
}

/* An LSTM of two directions: matrices by layer, direction and gate, then the biases. */
static void test_rnn_weights(void)
{
	cudnnRNNDescriptor_t d;
	cudnnTensorDescriptor_t m, b;
	size_t bytes;
	void *matrix, *bias;

	DNN(cudnnCreateRNNDescriptor(&d));
	DNN(cudnnCreateTensorDescriptor(&m));
	DNN(cudnnCreateTensorDescriptor(&b));
	DNN(cudnnSetRNNDescriptor_v8(d, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
				     CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
				     CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 3, 5, 5, 1, NULL, 0));
	DNN(cudnnGetRNNWeightSpaceSize(handle, d, &bytes));
	TRUE(bytes == 4 * 2 * (4 * 5 * 3 + 4 * 5 * 5 + 8 * 5));
	DNN(cudnnGetRNNWeightParams(handle, d, 1, bytes, NULL, 4, m, &matrix, b, &bias));
	TRUE((size_t)matrix == 4 * (4 * 5 * 3 + 4 * 5 * 5 + 4 * 5 * 3));
	TRUE((size_t)bias == 4 * (2 * (4 * 5 * 3 + 4 * 5 * 5) + 8 * 5 + 4 * 5));
	DNN(cudnnGetRNNWeightParams(handle, d, 0, bytes, NULL, 8, m, &matrix, b, &bias));
	TRUE(!matrix && !bias);
	DNN(cudnnDestroyRNNDescriptor(d));
	DNN(cudnnDestroyTensorDescriptor(m));
	DNN(cudnnDestroyTensorDescriptor(b));
}

int main(void)
{

	use_device(0);
	DNN(cudnnCreate(&handle));
	TRUE(cudnnGetVersion() >= 90000);
	make_data();
	test_legacy();
	test_times();
	test_graph();
	test_batch_norm();
	test_rnn_weights();
	DNN(cudnnDestroy(handle));
	return 0;
}
