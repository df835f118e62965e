# SPDX-License-Identifier: Apache-2.0
"""What headers do not say: the meaning of types, of names, and of the arguments of calls. Words are those of api.h."""

# The meaning of a value of a type, and of what a pointer to it points to.
TYPES = {
    'CUcontext': 'context', 'CUstream': 'stream', 'cudaStream_t': 'stream', 'CUevent': 'event', 'CUmodule': 'module',
    'CUfunction': 'function', 'CUlibrary': 'library', 'CUkernel': 'kernel', 'CUgraph': 'graph', 'CUgraphExec': 'graph-exec',
    'CUgraphNode': 'graph-node', 'CUmemoryPool': 'pool', 'CUmemGenericAllocationHandle': 'memory', 'CUarray': 'array',
    'CUmipmappedArray': 'mipmap', 'CUtexref': 'texref', 'CUsurfref': 'surfref', 'CUtexObject': 'texture',
    'CUsurfObject': 'surface', 'CUexternalMemory': 'external-memory', 'CUexternalSemaphore': 'external-semaphore',
    'CUgraphicsResource': 'graphics-resource', 'CUgreenCtx': 'green-context', 'CUlinkState': 'linker',
    'CUuserObject': 'user-object', 'CUgraphConditionalHandle': 'conditional', 'CUdevResourceDesc': 'resource-desc',
    'CUasyncCallbackHandle': 'notification', 'CUlogsCallbackHandle': 'notification', 'CUlogIterator': 'number',
    'CUeglStreamConnection': 'egl-connection',
    'CUdevice': 'device', 'CUdeviceptr': 'devptr', 'CUdeviceptr_v1': 'devptr',
    'ncclComm_t': 'comm', 'ncclWindow_t': 'window', 'ncclUniqueId': 'unique-id', 'ncclRedOp_t': 'reduction',
    'cublasHandle_t': 'blas', 'cublasXtHandle_t': 'blas-xt', 'cublasLtHandle_t': 'lt', 'cublasLtMatmulDesc_t': 'lt-matmul',
    'cublasLtMatrixLayout_t': 'lt-layout', 'cublasLtMatrixTransformDesc_t': 'lt-transform',
    'cublasLtMatmulPreference_t': 'lt-preference', 'cublasLtEmulationDesc_t': 'lt-emulation',
    'cuComplex': 'scalar', 'cuDoubleComplex': 'scalar',
    'CUuuid': 'bytes', 'CUipcMemHandle': 'bytes', 'CUipcEventHandle': 'bytes', 'CUtensorMap': 'bytes',
    'CUmemPoolPtrExportData': 'bytes', 'cublasLtMatmulAlgo_t': 'bytes', 'CUgraphDeviceNode': 'graph-node',
    'CUresult': 'status', 'ncclResult_t': 'status', 'cublasStatus_t': 'status',
    'void': 'address', 'FILE': 'address', 'char': 'bytes', 'size_t': 'size', 'EGLImageKHR': 'address',
    'EGLStreamKHR': 'address', 'EGLSyncKHR': 'address',
}

RESULTS = {'CUresult': 'status', 'ncclResult_t': 'status', 'cublasStatus_t': 'status', 'size_t': 'size',
           'cuComplex': 'scalar', 'cuDoubleComplex': 'scalar'}

# Pointers to these are never followed.
OPAQUE = ('void', 'FILE')

CALLBACKS = ('CUhostFn', 'CUstreamCallback', 'CUasyncCallback', 'CUlogsCallback', 'CUoccupancyB2DSize',
             'cublasLogCallback', 'cublasLtLoggerCallback_t', 'VdpGetProcAddress')

# The meaning of a number, by its name.
NAMES = [
    (r'[fF]lags|\w+Flags', 'flags'),
]

# cuBLAS: what these pointers point to lies on the device, but for the scalars, which lie where the pointer mode says.
ELEMENTS = ('float', 'double', 'cuComplex', 'cuDoubleComplex', 'void', 'unsigned char')
SCALARS = r'alpha|beta|result|a|b|c|s|c[abs]|s[abcs]|s?param|s?d1|s?d2|s?x1|s?y1'
ON_DEVICE = r'P|PivotArray|devIpiv|devInfoArray|info'

ATTRIBUTE = 'state; buf bytes in sizeInBytes'
GET_ATTRIBUTE = 'query; buf bytes out sizeInBytes'

# What attributes of cuBLASLt hold, by the comments of its header: {object: (how their names begin, {type: attributes})}.
LT_VALUES = {
    'MatmulDesc': ('CUBLASLT_MATMUL_DESC_', {
        'cublasComputeType_t': 'COMPUTE_TYPE', 'cudaDataType': 'SCALE_TYPE BIAS_DATA_TYPE EPILOGUE_AUX_DATA_TYPE',
        'cublasLtPointerMode_t': 'POINTER_MODE', 'cublasOperation_t': 'TRANSA TRANSB TRANSC', 'cublasFillMode_t': 'FILL_MODE',
        'cublasLtEpilogue_t': 'EPILOGUE', 'cublasLtEmulationDesc_t': 'EMULATION_DESCRIPTOR',
        'void *': 'BIAS_POINTER EPILOGUE_AUX_POINTER A_SCALE_POINTER B_SCALE_POINTER C_SCALE_POINTER D_SCALE_POINTER '
                  'AMAX_D_POINTER EPILOGUE_AUX_SCALE_POINTER EPILOGUE_AUX_AMAX_POINTER D_OUT_SCALE_POINTER',
        'cublasLtMatmulMatrixScale_t': 'A_SCALE_MODE B_SCALE_MODE C_SCALE_MODE D_SCALE_MODE EPILOGUE_AUX_SCALE_MODE '
                                       'D_OUT_SCALE_MODE',
        'int64_t': 'BIAS_BATCH_STRIDE EPILOGUE_AUX_LD EPILOGUE_AUX_BATCH_STRIDE ALPHA_VECTOR_BATCH_STRIDE',
        'int32_t': 'SM_COUNT_TARGET', 'int8_t': 'FAST_ACCUM',
    }),
    'MatrixLayout': ('CUBLASLT_MATRIX_LAYOUT_', {
        'cudaDataType': 'TYPE', 'cublasLtOrder_t': 'ORDER', 'uint64_t': 'ROWS COLS', 'int32_t': 'BATCH_COUNT',
        'int64_t': 'LD STRIDED_BATCH_OFFSET PLANE_OFFSET', 'cublasLtBatchMode_t': 'BATCH_MODE',
    }),
    'MatrixTransformDesc': ('CUBLASLT_MATRIX_TRANSFORM_DESC_', {
        'cudaDataType': 'SCALE_TYPE', 'cublasLtPointerMode_t': 'POINTER_MODE', 'cublasOperation_t': 'TRANSA TRANSB',
    }),
    'MatmulPreference': ('CUBLASLT_MATMUL_PREF_', {
        'cublasLtMatmulSearch_t': 'SEARCH_MODE', 'uint64_t': 'MAX_WORKSPACE_BYTES IMPL_MASK', 'float': 'MAX_WAVES_COUNT',
        'uint32_t': 'REDUCTION_SCHEME_MASK MIN_ALIGNMENT_A_BYTES MIN_ALIGNMENT_B_BYTES MIN_ALIGNMENT_C_BYTES '
                    'MIN_ALIGNMENT_D_BYTES',
    }),
}


def lt_members(types):
    """(type, attribute) of each that is known."""
    return [(kind, name) for kind, names in types.items() for name in names.split()]


# The unions that the header does not have.
LT_UNIONS = ''.join(f'typedef union {{ {" ".join(f"{kind} {name};" for kind, name in lt_members(types))} }} cublasLt{thing}Value;\n'
                    for thing, (_, types) in LT_VALUES.items())
NODE = 'graph-node; dependencies in numDependencies'
LIST = 'query; {0} out [{1}]; {1} inout'

GROUPED = 'gemm;' + ';'.join(f'{a}_array in group_count' for a in ('transa', 'transb', 'm', 'n', 'k', 'lda', 'ldb', 'ldc')) + (
    '; group_size in group_count; alpha_array scalar in group_count; beta_array scalar in group_count')

CALLS = {
    'cuda': {
        # Program
        'cuInit': 'state',
        'cuGetErrorString': 'query; pStr string-address out 1',
        'cuGetErrorName': 'query; pStr string-address out 1',
        'cuGetProcAddress': 'query',
        'cuGetExportTable': 'query',
        'cuDeviceGetName': 'query; name string out len',
        'cuDeviceGetPCIBusId': 'query; pciBusId string out len',
        'cuDeviceGetLuid': 'query; luid out 8',
        'cuDeviceGetHostAtomicCapabilities': 'query; capabilities out count; operations in count',
        'cuDeviceGetP2PAtomicCapabilities': 'query; capabilities out count; operations in count',
        'cuDeviceCanAccessPeer': 'query',
        'cuDeviceTotalMem': 'query',
        'cuDeviceComputeCapability': 'query',
        'cuProfilerStart': 'profile',
        'cuProfilerStop': 'profile',
        'cuProfilerInitialize': 'profile',
        # Contexts
        'cuDevicePrimaryCtxRetain': 'create',
        'cuDevicePrimaryCtxRelease': 'destroy',
        'cuDevicePrimaryCtxReset': 'destroy',
        'cuCtxCreate': 'create',
        'cuCtxCreate_v3': 'create; paramsArray in numParams',
        'cuCtxCreate_v4': 'create; ctxCreateParams in',
        'cuCtxAttach': 'create',
        'cuCtxDestroy': 'destroy',
        'cuCtxDetach': 'destroy',
        'cuCtxSynchronize': 'sync',
        'cuCtxRecordEvent': 'event-record',
        'cuCtxWaitEvent': 'event-wait',
        'cuGreenCtxCreate': 'create',
        'cuGreenCtxDestroy': 'destroy',
        'cuCtxFromGreenCtx': 'create',
        'cuGreenCtxRecordEvent': 'event-record',
        'cuGreenCtxWaitEvent': 'event-wait',
        'cuGreenCtxStreamCreate': 'create',
        'cuDevSmResourceSplitByCount': 'query; result out [nbGroups]; nbGroups inout',
        'cuDevResourceGenerateDesc': 'create; resources in nbResources',
        # Modules
        'cuModuleLoad': 'module-load',
        'cuModuleLoadData': 'module-load; image image in image',
        'cuModuleLoadDataEx': 'module-load; image image in image; options in numOptions; optionValues in numOptions',
        'cuModuleLoadFatBinary': 'module-load; fatCubin image in image',
        'cuModuleUnload': 'destroy',
        'cuModuleGetFunction': 'create',
        'cuModuleGetGlobal': 'create',
        'cuModuleGetTexRef': 'create',
        'cuModuleGetSurfRef': 'create',
        'cuModuleEnumerateFunctions': 'create; functions out numFunctions',
        'cuLinkCreate': 'create; options in numOptions; optionValues in numOptions',
        'cuLinkAddData': 'state; data bytes in size; options in numOptions; optionValues in numOptions',
        'cuLinkAddFile': 'state; options in numOptions; optionValues in numOptions',
        'cuLinkComplete': 'state',
        'cuLinkDestroy': 'destroy',
        'cuLibraryLoadData': 'module-load; code image in image; jitOptions in numJitOptions;'
                             'jitOptionsValues in numJitOptions; libraryOptions in numLibraryOptions;'
                             'libraryOptionValues in numLibraryOptions',
        'cuLibraryLoadFromFile': 'module-load; jitOptions in numJitOptions; jitOptionsValues in numJitOptions;'
                                 'libraryOptions in numLibraryOptions; libraryOptionValues in numLibraryOptions',
        'cuLibraryUnload': 'destroy',
        'cuLibraryGetKernel': 'create',
        'cuLibraryEnumerateKernels': 'create; kernels out numKernels',
        'cuLibraryGetModule': 'create',
        'cuLibraryGetGlobal': 'create',
        'cuLibraryGetManaged': 'create',
        'cuKernelGetFunction': 'create',
        'cuKernelGetName': 'query; name string-address out 1',
        'cuFuncGetName': 'query; name string-address out 1',
        # Memory
        'cuMemAlloc': 'alloc',
        'cuMemAllocPitch': 'alloc',
        'cuMemAllocHost': 'alloc; pp host out 1',
        'cuMemHostAlloc': 'alloc; pp host out 1',
        'cuMemAllocManaged': 'alloc',
        'cuMemAllocAsync': 'alloc',
        'cuMemAllocFromPoolAsync': 'alloc',
        'cuMemFree': 'free',
        'cuMemFreeHost': 'free; p host',
        'cuMemFreeAsync': 'free',
        'cuMemHostRegister': 'alloc; p host',
        'cuMemHostUnregister': 'free; p host',
        'cuMemHostGetDevicePointer': 'query; p host',
        'cuMemHostGetFlags': 'query; p host',
        'cuMemAddressReserve': 'reserve',
        'cuMemAddressFree': 'unreserve',
        'cuMemCreate': 'create',
        'cuMemRelease': 'destroy',
        'cuMemMap': 'map',
        'cuMemMapArrayAsync': 'map; mapInfoList in count',
        'cuMemUnmap': 'unmap',
        'cuMemSetAccess': 'state; desc in count',
        'cuMemGetAccess': 'query',
        'cuMemRetainAllocationHandle': 'create; addr devptr',
        'cuMemExportToShareableHandle': 'state; shareableHandle bytes out ?',
        'cuMemImportFromShareableHandle': 'create',
        'cuMemPoolCreate': 'create',
        'cuMemPoolDestroy': 'destroy',
        'cuMemPoolSetAccess': 'state; map in count',
        'cuMemPoolGetAccess': 'query; location in',
        'cuMemPoolSetAttribute': 'state; value bytes in 8',
        'cuMemPoolGetAttribute': 'query; value bytes out 8',
        'cuMemPoolImportFromShareableHandle': 'create',
        'cuMemPoolExportToShareableHandle': 'state; handle_out bytes out ?',
        'cuMemPoolImportPointer': 'alloc; shareData in',
        'cuMemGetDefaultMemPool': 'query; location in',
        'cuMemGetMemPool': 'query; location in',
        'cuMemSetMemPool': 'state; location in',
        'cuMulticastCreate': 'create',
        'cuMulticastBindMem': 'map',
        'cuMulticastBindAddr': 'map',
        'cuMulticastUnbind': 'unmap',
        'cuMemRangeGetAttribute': 'query; data bytes out dataSize',
        'cuMemRangeGetAttributes': 'query; dataSizes in numAttributes; attributes in numAttributes; data in numAttributes',
        'cuPointerGetAttributes': 'query; attributes in numAttributes; data in numAttributes',
        'cuMemAdvise': 'state',
        'cuIpcGetMemHandle': 'query',
        'cuIpcOpenMemHandle': 'alloc',
        'cuIpcCloseMemHandle': 'free',
        'cuIpcGetEventHandle': 'query',
        'cuIpcOpenEventHandle': 'create',
        'cuArrayCreate': 'create',
        'cuArray3DCreate': 'create',
        'cuArrayGetPlane': 'create',
        'cuArrayDestroy': 'destroy',
        'cuMipmappedArrayCreate': 'create',
        'cuMipmappedArrayGetLevel': 'create',
        'cuMipmappedArrayDestroy': 'destroy',
        'cuImportExternalMemory': 'create',
        'cuExternalMemoryGetMappedBuffer': 'alloc',
        'cuExternalMemoryGetMappedMipmappedArray': 'create',
        'cuDestroyExternalMemory': 'destroy',
        'cuImportExternalSemaphore': 'create',
        'cuDestroyExternalSemaphore': 'destroy',
        # Copies
        'cuMemcpy': 'copy; dst writes ByteCount; src reads ByteCount',
        'cuMemcpyAsync': 'copy; dst writes ByteCount; src reads ByteCount',
        'cuMemcpyPeer': 'copy; dstDevice writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyPeerAsync': 'copy; dstDevice writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyHtoD': 'copy; dstDevice writes ByteCount; srcHost host reads ByteCount',
        'cuMemcpyHtoDAsync': 'copy; dstDevice writes ByteCount; srcHost host reads ByteCount',
        'cuMemcpyDtoH': 'copy; dstHost host writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyDtoHAsync': 'copy; dstHost host writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyDtoD': 'copy; dstDevice writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyDtoDAsync': 'copy; dstDevice writes ByteCount; srcDevice reads ByteCount',
        'cuMemcpyDtoA': 'copy; srcDevice reads ByteCount',
        'cuMemcpyAtoD': 'copy; dstDevice writes ByteCount',
        'cuMemcpyHtoA': 'copy; srcHost host reads ByteCount',
        'cuMemcpyHtoAAsync': 'copy; srcHost host reads ByteCount',
        'cuMemcpyAtoH': 'copy; dstHost host writes ByteCount',
        'cuMemcpyAtoHAsync': 'copy; dstHost host writes ByteCount',
        'cuMemcpyAtoA': 'copy',
        'cuMemcpy2D': 'copy',
        'cuMemcpy2DUnaligned': 'copy',
        'cuMemcpy2DAsync': 'copy',
        'cuMemcpy3D': 'copy',
        'cuMemcpy3DAsync': 'copy',
        'cuMemcpy3DPeer': 'copy',
        'cuMemcpy3DPeerAsync': 'copy',
        'cuMemcpyBatchAsync': 'copy; dsts in count; srcs in count; sizes in count; attrs in numAttrs; attrsIdxs in numAttrs',
        'cuMemcpy3DBatchAsync': 'copy; opList in numOps',
        'cuMemPrefetchAsync': 'prefetch',
        'cuMemPrefetchBatchAsync': 'prefetch; dptrs in count; sizes in count; prefetchLocs in numPrefetchLocs;'
                                   'prefetchLocIdxs in numPrefetchLocs',
        'cuMemDiscardBatchAsync': 'prefetch; dptrs in count; sizes in count',
        'cuMemDiscardAndPrefetchBatchAsync': 'prefetch; dptrs in count; sizes in count; prefetchLocs in numPrefetchLocs;'
                                             'prefetchLocIdxs in numPrefetchLocs',
        'cuMemBatchDecompressAsync': 'copy; paramsArray in count',
        'cuMemsetD8': 'set; dstDevice writes N',
        'cuMemsetD8Async': 'set; dstDevice writes N',
        'cuMemsetD16': 'set; dstDevice writes 2*N',
        'cuMemsetD16Async': 'set; dstDevice writes 2*N',
        'cuMemsetD32': 'set; dstDevice writes 4*N',
        'cuMemsetD32Async': 'set; dstDevice writes 4*N',
        'cuMemsetD2D8': 'set; dstDevice writes ?',
        'cuMemsetD2D8Async': 'set; dstDevice writes ?',
        'cuMemsetD2D16': 'set; dstDevice writes ?',
        'cuMemsetD2D16Async': 'set; dstDevice writes ?',
        'cuMemsetD2D32': 'set; dstDevice writes ?',
        'cuMemsetD2D32Async': 'set; dstDevice writes ?',
        # Streams and events
        'cuStreamCreate': 'create',
        'cuStreamCreateWithPriority': 'create',
        'cuStreamDestroy': 'destroy',
        'cuStreamSynchronize': 'sync',
        'cuStreamQuery': 'stream-query',
        'cuStreamWaitEvent': 'event-wait',
        'cuStreamAddCallback': 'host-call',
        'cuLaunchHostFunc': 'host-call',
        'cuStreamAttachMemAsync': 'state',
        'cuStreamWriteValue32': 'memory-op; addr writes 4',
        'cuStreamWriteValue64': 'memory-op; addr writes 8',
        'cuStreamWaitValue32': 'memory-op; addr reads 4',
        'cuStreamWaitValue64': 'memory-op; addr reads 8',
        'cuStreamBatchMemOp': 'memory-op; paramArray in count',
        'cuSignalExternalSemaphoresAsync': 'memory-op; extSemArray in numExtSems; paramsArray in numExtSems',
        'cuWaitExternalSemaphoresAsync': 'memory-op; extSemArray in numExtSems; paramsArray in numExtSems',
        'cuEventCreate': 'create',
        'cuEventDestroy': 'destroy',
        'cuEventRecord': 'event-record',
        'cuEventRecordWithFlags': 'event-record',
        'cuEventQuery': 'event-query',
        'cuEventSynchronize': 'sync',
        'cuEventElapsedTime': 'query',
        'cuEventCreateFromEGLSync': 'create',
        'cuThreadExchangeStreamCaptureMode': 'state; mode inout',
        'cuStreamBeginCapture': 'capture-begin',
        'cuStreamBeginCaptureToGraph': 'capture-begin; dependencies in numDependencies; dependencyData in numDependencies',
        'cuStreamEndCapture': 'capture-end',
        'cuStreamUpdateCaptureDependencies': 'state; dependencies in numDependencies',
        'cuStreamUpdateCaptureDependencies_v2': 'state; dependencies in numDependencies; dependencyData in numDependencies',
        'cuStreamIsCapturing': 'query',
        # Launches
        'cuLaunchKernel': 'launch; kernelParams params in params; extra extra in extra',
        'cuLaunchKernelEx': 'launch; kernelParams params in params; extra extra in extra',
        'cuLaunchCooperativeKernel': 'launch; kernelParams params in params',
        'cuLaunchCooperativeKernelMultiDevice': 'launch; launchParamsList in numDevices',
        'cuLaunch': 'launch',
        'cuLaunchGrid': 'launch',
        'cuLaunchGridAsync': 'launch',
        'cuParamSetv': 'state; ptr bytes in numbytes',
        # Graphs
        'cuGraphCreate': 'create',
        'cuGraphClone': 'create',
        'cuGraphDestroy': 'destroy',
        'cuGraphDestroyNode': 'destroy',
        'cuGraphExecDestroy': 'destroy',
        'cuGraphAddNode': 'graph-node; dependencies in numDependencies; nodeParams inout',
        'cuGraphAddNode_v2': 'graph-node; dependencies in numDependencies; dependencyData in numDependencies;'
                             'nodeParams inout',
        'cuGraphAddKernelNode': NODE,
        'cuGraphAddMemcpyNode': NODE,
        'cuGraphAddMemsetNode': NODE,
        'cuGraphAddHostNode': NODE,
        'cuGraphAddChildGraphNode': NODE,
        'cuGraphAddEmptyNode': NODE,
        'cuGraphAddEventRecordNode': NODE,
        'cuGraphAddEventWaitNode': NODE,
        'cuGraphAddExternalSemaphoresSignalNode': NODE,
        'cuGraphAddExternalSemaphoresWaitNode': NODE,
        'cuGraphAddBatchMemOpNode': NODE,
        'cuGraphAddMemAllocNode': NODE + '; nodeParams inout',
        'cuGraphAddMemFreeNode': NODE,
        'cuGraphNodeSetParams': 'state; nodeParams in',
        'cuGraphExecNodeSetParams': 'state; nodeParams in',
        'cuGraphAddDependencies': 'state; from in numDependencies; to in numDependencies',
        'cuGraphAddDependencies_v2': 'state; from in numDependencies; to in numDependencies; edgeData in numDependencies',
        'cuGraphRemoveDependencies': 'state; from in numDependencies; to in numDependencies',
        'cuGraphRemoveDependencies_v2': 'state; from in numDependencies; to in numDependencies; edgeData in numDependencies',
        'cuGraphGetNodes': LIST.format('nodes', 'numNodes'),
        'cuGraphGetRootNodes': LIST.format('rootNodes', 'numRootNodes'),
        'cuGraphGetEdges': 'query; from out [numEdges]; to out [numEdges]; numEdges inout',
        'cuGraphGetEdges_v2': 'query; from out [numEdges]; to out [numEdges]; edgeData out [numEdges]; numEdges inout',
        'cuGraphNodeGetDependencies': LIST.format('dependencies', 'numDependencies'),
        'cuGraphNodeGetDependencies_v2': LIST.format('dependencies', 'numDependencies') + '; edgeData out [numDependencies]',
        'cuGraphNodeGetDependentNodes': LIST.format('dependentNodes', 'numDependentNodes'),
        'cuGraphNodeGetDependentNodes_v2': LIST.format('dependentNodes', 'numDependentNodes') +
                                           '; edgeData out [numDependentNodes]',
        'cuGraphNodeFindInClone': 'create',
        'cuGraphInstantiate': 'create; logBuffer string out bufferSize',
        'cuGraphInstantiateWithFlags': 'create',
        'cuGraphInstantiateWithParams': 'create; instantiateParams inout',
        'cuGraphUpload': 'state',
        'cuGraphLaunch': 'graph-launch',
        'cuDeviceGetGraphMemAttribute': 'query; value bytes out 8',
        'cuDeviceSetGraphMemAttribute': 'state; value bytes in 8',
        'cuUserObjectCreate': 'create',
        'cuUserObjectRelease': 'destroy',
        'cuGraphConditionalHandleCreate': 'create',
        # Textures, surfaces, tensor maps, graphics
        'cuTexRefCreate': 'create',
        'cuTexRefDestroy': 'destroy',
        'cuTexRefSetBorderColor': 'state; pBorderColor in 4',
        'cuTexRefGetBorderColor': 'query; pBorderColor out 4',
        'cuTexObjectCreate': 'create',
        'cuTexObjectDestroy': 'destroy',
        'cuSurfObjectCreate': 'create',
        'cuSurfObjectDestroy': 'destroy',
        'cuTensorMapEncodeTiled': 'query; globalAddress devptr; globalDim in tensorRank; globalStrides in tensorRank-1;'
                                  'boxDim in tensorRank; elementStrides in tensorRank',
        'cuTensorMapEncodeIm2col': 'query; globalAddress devptr; globalDim in tensorRank; globalStrides in tensorRank-1;'
                                   'pixelBoxLowerCorner in tensorRank-2; pixelBoxUpperCorner in tensorRank-2;'
                                   'elementStrides in tensorRank',
        'cuTensorMapEncodeIm2colWide': 'query; globalAddress devptr; globalDim in tensorRank;'
                                       'globalStrides in tensorRank-1; elementStrides in tensorRank',
        'cuTensorMapReplaceAddress': 'query; tensorMap inout; globalAddress devptr',
        'cuGraphicsMapResources': 'map; resources in count',
        'cuGraphicsUnmapResources': 'unmap; resources in count',
        'cuGraphicsUnregisterResource': 'destroy',
        'cuGraphicsGLRegisterBuffer': 'create',
        'cuGraphicsGLRegisterImage': 'create',
        'cuGLGetDevices': 'query; pCudaDevices out cudaDeviceCount',
        'cuGLCtxCreate': 'create',
        'cuGLMapBufferObject': 'map',
        'cuGLMapBufferObjectAsync': 'map',
        'cuGLUnmapBufferObject': 'unmap',
        'cuGLUnmapBufferObjectAsync': 'unmap',
        'cuGraphicsEGLRegisterImage': 'create',
        'cuEGLStreamConsumerConnect': 'create',
        'cuEGLStreamConsumerConnectWithFlags': 'create',
        'cuEGLStreamProducerConnect': 'create',
        'cuEGLStreamConsumerDisconnect': 'destroy; conn in',
        'cuEGLStreamProducerDisconnect': 'destroy; conn in',
        'cuEGLStreamConsumerAcquireFrame': 'map; conn in; pStream in',
        'cuEGLStreamConsumerReleaseFrame': 'unmap; conn in; pStream in',
        'cuEGLStreamProducerPresentFrame': 'state; conn in; pStream in',
        'cuEGLStreamProducerReturnFrame': 'state; conn in; pStream in',
        'cuVDPAUCtxCreate': 'create; vdpGetProcAddress callback',
        'cuVDPAUGetDevice': 'query; vdpGetProcAddress callback',
        'cuGraphicsVDPAURegisterVideoSurface': 'create',
        'cuGraphicsVDPAURegisterOutputSurface': 'create',
        # Others
        'cuDeviceRegisterAsyncNotification': 'create',
        'cuDeviceUnregisterAsyncNotification': 'destroy',
        'cuLogsRegisterCallback': 'create',
        'cuLogsUnregisterCallback': 'destroy',
        'cuLogsDumpToFile': 'query; iterator inout',
        'cuLogsDumpToMemory': 'query; iterator inout; buffer string out [size]; size inout',
        'cuCoredumpGetAttribute': 'query; value bytes out [size]; size inout',
        'cuCoredumpGetAttributeGlobal': 'query; value bytes out [size]; size inout',
        'cuCoredumpSetAttribute': 'state; value bytes in [size]; size in',
        'cuCoredumpSetAttributeGlobal': 'state; value bytes in [size]; size in',
        'cuCheckpointProcessLock': 'state; args in',
        'cuCheckpointProcessCheckpoint': 'state; args in',
        'cuCheckpointProcessRestore': 'state; args in',
        'cuCheckpointProcessUnlock': 'state; args in',
    },
    'nccl': {
        'ncclMemAlloc': 'alloc; ptr devptr out 1',
        'ncclMemFree': 'free; ptr devptr',
        'ncclGetUniqueId': 'query',
        'ncclCommInitRank': 'create',
        'ncclCommInitRankConfig': 'create; config in',
        'ncclCommInitRankScalable': 'create; commIds in nId; config in',
        'ncclCommInitAll': 'create; comm out ndev; devlist in ndev',
        'ncclCommSplit': 'create; config in',
        'ncclCommShrink': 'create; config in; excludeRanksList in excludeRanksCount',
        'ncclCommFinalize': 'sync',
        'ncclCommDestroy': 'destroy',
        'ncclCommAbort': 'destroy',
        'ncclCommRevoke': 'state',
        'ncclCommCount': 'query',
        'ncclCommCuDevice': 'query',
        'ncclCommUserRank': 'query',
        'ncclCommRegister': 'create; buff devptr; handle registration out 1',
        'ncclCommDeregister': 'destroy; handle registration',
        'ncclCommWindowRegister': 'create; buff devptr',
        'ncclCommWindowDeregister': 'destroy',
        'ncclRedOpCreatePreMulSum': 'create; scalar scalar in ?',
        'ncclRedOpDestroy': 'destroy',
        'ncclGroupStart': 'group-begin',
        'ncclGroupEnd': 'group-end',
        'ncclGroupSimulateEnd': 'group-end',
        'ncclAllReduce': 'collective; sendbuff devptr reads count*{datatype}; recvbuff devptr writes count*{datatype}',
        'ncclReduce': 'collective; sendbuff devptr reads count*{datatype}; recvbuff devptr writes count*{datatype}',
        'ncclBcast': 'collective; buff devptr updates count*{datatype}',
        'ncclBroadcast': 'collective; sendbuff devptr reads count*{datatype}; recvbuff devptr writes count*{datatype}',
        'ncclReduceScatter': 'collective; sendbuff devptr reads recvcount*{datatype}*{ranks};'
                             'recvbuff devptr writes recvcount*{datatype}',
        'ncclAllGather': 'collective; sendbuff devptr reads sendcount*{datatype};'
                         'recvbuff devptr writes sendcount*{datatype}*{ranks}',
        'ncclAlltoAll': 'collective; sendbuff devptr reads count*{datatype}*{ranks};'
                        'recvbuff devptr writes count*{datatype}*{ranks}',
        'ncclGather': 'collective; sendbuff devptr reads count*{datatype}; recvbuff devptr writes count*{datatype}*{ranks}',
        'ncclScatter': 'collective; sendbuff devptr reads count*{datatype}*{ranks}; recvbuff devptr writes count*{datatype}',
        'ncclSend': 'p2p; sendbuff devptr reads count*{datatype}',
        'ncclRecv': 'p2p; recvbuff devptr writes count*{datatype}',
    },
    'cublas': {
        'cublasGetVector': 'copy; x reads n*elemSize; y host writes n*elemSize',
        'cublasGetVectorAsync': 'copy; devicePtr reads n*elemSize; hostPtr host writes n*elemSize',
        'cublasSetVector': 'copy; x host reads n*elemSize; devicePtr writes n*elemSize',
        'cublasSetVectorAsync': 'copy; hostPtr host reads n*elemSize; devicePtr writes n*elemSize',
        'cublasGetMatrix': 'copy; A reads ?; B host writes ?',
        'cublasGetMatrixAsync': 'copy; A reads ?; B host writes ?',
        'cublasSetMatrix': 'copy; A host reads ?; B writes ?',
        'cublasSetMatrixAsync': 'copy; A host reads ?; B writes ?',
        'cublasSetWorkspace': 'state; workspace devptr',
        'cublasSetStream': 'state',
        'cublasSetKernelStream': 'state',
        'cublasSetPointerMode': 'state',
        'cublasSetMathMode': 'state',
        'cublasSetAtomicsMode': 'state',
        'cublasSetSmCountTarget': 'state',
        'cublasSetLoggerCallback': 'state',
        'cublasAlloc': 'alloc; devicePtr devptr out 1',
        'cublasFree': 'free; devicePtr devptr',
        'cublasXtDeviceSelect': 'state; deviceId device in nbDevices',
        'cublasXtGetNumBoards': 'query; deviceId device in nbDevices; nbBoards out ?',
        'cublasGetLoggerCallback': 'query',
        'cublasLoggerConfigure': 'state',
        'cublasSetFixedPointEmulationMantissaBitCountPointer': 'state; mantissaBitCount devptr',
        'cublasGetFixedPointEmulationMantissaBitCountPointer': 'query; mantissaBitCount devptr out 1',
        'cublasXtSetCpuRoutine': 'state; blasFunctor callback',
        'cublasXtMaxBoards': 'query',
        'cublasXerbla': 'state',
        'cublasGetError': 'query',
    },
    'cublasLt': {
        'cublasLtCreate': 'create',
        'cublasLtDestroy': 'destroy',
        'cublasLtMatmul': 'gemm; algo in; workspace devptr updates workspaceSizeInBytes',
        'cublasLtMatrixTransform': 'blas',
        'cublasLtEmulationDescSetAttribute': ATTRIBUTE,
        'cublasLtMatmulAlgoConfigSetAttribute': ATTRIBUTE + '; algo inout',
        'cublasLtEmulationDescGetAttribute': GET_ATTRIBUTE,
        'cublasLtMatmulAlgoConfigGetAttribute': GET_ATTRIBUTE,
        'cublasLtMatmulAlgoCapGetAttribute': GET_ATTRIBUTE,
        'cublasLtMatmulAlgoGetHeuristic': 'query; heuristicResultsArray out [returnAlgoCount]',
        'cublasLtMatmulAlgoGetIds': 'query; algoIdsArray out [returnAlgoCount]',
        'cublasLtMatmulAlgoInit': 'query',
        'cublasLtMatmulAlgoCheck': 'query',
    } | {f'cublasLt{thing}{verb}Attribute': f'{kind}; buf struct:cublasLt{thing}Value {direction} sizeInBytes'
         for thing in LT_VALUES for verb, kind, direction in (('Set', 'state', 'in'), ('Get', 'query', 'out'))},
}

# For the many that are alike: patterns of names without version, the first that fits.
PATTERNS = {
    'cuda': [],
    'nccl': [],
    'cublas': [
        (r'cublas(Xt)?Create|cublasInit', 'create'),
        (r'cublas(Xt)?Destroy|cublasShutdown', 'destroy'),
        (r'cublas\w+GroupedBatched(Ex)?', GROUPED),
        (r'cublas(Xt)?\w*[Gg]emm\w*', 'gemm'),
        (r'cublas[SDCZ](getrs|gels)Batched', 'blas; info number out 1'),
        (r'cublas(Xt)?(?!Set)(I[sdcz]|[SDCZ]|Sc|Dz|Cs|Zd)[a-z]\w*', 'blas'),
        (r'cublas[A-Z][a-z0-9]+Ex(_64)?', 'blas'),
    ],
    'cublasLt': [
        (r'cublasLt\w+Create', 'create'),
        (r'cublasLt\w+Destroy', 'destroy'),
    ],
}

# The fields of structs, as arguments are in CALLS. A pointer leads nowhere unless it is said here.
COPY = '; '.join(f'{a}Host host' for a in ('src', 'dst'))
KERNEL = 'kernelParams params in params; extra extra in extra'
SEMAPHORES = 'extSemArray in numExtSems; paramsArray in numExtSems'

STRUCTS = {
    'CUlaunchConfig': 'attrs in numAttrs',
    'CUDA_LAUNCH_PARAMS': 'kernelParams params in params',
    'CUDA_KERNEL_NODE_PARAMS': KERNEL,
    'CUDA_KERNEL_NODE_PARAMS_v1': KERNEL,
    'CUDA_MEMCPY2D': COPY,
    'CUDA_MEMCPY2D_v1': COPY,
    'CUDA_MEMCPY3D': COPY,
    'CUDA_MEMCPY3D_v1': COPY,
    'CUDA_MEMCPY3D_PEER': COPY,
    'CUDA_BATCH_MEM_OP_NODE_PARAMS': 'paramArray in count',
    'CUDA_MEM_ALLOC_NODE_PARAMS': 'accessDescs in accessDescCount',
    'CUDA_EXT_SEM_SIGNAL_NODE_PARAMS': SEMAPHORES,
    'CUDA_EXT_SEM_WAIT_NODE_PARAMS': SEMAPHORES,
    'CUctxCreateParams': 'execAffinityParams in numExecAffinityParams; cigParams in 1',
    'CUgraphNodeParams': 'kernel.kernelParams params in params; kernel.extra extra in extra;'
                         'memcpy.copyParams.srcHost host; memcpy.copyParams.dstHost host;'
                         'extSemSignal.extSemArray in extSemSignal.numExtSems;'
                         'extSemSignal.paramsArray in extSemSignal.numExtSems;'
                         'extSemWait.extSemArray in extSemWait.numExtSems;'
                         'extSemWait.paramsArray in extSemWait.numExtSems;'
                         'alloc.accessDescs in alloc.accessDescCount; memOp.paramArray in memOp.count',
    'CUmemDecompressParams': 'dstActBytes devptr; src devptr; dst devptr',
    'CUlaunchAttribute': 'value.accessPolicyWindow.base_ptr devptr',
    'CUkernelNodeAttrValue': 'accessPolicyWindow.base_ptr devptr',
    'CUstreamAttrValue': 'accessPolicyWindow.base_ptr devptr',
    'CUstreamBatchMemOpParams': 'waitValue.operation left out; writeValue.operation left out;'
                                'flushRemoteWrites.operation left out; memoryBarrier.operation left out;'
                                'waitValue.value left out; writeValue.value left out',
    'ncclConfig_t': 'netName string in nul; commName string in nul',
    'cublasLtMatmulDescValue': '; '.join(f'{name} devptr' for kind, name in lt_members(LT_VALUES['MatmulDesc'][1]) if kind == 'void *'),
}


def sides(tag, **members):
    """What `members` of the source and of the destination need the tag to be."""
    return {f'{side}{member}': (f'{side}{tag}', values) for side in ('src', 'dst') for member, values in members.items()}


MEMORY = sides('MemoryType', Host=['CU_MEMORYTYPE_HOST'], Device=['CU_MEMORYTYPE_DEVICE', 'CU_MEMORYTYPE_UNIFIED'],
               Array=['CU_MEMORYTYPE_ARRAY'])
ATTRIBUTES = {
    'accessPolicyWindow': 'ACCESS_POLICY_WINDOW', 'cooperative': 'COOPERATIVE', 'syncPolicy': 'SYNCHRONIZATION_POLICY',
    'clusterDim': 'CLUSTER_DIMENSION', 'clusterSchedulingPolicyPreference': 'CLUSTER_SCHEDULING_POLICY_PREFERENCE',
    'programmaticStreamSerializationAllowed': 'PROGRAMMATIC_STREAM_SERIALIZATION',
    'programmaticEvent': 'PROGRAMMATIC_EVENT', 'launchCompletionEvent': 'LAUNCH_COMPLETION_EVENT', 'priority': 'PRIORITY',
    'memSyncDomainMap': 'MEM_SYNC_DOMAIN_MAP', 'memSyncDomain': 'MEM_SYNC_DOMAIN',
    'preferredClusterDim': 'PREFERRED_CLUSTER_DIMENSION', 'deviceUpdatableKernelNode': 'DEVICE_UPDATABLE_KERNEL_NODE',
    'sharedMemCarveout': 'PREFERRED_SHARED_MEMORY_CARVEOUT', 'nvlinkUtilCentricScheduling': 'NVLINK_UTIL_CENTRIC_SCHEDULING',
}
NODES = {
    'kernel': 'KERNEL', 'memcpy': 'MEMCPY', 'memset': 'MEMSET', 'host': 'HOST', 'graph': 'GRAPH', 'eventWait': 'WAIT_EVENT',
    'eventRecord': 'EVENT_RECORD', 'extSemSignal': 'EXT_SEMAS_SIGNAL', 'extSemWait': 'EXT_SEMAS_WAIT', 'alloc': 'MEM_ALLOC',
    'free': 'MEM_FREE', 'memOp': 'BATCH_MEM_OP', 'conditional': 'CONDITIONAL',
}
OPERATIONS = {
    'waitValue': ('WAIT_VALUE_32', 'WAIT_VALUE_64'), 'writeValue': ('WRITE_VALUE_32', 'WRITE_VALUE_64'),
    'flushRemoteWrites': ('FLUSH_REMOTE_WRITES',), 'memoryBarrier': ('BARRIER',),
}

ATTRIBUTE_VALUE = {m: ('^attr', [f'CU_LAUNCH_ATTRIBUTE_{v}']) for m, v in ATTRIBUTES.items()}

# Which member of a union counts: {struct: {member: (field that says it, [its values])}}; ^name is an argument of the call.
WHEN = {
    'CUDA_MEMCPY2D': MEMORY, 'CUDA_MEMCPY2D_v1': MEMORY, 'CUDA_MEMCPY3D': MEMORY, 'CUDA_MEMCPY3D_v1': MEMORY,
    'CUDA_MEMCPY3D_PEER': MEMORY,
    'CUDA_MEMCPY3D_BATCH_OP': {f'{side}.op.{member}': (f'{side}.type', [f'CU_MEMCPY_OPERAND_TYPE_{value}'])
                               for side in ('src', 'dst') for member, value in (('ptr', 'POINTER'), ('array', 'ARRAY'))},
    'CUlaunchAttribute': {f'value.{m}': ('id', [f'CU_LAUNCH_ATTRIBUTE_{v}']) for m, v in ATTRIBUTES.items()},
    'CUstreamAttrValue': ATTRIBUTE_VALUE, 'CUkernelNodeAttrValue': ATTRIBUTE_VALUE,
    'CUgraphNodeParams': {f'memcpy.copyParams.{m}': (f'memcpy.copyParams.{t}', v) for m, (t, v) in MEMORY.items()} | {
        m: ('type', [f'CU_GRAPH_NODE_TYPE_{v}']) for m, v in NODES.items()},
    'CUstreamBatchMemOpParams': {m: ('operation', [f'CU_STREAM_MEM_OP_{v}' for v in vs]) for m, vs in OPERATIONS.items()},
    'CUDA_RESOURCE_DESC': {f'res.{m}': ('resType', [f'CU_RESOURCE_TYPE_{v}']) for m, v in (
        ('array', 'ARRAY'), ('mipmap', 'MIPMAPPED_ARRAY'), ('linear', 'LINEAR'), ('pitch2D', 'PITCH2D'))},
    'CUdevResource': {'sm': ('type', ['CU_DEV_RESOURCE_TYPE_SM'])},
    'CUexecAffinityParam': {'param.smCount': ('type', ['CU_EXEC_AFFINITY_TYPE_SM_COUNT'])},
    'CUarrayMapInfo': {
        'resource.mipmap': ('resourceType', ['CU_RESOURCE_TYPE_MIPMAPPED_ARRAY']),
        'resource.array': ('resourceType', ['CU_RESOURCE_TYPE_ARRAY']),
        'subresource.sparseLevel': ('subresourceType', ['CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL']),
        'subresource.miptail': ('subresourceType', ['CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL']),
    },
} | {f'cublasLt{thing}Value': {name: ('^attr', [start + name]) for _, name in lt_members(types)}
     for thing, (start, types) in LT_VALUES.items()}
