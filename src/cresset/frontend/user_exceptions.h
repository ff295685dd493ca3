// Exception classes that programs define, and C++ functions as callees. Internal to frontend/.
//
// An exception class has no values in a graph: `raise` needs only its name. A Program holds it as a class type without
// attributes that carries a mark, so that names resolve to it as to any type.
#pragma once

#include <optional>
#include <string>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// Marks `type` as an exception class; `python_class` is what ScriptError::pythonClass() says when it is raised.
void markException(const c10::ClassTypePtr& type, const std::string& python_class);
std::optional<std::string> exceptionClassOf(const c10::Type& type);

/// A static method of a C++ class (TORCH_LIBRARY): a function that belongs to no Program.
class ForeignFunction : public SugaredValue {
 public:
  explicit ForeignFunction(torch::jit::Function* function) : function_(function) {}
  std::string kind() const override { return "function"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  torch::jit::Function* function_;
};

}  // namespace cresset
