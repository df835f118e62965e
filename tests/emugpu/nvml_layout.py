#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvml_layout.py FOLDER[:FOLDER]... -- COMPILER...: <nvml.h> of each has the same sizes, offsets and values. One is NVIDIA's,
another one is replay/emugpu/nvml/fallback."""
import os
import subprocess
import sys
import tempfile

# Types, with the fields of structs.
TYPES = '''
nvmlMemory_t total free used
nvmlMemory_v2_t version total reserved free used
nvmlDevice_t
nvmlIntNvLinkDeviceType_t
nvmlPciInfo_t busIdLegacy domain bus device pciDeviceId pciSubSystemId busId
nvmlUtilization_t gpu memory
nvmlClockType_t
nvmlTemperatureSensors_t
nvmlProcessInfo_v1_t pid usedGpuMemory
nvmlProcessInfo_v2_t pid usedGpuMemory gpuInstanceId computeInstanceId
nvmlProcessInfo_t
nvmlGpuFabricInfo_v2_t version clusterUuid status cliqueId state healthMask
nvmlGpuFabricInfo_v3_t healthMask healthSummary
nvmlGpuFabricInfoV_t
'''
VALUES = '''
NVML_API_VERSION NVML_DEVICE_UUID_BUFFER_SIZE
NVML_SUCCESS NVML_ERROR_UNINITIALIZED NVML_ERROR_INVALID_ARGUMENT NVML_ERROR_NOT_SUPPORTED NVML_ERROR_NOT_FOUND
NVML_ERROR_INSUFFICIENT_SIZE NVML_ERROR_DRIVER_NOT_LOADED NVML_ERROR_LIBRARY_NOT_FOUND
NVML_ERROR_ARGUMENT_VERSION_MISMATCH NVML_ERROR_UNKNOWN
nvmlMemory_v2 nvmlGpuFabricInfo_v2 nvmlGpuFabricInfo_v3 NVML_GPU_FABRIC_STATE_NOT_SUPPORTED
NVML_CLOCK_GRAPHICS NVML_CLOCK_SM NVML_CLOCK_MEM NVML_CLOCK_VIDEO NVML_TEMPERATURE_GPU
'''
PROGRAM = '''#include <nvml.h>
#include <stddef.h>
#include <stdio.h>

int main(void)
{
%s}
'''


def program():
    numbers = {name: name for name in VALUES.split()}
    for name, *fields in map(str.split, TYPES.strip().splitlines()):
        numbers[name] = f'sizeof({name})'
        for field in fields:
            numbers[f'{name}.{field}'] = f'offsetof({name}, {field})'
            numbers[f'size of {name}.{field}'] = f'sizeof((({name} *)0)->{field})'
    return PROGRAM % ''.join(f'\tprintf("{name}: %lu\\n", (unsigned long)({number}));\n'
                             for name, number in numbers.items())


def layout(folder, compiler):
    with tempfile.TemporaryDirectory() as work:
        built = os.path.join(work, 'program')
        include = [f'-I{part}' for part in folder.split(':')]
        subprocess.run([*compiler, *include, '-x', 'c', '-', '-o', built], input=program(), text=True, check=True)
        return subprocess.run([built], capture_output=True, text=True, check=True).stdout


def main():
    end = sys.argv.index('--')
    folders, compiler = sys.argv[1:end], sys.argv[end + 1:]
    if len(folders) < 2:
        print('skipped: the only nvml.h is that of replay/emugpu/nvml/fallback')
        sys.exit(77)
    layouts = [layout(folder, compiler) for folder in folders]
    assert layouts[0] and all(found == layouts[0] for found in layouts), '\n'.join(layouts)


if __name__ == '__main__':
    main()
