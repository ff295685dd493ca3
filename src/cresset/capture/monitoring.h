// Whether a debugger, profiler or coverage tool watches a code object.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Whether tools watch what this code object does on this thread, or whether CPython has yet to find out. Needs the
/// GIL.
int cresset_is_watched(void* code);

#ifdef __cplusplus
}
#endif
