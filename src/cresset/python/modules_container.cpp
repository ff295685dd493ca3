// Modules as containers: ModuleList, Sequential, ModuleDict, ParameterList and ParameterDict; and what every module can
// be asked for, such as `children()`.
//
// What a container holds is known when code is compiled, and each element has a type of its own. So loops over it are
// unrolled, and an index must be a constant; unless the program says which interface all elements have: then the
// element is found when the program runs.
#include "cresset/frontend/iterables.h"
#include "cresset/ir/constants.h"
#include "cresset/python/modules_value.h"

#include "cresset/frontend/calls.h"

namespace cresset::python {

namespace {

using Container = ModuleInfo::Container;

/// `m.children`: a call returns the elements, which are known already.
class MembersFunction final : public SugaredValue {
 public:
  MembersFunction(std::string name, SugaredValuePtr elements)
      : name_(std::move(name)), elements_(std::move(elements)) {}
  std::string kind() const override { return "method '" + name_ + "'"; }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext&, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t) override {
    if (!args.empty() || !kwargs.empty()) throw UserError(name_ + " method does not accept any arguments", range);
    return elements_;
  }

 private:
  std::string name_;
  SugaredValuePtr elements_;
};

using Members = std::vector<std::pair<std::string, SugaredValuePtr>>;

SugaredValuePtr keysOf(EmitContext& cx, const Members& members) {
  std::vector<SugaredValuePtr> keys;
  for (const auto& member : members) keys.push_back(plainValue(cx.graph.insertConstant(member.first)));
  return std::make_shared<SugaredTuple>(std::move(keys));
}

SugaredValuePtr valuesOf(const Members& members) {
  std::vector<SugaredValuePtr> values;
  for (const auto& member : members) values.push_back(member.second);
  return std::make_shared<SugaredTuple>(std::move(values));
}

SugaredValuePtr itemsOf(EmitContext& cx, const Members& members) {
  std::vector<SugaredValuePtr> items;
  for (const auto& member : members) {
    std::vector<SugaredValuePtr> item{plainValue(cx.graph.insertConstant(member.first)), member.second};
    items.push_back(std::make_shared<SugaredTuple>(std::move(item)));
  }
  return std::make_shared<SugaredTuple>(std::move(items));
}

std::string below(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

}  // namespace

bool ModuleValue::isKeyed() const {
  return info_.container == Container::Dict || info_.container == Container::ParameterDict;
}

bool ModuleValue::isPlain(const std::string& name) const {
  return info_.container != Container::None && !info_.overridden.contains(name);
}

void ModuleValue::requireContainer(const SourceRange& range) const {
  if (info_.container != Container::None) return;
  throw UserError(
      "Only constant Sequential, ModuleList, ModuleDict, ParameterList or ParameterDict can be used as an iterable; '" +
          info_.type->name()->name() + "' is none",
      range);
}

ModuleValue::Members ModuleValue::items(const SourceRange& range, EmitContext& cx) {
  Members members;
  for (const std::string& name : info_.items) members.emplace_back(name, member(range, cx, name));
  return members;
}

void ModuleValue::collectModules(const SourceRange& range, EmitContext& cx, const std::string& prefix, Members& found) {
  found.emplace_back(prefix, shared_from_this());
  for (const std::string& name : info_.submodules) {
    SugaredValuePtr child = member(range, cx, name);
    if (auto* module = dynamic_cast<ModuleValue*>(child.get())) {
      module->collectModules(range, cx, below(prefix, name), found);
    } else {
      found.emplace_back(below(prefix, name), child);  // an interface, or of an archive: nothing more is known of it
    }
  }
}

ModuleValue::Members ModuleValue::tensors(const SourceRange& range, EmitContext& cx, bool parameters) {
  Members modules, found;
  collectModules(range, cx, "", modules);
  for (const auto& [prefix, module] : modules) {
    Value* value = module->asValue(range, cx);
    auto cls = value->type()->cast<c10::ClassType>();
    if (!cls) throw UserError("The tensors of a module whose class is an interface are not known", range);
    for (size_t slot = 0; slot < cls->numAttributes(); ++slot) {
      if (!(parameters ? cls->is_parameter(slot) : cls->is_buffer(slot))) continue;
      if (cls->getAttribute(slot)->kind() == c10::TypeKind::NoneType) continue;
      const std::string& name = cls->getAttributeName(slot);
      found.emplace_back(below(prefix, name), SimpleValue(value).attr(range, cx, name));
    }
  }
  return found;
}

/// The methods that return what is below a module. They are known when code is compiled, so they can be iterated like
/// tuples. A module that occurs twice is returned twice.
SugaredValuePtr ModuleValue::membersFunction(const SourceRange& range, EmitContext& cx, const std::string& name) {
  const auto returning = [&](SugaredValuePtr elements) {
    return std::make_shared<MembersFunction>(name, std::move(elements));
  };
  if (isKeyed()) {
    if (name == "keys") return returning(keysOf(cx, items(range, cx)));
    if (name == "values") return returning(valuesOf(items(range, cx)));
    if (name == "items") return returning(itemsOf(cx, items(range, cx)));
  }
  if (name == "children" || name == "named_children") {
    Members members;
    for (const std::string& child : info_.submodules) members.emplace_back(child, member(range, cx, child));
    return returning(name == "children" ? valuesOf(members) : itemsOf(cx, members));
  }
  if (name == "modules" || name == "named_modules") {
    Members members;
    collectModules(range, cx, "", members);
    return returning(name == "modules" ? valuesOf(members) : itemsOf(cx, members));
  }
  if (name == "parameters" || name == "buffers") return returning(valuesOf(tensors(range, cx, name == "parameters")));
  if (name == "named_parameters" || name == "named_buffers")
    return returning(itemsOf(cx, tensors(range, cx, name == "named_parameters")));
  return nullptr;
}

std::vector<SugaredValuePtr> ModuleValue::asTuple(
    const SourceRange& range, EmitContext& cx, std::optional<size_t> size_hint) {
  return iter(range, cx)->asTuple(range, cx, size_hint);
}

Value* ModuleValue::len(const SourceRange& range, EmitContext& cx) {
  if (!isPlain("__len__")) {
    if (auto method = findAttr(range, cx, "__len__")) return method->call(range, cx, {}, {}, 1)->asValue(range, cx);
    requireContainer(range);
  }
  return cx.graph.insertConstant(static_cast<int64_t>(info_.items.size()));
}

SugaredValuePtr ModuleValue::iter(const SourceRange& range, EmitContext& cx) {
  requireContainer(range);
  if (!isPlain("__iter__")) {
    throw UserError(
        "the class of " + kind() +
            " says in Python what it iterates over, which scripts have no iterators for. Give it a method that returns "
            "a list, and iterate over that",
        range);
  }
  const Members members = items(range, cx);
  return isKeyed() ? keysOf(cx, members) : valuesOf(members);
}

SugaredValuePtr ModuleValue::getItem(
    const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) {
  if (!isPlain("__getitem__")) {
    if (auto method = findAttr(range, cx, "__getitem__"))
      return method->call(range, cx, {NamedValue(index, range)}, {}, 1);
    throw UserError(
        "Only ModuleList, Sequential, ModuleDict, ParameterList, and ParameterDict modules are subscriptable", range);
  }
  const auto known = toIValue(index);
  if (!known) return dynamicItem(range, cx, index, type_hint);
  if (isKeyed()) {
    if (!known->isString()) throw UserError("the keys of a " + kind() + " are strings", range);
    const std::string& key = known->toStringRef();
    for (const std::string& name : info_.items) {
      if (name == key) return member(range, cx, name);
    }
    throw UserError("Key Error, " + key, range);
  }
  if (!known->isInt()) throw UserError("the index of a " + kind() + " is an int or a slice", range);
  const auto size = static_cast<int64_t>(info_.items.size());
  const int64_t i = known->toInt();
  if (i < -size || i >= size) {
    throw UserError(
        "Index " + std::to_string(i) + " out of range of length " + std::to_string(size) + " of the " + kind(), range);
  }
  return member(range, cx, info_.items[static_cast<size_t>(i < 0 ? i + size : i)]);
}

/// An element by a value that is known only when the program runs.
SugaredValuePtr ModuleValue::dynamicItem(
    const SourceRange& range, EmitContext& cx, Value* index, const TypePtr& type_hint) {
  const bool is_modules = info_.container == Container::List || info_.container == Container::Dict;
  if (!is_modules || !type_hint) {
    throw UserError(
        isKeyed()
            ? "Unable to extract string literal index. ModuleDict indexing is only supported with string literals. For "
              "example, 'i = \"a\"; self.layers[i](x)' will fail because i is not a literal. Enumeration of ModuleDict "
              "is supported, e.g. 'for k, v in self.items(): ...'. Or annotate the variable that takes the element "
              "with the module interface of all elements"
            : "Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is "
              "only supported with integer "
              "literals. For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. Enumeration is "
              "supported, e.g. 'for index, v in enumerate(self): out = v(inp)'. Or annotate the variable that takes "
              "the element with the module interface of all elements",
        range);
  }
  return plainValue(insertModuleItem(range, cx, self_, index, type_hint));
}

bool ModuleValue::contains(const SourceRange& range, EmitContext& cx, Value*& result, Value* element) {
  if (!isPlain("__contains__")) {
    if (auto method = findAttr(range, cx, "__contains__")) {
      result = method->call(range, cx, {NamedValue(element, range)}, {}, 1)->asValue(range, cx);
      return true;
    }
    requireContainer(range);
  }
  if (!isKeyed()) throw UserError("`in` asks a ModuleDict or ParameterDict for a key; " + kind() + " has none", range);
  c10::impl::GenericList names(c10::StringType::get());
  for (const std::string& name : info_.items) names.push_back(name);
  Value* list = cx.graph.insertConstant(c10::IValue(names), c10::ListType::create(c10::StringType::get()));
  return SimpleValue(list).contains(range, cx, result, element);
}

}  // namespace cresset::python
