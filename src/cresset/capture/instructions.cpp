#include "cresset/capture/instructions.h"

#if CRESSET_KNOWS_FRAMES
#include <array>

namespace cresset::capture {
namespace {

std::array<int, 256> cache_sizes = {};

#if PY_VERSION_HEX >= 0x030b0000
bool readCacheSize(PyObject* sizes, PyObject* name, int opcode) {
  PyObject* size = nullptr;  // borrowed
  if (PyDict_Check(sizes)) {
    size = PyDict_GetItemWithError(sizes, name);
    if (size == nullptr) return PyErr_Occurred() == nullptr;
  } else {
    size = PyList_GetItem(sizes, opcode);
    if (size == nullptr) return false;
  }
  cache_sizes[size_t(opcode)] = int(PyLong_AsLong(size));
  return PyErr_Occurred() == nullptr;
}
#endif

}  // namespace

bool readCacheSizes() {
#if PY_VERSION_HEX >= 0x030b0000
  PyObject* module = PyImport_ImportModule("opcode");
  if (module == nullptr) return false;
  PyObject* sizes = PyObject_GetAttrString(module, "_inline_cache_entries");
  PyObject* names = PyObject_GetAttrString(module, "opname");
  bool read = sizes != nullptr && names != nullptr;
  for (int opcode = 0; read && opcode < 256; opcode++) {
    PyObject* name = PyList_GetItem(names, opcode);
    read = name != nullptr && readCacheSize(sizes, name, opcode);
  }
  Py_XDECREF(sizes);
  Py_XDECREF(names);
  Py_DECREF(module);
  return read;
#else
  return true;
#endif
}

Instructions::Instructions(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030b0000
  PyObject* bytes = PyCode_GetCode(code);
#else
  PyObject* bytes = Py_NewRef(code->co_code);
#endif
  if (bytes == nullptr) {  // no memory: a code of no instructions is not run here
    PyErr_Clear();
    return;
  }
  const auto* units = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes));
  int size = int(PyBytes_GET_SIZE(bytes) / 2);
  index_.assign(size_t(size), -1);
  int start = 0, prefix = 0;
  for (int position = 0; position < size;) {
    const unsigned char* unit = units + 2 * size_t(position);
    int opcode = unit[0];
    int argument = prefix << 8 | unit[1];
    index_[size_t(position)] = int(instructions_.size());
    if (opcode == EXTENDED_ARG) {
      prefix = argument;
      position++;
      continue;
    }
    int next = position + 1 + cache_sizes[size_t(opcode)];
    instructions_.push_back({start, position, next, opcode, argument});
    start = position = next;
    prefix = 0;
  }
  Py_DECREF(bytes);
}

}  // namespace cresset::capture
#endif
