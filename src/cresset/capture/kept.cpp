#include "cresset/capture/kept.h"

#include <string_view>
#include <utility>
#include <vector>

namespace cresset::capture {
namespace {

/// The dict of results that a function has, which is another than the one of its attributes.
struct CacheFinder {
  PyObject* attributes;
  PyObject* cache = nullptr;  // borrowed

  static int visit(PyObject* object, void* self) {
    auto* finder = static_cast<CacheFinder*>(self);
    if (PyDict_CheckExact(object) && object != finder->attributes) finder->cache = object;
    return 0;
  }
};

/// Key, result and class of each element of a bounded cache, which come in this order.
struct ElementFinder {
  PyTypeObject* kind;
  std::vector<PyObject*> last = std::vector<PyObject*>(2);  // borrowed
  std::vector<std::pair<PyObject*, PyObject*>> found;

  static int visit(PyObject* object, void* self) {
    auto* finder = static_cast<ElementFinder*>(self);
    if (object == reinterpret_cast<PyObject*>(finder->kind) && finder->last[0] != nullptr) {
      finder->found.emplace_back(finder->last[0], finder->last[1]);
    }
    finder->last = {finder->last[1], object};
    return 0;
  }
};

/// As functools makes it of positional arguments.
PyObject* keyOf(PyObject* given, bool by_class) {
  const Py_ssize_t count = PyTuple_GET_SIZE(given);
  if (!by_class) {
    PyObject* first = count == 1 ? PyTuple_GET_ITEM(given, 0) : nullptr;
    return Py_NewRef(first != nullptr && (PyUnicode_CheckExact(first) || PyLong_CheckExact(first)) ? first : given);
  }
  PyObject* key = PyTuple_New(2 * count);
  for (Py_ssize_t i = 0; key != nullptr && i < count; i++) {
    PyObject* each = PyTuple_GET_ITEM(given, i);
    PyTuple_SET_ITEM(key, i, Py_NewRef(each));
    PyTuple_SET_ITEM(key, count + i, Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(each))));
  }
  return key;
}

PyObject* resultOf(PyObject* function, PyObject* key) {
  traverseproc traverse = Py_TYPE(function)->tp_traverse;
  if (traverse == nullptr) return PyErr_Format(PyExc_TypeError, "a function of functools.lru_cache is wanted");
  PyObject** attributes = _PyObject_GetDictPtr(function);
  CacheFinder finder{attributes == nullptr ? nullptr : *attributes};
  traverse(function, CacheFinder::visit, &finder);
  if (finder.cache == nullptr) return PyErr_Format(PyExc_TypeError, "a function of functools.lru_cache is wanted");
  PyObject* result = PyDict_GetItemWithError(finder.cache, key);
  if (result == nullptr) return PyErr_Occurred() ? nullptr : PyTuple_New(0);
  if (std::string_view(Py_TYPE(result)->tp_name) != "functools._lru_list_elem") return PyTuple_Pack(1, result);
  ElementFinder elements{Py_TYPE(result)};
  traverse(function, ElementFinder::visit, &elements);
  for (const auto& [known, kept] : elements.found) {
    if (Py_TYPE(known) != Py_TYPE(key)) continue;
    const int is_same = PyObject_RichCompareBool(known, key, Py_EQ);
    if (is_same < 0) return nullptr;
    if (is_same != 0) return PyTuple_Pack(1, kept);
  }
  return PyTuple_New(0);
}

PyObject* find(PyObject* arguments, bool by_class) {
  PyObject *function = nullptr, *given = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO!", &function, &PyTuple_Type, &given)) return nullptr;
  PyObject* key = keyOf(given, by_class);
  PyObject* result = key == nullptr ? nullptr : resultOf(function, key);
  Py_XDECREF(key);
  return result;
}

}  // namespace

PyObject* kept(PyObject*, PyObject* arguments) {
  return find(arguments, false);
}

PyObject* keptByClass(PyObject*, PyObject* arguments) {
  return find(arguments, true);
}

}  // namespace cresset::capture
