/* SPDX-License-Identifier: Apache-2.0 */

/* The effect of an API call on timing: whether it launches, waits or synchronises. */
#pragma once

enum infer_api_class {
	INFER_API_OTHER,	/* none besides its duration */
	INFER_API_RECORD_EVENT, /* event record */
	INFER_API_STREAM_WAIT,	/* a stream will wait for an event */
	INFER_API_STREAM_SYNC,	/* the host waits for a stream */
	INFER_API_EVENT_SYNC,	/* the host waits for an event */
	INFER_API_DEVICE_SYNC,	/* the host waits for the whole device */
	INFER_API_MAY_SYNC, /* the host waits for the whole device, unless the run shows otherwise
			     */
	INFER_API_POLL,	    /* asks whether a stream or event is complete */
	INFER_API_GRAPH,    /* launches a graph: several operations */
	INFER_API_COPY,	    /* copies; the host may wait for it */
};

/* Classifies a function of the CUDA runtime, the CUDA driver or HIP by name. */
enum infer_api_class infer_classify_api(const char *name);
