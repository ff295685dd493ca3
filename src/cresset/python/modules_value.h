// What a module means in the code of a module: more than its value, because its Python class is known.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cresset/frontend/sugared_value.h"
#include "cresset/python/modules.h"

namespace cresset::python {

/// A value of a class that comes from an nn.Module. Attributes, constants and compiled methods are the class's; further
/// methods of the Python class are compiled when they are first asked for; containers are iterated and indexed.
class ModuleValue final : public SugaredValue {
 public:
  ModuleValue(Value* self, const ModuleInfo& info) : self_(self), info_(info) {}

  std::string kind() const override;
  std::string missingAttr(const std::string& name) const override;
  Value* asValue(const SourceRange&, EmitContext&) override { return self_; }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override;
  void setAttr(const SourceRange& range, EmitContext& cx, const std::string& name, Value* value) override;
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override;

  /// As `call`, whatever __call__ the class defines.
  SugaredValuePtr callForward(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders);

  // Containers.
  std::vector<SugaredValuePtr> asTuple(
      const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint = {}) override;
  Value* len(const SourceRange& range, EmitContext& cx) override;
  SugaredValuePtr getItem(
      const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint = TypePtr()) override;
  bool contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element) override;
  SugaredValuePtr iter(const SourceRange& range, EmitContext& cx) override;

 private:
  using Members = std::vector<std::pair<std::string, SugaredValuePtr>>;

  SugaredValuePtr attributeOfClass(const SourceRange& range, EmitContext& cx, const std::string& name);
  SugaredValuePtr member(const SourceRange& range, EmitContext& cx, const std::string& name);
  SugaredValuePtr pythonAttribute(const SourceRange& range, EmitContext& cx, const std::string& name);
  SugaredValuePtr membersFunction(const SourceRange& range, EmitContext& cx, const std::string& name);
  Members items(const SourceRange& range, EmitContext& cx);
  /// The submodules below, itself first; `prefix` is its own name.
  void collectModules(const SourceRange& range, EmitContext& cx, const std::string& prefix, Members& found);
  Members tensors(const SourceRange& range, EmitContext& cx, bool parameters);
  bool isKeyed() const;
  /// Whether the contents are those of torch's container, as far as the method `name` tells.
  bool isPlain(const std::string& name) const;
  void requireContainer(const SourceRange& range) const;
  SugaredValuePtr dynamicItem(const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type);

  Value* self_;
  const ModuleInfo& info_;
};

inline SugaredValuePtr plainValue(Value* value) {
  return std::make_shared<SimpleValue>(value);
}
/// `value` as a ModuleValue if it is of a class that comes from an nn.Module, else as a plain value.
SugaredValuePtr moduleOrValue(Value* value);

}  // namespace cresset::python
