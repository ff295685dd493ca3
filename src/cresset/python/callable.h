// ScriptFunction and ScriptMethod as C lays them out: what callable.cpp, which calls them, shares with
// callable_attributes.cpp.
#pragma once

#include <ATen/core/function_schema.h>

#include <memory>
#include <optional>
#include <vector>

#include "cresset/python/common.h"

namespace cresset::python {

struct Parameter {
  PyObject* name;  // interned, owned
  TypePtr type;
  std::optional<IValue> default_value;
  bool keyword_only;
  bool is_tensor;
  bool may_hold_tensors;
  std::optional<int32_t> count;  // of a list for which one number stands for so many (int[2])
};

/// A function's schema in the form that binding wants.
struct Signature {
  std::vector<Parameter> parameters;
  TypePtr return_type;
  const c10::FunctionSchema* schema;
};

/// What a callable calls. `self` is null for functions.
struct Target {
  std::shared_ptr<Program> program;
  ObjectPtr self;
  Function* function;
  std::unique_ptr<Signature> signature;
  std::shared_ptr<const Executable> executable;  // what runs instead of the function; mostly null
  bool is_exact = false;                         // calls have eager PyTorch's bits
};

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* dict;
  Target* target;
};

inline Callable* asCallable(PyObject* object) {
  return reinterpret_cast<Callable*>(object);
}

/// Compiles the body if its result is not known without. The GIL is held.
const c10::FunctionSchema& schemaOf(Function& function);

// callable_attributes.cpp: tables that end with an empty entry.
PyGetSetDef* callableGetters();
PyMethodDef* callableMethods();
PyObject* representCallable(PyObject* self);

}  // namespace cresset::python
