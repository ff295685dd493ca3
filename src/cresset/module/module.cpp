// Module and Method: views of an object of a module class.
//
// The object is the only truth: a Module holds nothing but a reference to it, so copies of a Module, Python wrappers
// and running scripts all see the same attributes. Slots are read and written through ops/object_slots.h, which
// makes each access atomic.
#include "cresset/module/module.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <unordered_set>

#include "cresset/frontend/compiler.h"
#include "cresset/frontend/parser.h"
#include "cresset/module/values.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

std::string className(const c10::ClassType& type) {
  return type.name() ? type.name()->qualifiedName() : std::string("class");
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

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

Module Method::owner() const {
  return Module(owner_);
}

IValue Method::operator()(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  inputs.insert(inputs.begin(), IValue(owner_));
  return callFunction(*function_, std::move(inputs), kwargs);
}

Module::Module(const std::string& class_name, std::shared_ptr<Program> program) {
  if (class_name.empty()) throw UserError("A module class needs a name, such as \"M\" or \"__torch__.M\".");
  if (!program) program = Program::make();
  // Class names always have a prefix, so that a class and a builtin type never share a name.
  c10::QualifiedName name(class_name.find('.') == std::string::npos ? "__torch__." + class_name : class_name);
  auto type = c10::ClassType::create(name, program->asCompilationUnit(), /*is_module=*/true);
  program->registerType(type);
  type->addAttribute("training", c10::BoolType::get());
  object_ = c10::ivalue::Object::create(c10::StrongTypePtr(program->asCompilationUnit(), type), type->numAttributes());
  writeSlot(*object_, type->getAttributeSlot("training"), IValue(true));
}

const ObjectPtr& Module::_ivalue() const {
  if (!object_) throw UserError("This Module refers to nothing; load one, or construct it with the name of a class.");
  return object_;
}

c10::ClassTypePtr Module::type() const {
  return _ivalue()->type();
}

std::shared_ptr<Program> Module::program() const {
  auto program = programOf(*type());
  if (!program) throw UserError("The class '" + className(*type()) + "' belongs to no program.");
  return program;
}

IValue Module::forward(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  return get_method("forward")(std::move(inputs), kwargs);
}

std::optional<Method> Module::find_method(const std::string& name) const {
  auto* function = dynamic_cast<Function*>(type()->findMethod(name));
  if (!function) return std::nullopt;
  return Method(object_, function);
}

Method Module::get_method(const std::string& name) const {
  if (auto method = find_method(name)) return *method;
  std::vector<std::string> names;
  for (const Method& method : get_methods()) names.push_back(method.name());
  throw UserError(
      "Method '" + name + "' is not defined in module '" + className(*type()) + "'. It has " +
      (names.empty() ? "no methods." : "these methods: " + join(names) + "."));
}

std::vector<Method> Module::get_methods() const {
  std::vector<Method> result;
  for (torch::jit::Function* function : type()->methods()) {
    if (auto* ours = dynamic_cast<Function*>(function)) result.emplace_back(object_, ours);
  }
  return result;
}

IValue Module::attr(const std::string& name) const {
  auto type = this->type();
  if (auto slot = type->findAttributeSlot(name)) return readSlot(*object_, *slot);
  if (auto constant = type->findConstant(name)) return *constant;
  throw UserError("Module '" + className(*type) + "' has no attribute '" + name + "'.");
}

IValue Module::attr(const std::string& name, IValue or_else) const {
  auto type = this->type();
  if (auto slot = type->findAttributeSlot(name)) return readSlot(*object_, *slot);
  if (auto constant = type->findConstant(name)) return *constant;
  return or_else;
}

bool Module::hasattr(const std::string& name) const {
  auto type = this->type();
  return type->hasAttribute(name) || type->hasConstant(name);
}

void Module::setattr(const std::string& name, IValue value) const {
  auto type = this->type();
  auto slot = type->findAttributeSlot(name);
  if (!slot) {
    if (type->hasConstant(name)) {
      throw UserError(
          "Can't set constant '" + name + "' of module '" + className(*type) + "'; constants never change.");
    }
    throw UserError("Module '" + className(*type) + "' has no attribute '" + name + "'.");
  }
  const c10::TypePtr& wanted = type->getAttribute(*slot);
  auto converted = convertTo(value, wanted);
  if (!converted) {
    throw UserError(
        "Expected a value of type '" + wanted->repr_str() + "' for field '" + name + "', but found '" +
        describeType(value) + "'.");
  }
  writeSlot(*object_, *slot, std::move(*converted));
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

void Module::register_parameter(const std::string& name, at::Tensor value, bool is_buffer) {
  register_attribute(name, c10::TensorType::get(), IValue(std::move(value)), !is_buffer, is_buffer);
}

void Module::register_module(const std::string& name, const Module& module) {
  register_attribute(name, module.type(), IValue(module._ivalue()));
}

void Module::register_attribute(
    const std::string& name, const c10::TypePtr& type, IValue value, bool is_parameter, bool is_buffer) {
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

void Module::define(const std::string& source, ResolverPtr resolver) {
  auto text = std::make_shared<const Source>(source, "<string>");
  auto self = type();
  auto program = this->program();
  DefineOptions options;
  options.prefix = *self->name();
  options.resolver = std::move(resolver);
  std::vector<Def> defs;
  for (const TreeRef& tree : SourceParser(text).parseFile()) {
    if (tree->kind() != TK_DEF) throw UserError("A module's define() takes functions only.", tree->range());
    Def def(tree);
    if (self->hasMethod(def.name().name()) || self->hasAttribute(def.name().name())) {
      throw UserError("Module '" + className(*self) + "' already has '" + def.name().name() + "'.", def.name().range());
    }
    defs.push_back(std::move(def));
  }
  // All are declared before one is compiled, so that they may call each other; if one is wrong, the scope takes back
  // all.
  DefinitionScope scope(*program);
  std::vector<Function*> added;
  for (const Def& def : defs) added.push_back(&defineMethod(*program, self, def, options));
  for (Function* function : added) function->ensure_defined();
  scope.commit();
}

void Module::train(bool on) const {
  for (const Module& module : modules()) {
    auto type = module.type();
    auto slot = type->findAttributeSlot("training");
    if (slot) writeSlot(*module._ivalue(), *slot, IValue(on));
  }
}

}  // namespace cresset
