# SPDX-License-Identifier: Apache-2.0
"""Facts that headers omit: meanings of struct fields, and which member of a union is valid."""

# Types of cuBLASLt attributes, from the comments of its header: {object: (how their names begin, {type: attributes})}.
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

# The fields of structs, as arguments are in CALLS of meaning.py. A pointer leads nowhere unless it is said here.
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
