// CPython's headers, the internal one of frames included. Only this folder includes the internal one.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#include <Python.h>
#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#include <frameobject.h>
#endif
#include <opcode.h>
#pragma GCC diagnostic pop

#if PY_VERSION_HEX >= 0x030d0000
// Exported, but declared in a header that is no C++.
extern "C" PyAPI_FUNC(int) _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);
#endif

// The versions whose frames are known (frame.h).
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030e0000 && !defined(Py_GIL_DISABLED)
#define CRESSET_KNOWS_FRAMES 1
#else
#define CRESSET_KNOWS_FRAMES 0
#endif
