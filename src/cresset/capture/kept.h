// What a function keeps that `functools.lru_cache` has made, found without a call of it: a call counts, and orders what
// is kept. Its own traversal for the collector shows what it holds.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

/// (function, tuple of arguments): a tuple of the result that is kept for these, which are numbers, texts and the like;
/// an empty one if there is none. `keptByClass` of a function that tells arguments of different classes apart. Null
/// with an exception set if it is no such function.
PyObject* kept(PyObject* module, PyObject* arguments);
PyObject* keptByClass(PyObject* module, PyObject* arguments);

}  // namespace cresset::capture
