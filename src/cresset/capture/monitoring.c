/* In C, as CPython's internal header of interpreters is none of C++. */
#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#include <Python.h>
#if PY_VERSION_HEX >= 0x030c0000
#include <internal/pycore_interp.h>
#endif
#pragma GCC diagnostic pop

#include "cresset/capture/monitoring.h"

int cresset_is_watched(void* code) {
  PyThreadState* thread = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030c0000
  PyCodeObject* watched = code;
#if PY_VERSION_HEX >= 0x030d0000
  /* The low byte holds requests to the thread, the rest the version of what all tools ask for. */
  uintptr_t version = thread->eval_breaker & ~(uintptr_t)0xff;
#else
  uint64_t version = thread->interp->monitoring_version;
#endif
  /* RESUME changes the code to what tools ask for, in frames that CPython's evaluator begins. */
  if (watched->_co_instrumentation_version != version) return 1;
  if (watched->_co_monitoring == NULL) return 0;
  const unsigned char* tools = (const unsigned char*)&watched->_co_monitoring->active_monitors;
  for (size_t i = 0; i < sizeof(watched->_co_monitoring->active_monitors); i++) {
    if (tools[i]) return 1;
  }
  return 0;
#else
  (void)code;
  return thread->cframe->use_tracing != 0;
#endif
}
