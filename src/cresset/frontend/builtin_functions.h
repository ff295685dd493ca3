// Builtin functions that are more than one operator: conversions, print, torch.device. Internal to frontend/.
#pragma once

#include <string>

#include "cresset/frontend/iterables.h"
#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// A builtin by its Python name that is an operator, or a special method if the first argument is an object that
/// has one (`round(x)` is `x.__round__()`).
class OperatorFunction : public SugaredValue {
 public:
  OperatorFunction(std::string name, std::string op) : name_(std::move(name)), op_(std::move(op)) {}
  std::string kind() const override { return "builtin function '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  std::string name_, op_;
};

/// `int`, `float`, `bool`, `complex`, `str`: types that convert when they are called. Null for other names.
SugaredValuePtr castFunction(const std::string& name);

class PrintFunction : public SugaredValue {
 public:
  std::string kind() const override { return "builtin function 'print'"; }
  bool formatsArguments(size_t) const override { return true; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;
};

/// `torch.device`: a type, and a function whose result is a constant if its arguments are.
class DeviceFunction : public SugaredValue {
 public:
  std::string kind() const override { return "torch.device"; }
  TypePtr asType() const override { return c10::DeviceObjType::get(); }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;
};

/// A builtin type by name; a call is the operator `op`, if there is one.
class TypeValue : public SugaredValue {
 public:
  TypeValue(std::string name, TypePtr type, std::string op)
      : name_(std::move(name)), type_(std::move(type)), op_(std::move(op)) {}
  std::string kind() const override { return "type '" + name_ + "'"; }
  TypePtr asType() const override { return type_; }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

 private:
  std::string name_;
  TypePtr type_;
  std::string op_;
};

}  // namespace cresset
