// Module: what it lists, registers and sets. Attributes and methods are Object's (object.cpp).
#include "cresset/module/module.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <unordered_set>

#include "cresset/module/values.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

std::string className(const c10::ClassType& type) {
  return type.name() ? type.name()->qualifiedName() : std::string("class");
}

/// Class names always have a prefix, so that a class and a builtin type never share a name.
c10::QualifiedName nameOfClass(const c10::QualifiedName& name) {
  return name.prefix().empty() ? c10::QualifiedName("__torch__", name.name()) : name;
}

bool isModuleObject(const IValue& value) {
  return value.isObject() && value.toObject()->type()->is_module();
}

/// Calls `visit(prefix, object, slot, class)` for each slot of `module`, and of its submodules if `recurse`, parents
/// first, each module once. `prefix` ends with a dot unless it is empty.
template <typename Visit>
void visitSlots(const ObjectPtr& module, bool recurse, const Visit& visit) {
  struct Entry {
    std::string prefix;
    ObjectPtr object;
  };
  // Own stack, reversed children: modules may nest deeper than the C++ stack likes.
  std::vector<Entry> pending{{"", module}};
  std::unordered_set<const void*> seen;
  while (!pending.empty()) {
    Entry entry = std::move(pending.back());
    pending.pop_back();
    if (!seen.insert(entry.object.get()).second) continue;
    auto type = entry.object->type();
    std::vector<Entry> children;
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      visit(entry.prefix, *entry.object, slot, *type);
      if (!recurse) continue;
      auto kind = type->getAttribute(slot)->kind();
      if (kind != c10::TypeKind::ClassType && kind != c10::TypeKind::InterfaceType) continue;
      IValue value = readSlot(*entry.object, slot);
      if (isModuleObject(value))
        children.push_back({entry.prefix + type->getAttributeName(slot) + ".", value.toObject()});
    }
    pending.insert(pending.end(), std::make_move_iterator(children.rbegin()), std::make_move_iterator(children.rend()));
  }
}

template <typename Wanted>
std::vector<Named<at::Tensor>> collectTensors(const ObjectPtr& module, bool recurse, const Wanted& wanted) {
  std::vector<Named<at::Tensor>> result;
  std::unordered_set<const void*> seen;
  visitSlots(
      module, recurse,
      [&](const std::string& prefix, c10::ivalue::Object& object, size_t slot, const c10::ClassType& type) {
        if (!wanted(type, slot)) return;
        IValue value = readSlot(object, slot);
        if (!value.isTensor() || !value.toTensor().defined()) return;
        if (!seen.insert(value.toTensor().unsafeGetTensorImpl()).second) return;
        result.push_back({prefix + type.getAttributeName(slot), value.toTensor()});
      });
  return result;
}

std::vector<at::Tensor> valuesOf(std::vector<Named<at::Tensor>> named) {
  std::vector<at::Tensor> result;
  result.reserve(named.size());
  for (auto& item : named) result.push_back(std::move(item.value));
  return result;
}

}  // namespace

Module::Module(const c10::QualifiedName& class_name, std::shared_ptr<Program> program) {
  if (!program) program = Program::make();
  const c10::QualifiedName name = nameOfClass(class_name);
  auto type = c10::ClassType::create(name, program->asCompilationUnit(), /*is_module=*/true);
  program->registerType(type);
  type->addAttribute("training", c10::BoolType::get());
  object_ = c10::ivalue::Object::create(c10::StrongTypePtr(program->asCompilationUnit(), type), type->numAttributes());
  writeSlot(*object_, type->getAttributeSlot("training"), IValue(true));
}

Module::Module(const c10::QualifiedName& class_name, const std::shared_ptr<CompilationUnit>& unit, bool should_mangle)
    : Module(should_mangle ? unit->mangle(nameOfClass(class_name)) : class_name, unit->program()) {}

IValue Module::forward(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  return get_method("forward")(std::move(inputs), kwargs);
}

IValue Module::operator()(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  const auto type = this->type();
  for (torch::jit::Function* hook : type->getForwardPreHooks()) {
    const IValue result = Method(_ivalue(), hook)({c10::ivalue::Tuple::create(inputs)});
    if (result.isNone()) continue;
    inputs = result.isTuple() ? result.toTupleRef().elements().vec() : std::vector<IValue>{result};
  }
  const auto& hooks = type->getForwardHooks();
  if (hooks.empty()) return forward(std::move(inputs), kwargs);
  IValue output = forward(inputs, kwargs);
  for (torch::jit::Function* hook : hooks) {
    IValue result = Method(_ivalue(), hook)({c10::ivalue::Tuple::create(inputs), output});
    if (!result.isNone()) output = std::move(result);
  }
  return output;
}

std::vector<Named<at::Tensor>> Module::named_parameters(bool recurse) const {
  return collectTensors(_ivalue(), recurse, [](const c10::ClassType& type, size_t slot) {
    return type.is_module() && type.is_parameter(slot);
  });
}

std::vector<Named<at::Tensor>> Module::named_buffers(bool recurse) const {
  return collectTensors(_ivalue(), recurse, [](const c10::ClassType& type, size_t slot) {
    return type.is_module() && type.is_buffer(slot);
  });
}

std::vector<at::Tensor> Module::parameters(bool recurse) const {
  return valuesOf(named_parameters(recurse));
}
std::vector<at::Tensor> Module::buffers(bool recurse) const {
  return valuesOf(named_buffers(recurse));
}

std::vector<Named<Module>> Module::named_children() const {
  std::vector<Named<Module>> result;
  auto type = this->type();
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    IValue value = readSlot(*object_, slot);
    if (isModuleObject(value)) result.push_back({type->getAttributeName(slot), Module(value.toObject())});
  }
  return result;
}

std::vector<Module> Module::children() const {
  std::vector<Module> result;
  for (auto& child : named_children()) result.push_back(std::move(child.value));
  return result;
}

std::vector<Named<Module>> Module::named_modules() const {
  std::vector<Named<Module>> result;
  std::vector<Named<Module>> pending{{"", *this}};
  std::unordered_set<const void*> seen;
  while (!pending.empty()) {
    Named<Module> entry = std::move(pending.back());
    pending.pop_back();
    if (!seen.insert(entry.value._ivalue().get()).second) continue;
    auto children = entry.value.named_children();
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      pending.push_back({entry.name.empty() ? child->name : entry.name + "." + child->name, std::move(child->value)});
    }
    result.push_back(std::move(entry));
  }
  return result;
}

std::vector<Module> Module::modules() const {
  std::vector<Module> result;
  for (auto& module : named_modules()) result.push_back(std::move(module.value));
  return result;
}

std::vector<Named<IValue>> Module::named_attributes(bool recurse) const {
  std::vector<Named<IValue>> result;
  visitSlots(
      _ivalue(), recurse,
      [&](const std::string& prefix, c10::ivalue::Object& object, size_t slot, const c10::ClassType& type) {
        result.push_back({prefix + type.getAttributeName(slot), readSlot(object, slot)});
      });
  return result;
}

attribute_list Module::attributes(bool recurse) const {
  attribute_list result;
  for (NameValue& item : named_attributes(recurse)) result.push_back(std::move(item.value));
  return result;
}

void Module::register_parameter(const std::string& name, at::Tensor value, bool is_buffer) {
  register_attribute(name, c10::TensorType::get(), IValue(std::move(value)), !is_buffer, is_buffer);
}

void Module::register_module(const std::string& name, const Module& module) {
  register_attribute(name, module.type(), IValue(module._ivalue()));
}

void Module::register_attribute(
    const std::string& name, const c10::TypePtr& type, const IValue& value, bool is_parameter, bool is_buffer) {
  auto self = this->type();
  auto converted = convertTo(value, type);
  if (!converted) {
    throw UserError(
        "Expected a value of type '" + type->repr_str() + "' for attribute '" + name + "', but found '" +
        describeType(value) + "'.");
  }
  size_t slot;
  if (auto existing = self->findAttributeSlot(name)) {
    // Another object of the class may have declared it; then it has to be the same declaration.
    if (self->is_parameter(*existing) != is_parameter || self->is_buffer(*existing) != is_buffer ||
        !type->isSubtypeOf(*self->getAttribute(*existing))) {
      throw UserError(
          "Module '" + className(*self) + "' already has an attribute '" + name + "' that is declared in another way.");
    }
    slot = *existing;
  } else {
    if (self->hasMethod(name) || self->hasConstant(name)) {
      throw UserError("Module '" + className(*self) + "' already has a method or constant called '" + name + "'.");
    }
    slot = self->addAttribute(name, type, is_parameter, is_buffer);
  }
  // Objects grow to the size of their class here only, and not while another thread uses them (see module.h).
  if (object_->slots().size() < self->numAttributes()) object_->setSlot(self->numAttributes() - 1, IValue());
  writeSlot(*object_, slot, std::move(*converted));
}

IValue Module::create_class(const c10::QualifiedName& name, std::vector<IValue> args) const {
  return IValue(CompilationUnit(program()).create_class(name, std::move(args))._ivalue());
}

void Module::apply(const std::function<void(Module&)>& function) const {
  for (Module& module : modules()) function(module);
}

void Module::train(bool on) const {
  for (const Module& module : modules()) {
    auto type = module.type();
    auto slot = type->findAttributeSlot("training");
    if (slot) writeSlot(*module._ivalue(), *slot, IValue(on));
  }
}

}  // namespace cresset
