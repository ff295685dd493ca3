// What builtin names mean: Python's builtin functions, and the members of `torch`, `math` and the namespaces in them.
// Internal to frontend/.
#pragma once

#include <string>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// The meaning of a name that stands alone: `len`, `torch`, `ValueError`, `inf`. Null if it has none.
SugaredValuePtr builtinGlobal(const std::string& name, const SourceRange& range, EmitContext& cx);

/// A namespace by its dotted path: "torch", "torch.nn.functional", "math". Its members are the rows of its tables, then
/// the operators that its naming rule derives ("torch.linalg" + "norm" is aten::linalg_norm).
class BuiltinModule : public SugaredValue {
 public:
  explicit BuiltinModule(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  std::string kind() const override { return "module '" + path_ + "'"; }
  std::string missingAttr(const std::string& name) const override;
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;

 private:
  std::string path_;
};

/// The operator that a Python function of this dotted name is: "torch.fft.fft" -> "aten::fft_fft". "" if it is none.
std::string operatorOfFunction(const std::string& module, const std::string& name);

/// Whether `torch.NAME` is the operator aten::NAME, and nothing else that is called so (a dtype, a type, a module).
bool isOperatorOfTorch(const std::string& name);

}  // namespace cresset
