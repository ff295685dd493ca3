// What Python calls for a captured function: the class that those of compiled functions and of compiled modules'
// `forward` derive from. In C because a small function's call has little time to lose.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

/// Adds the class Caller to a module: Caller(target, options, watchers).
///
/// `target` is what is called: a function, a method or another callable; if `of_class`, an object whose class has a
/// function `forward`, which is bound to it. `options` has the attributes `cache_limit`, `is_simple` (nothing is to be
/// done after calls) and, if that is false, `call(callable, args, kwargs, code)`, which captures; it also makes the
/// recorders. `watchers` is a tuple of functions of no arguments: while one returns something true, or raises, calls
/// run plainly. `is_off`, a function of no arguments, says the same for ever, at the first call. False with an
/// exception set.
bool addCallerClass(PyObject* module);

/// Lets calls of a class that derives from Caller, and has no `__call__` of its own, go without a tuple of arguments
/// (CPython 3.11 doesn't inherit that). The module's function call_directly(class).
PyObject* callDirectly(PyObject* module, PyObject* kind);

}  // namespace cresset::capture
