// Object and Method: views of an object of a class.
//
// The object is the only truth: an Object holds nothing but a reference to it, so copies, Python wrappers and running
// scripts all see the same attributes. Slots are read and written through ops/object_slots.h, which makes each access
// atomic.
#include "cresset/module/object.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include "cresset/frontend/compiler.h"
#include "cresset/frontend/parser.h"
#include "cresset/interpreter/futures.h"
#include "cresset/ir/messages.h"
#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// "module '__torch__.M'", for messages.
std::string describeObject(const c10::ClassType& type) {
  return std::string(type.is_module() ? "module '" : "object '") +
         (type.name() ? type.name()->qualifiedName() : std::string("class")) + "'";
}
/// The same at the beginning of a sentence.
std::string startWithObject(const c10::ClassType& type) {
  std::string text = describeObject(type);
  text[0] = type.is_module() ? 'M' : 'O';
  return text;
}

template <typename Items, typename NameOf>
std::string namesOf(const Items& items, const NameOf& name_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "'" : ", '") + name_of(item) + "'";
  return text;
}

}  // namespace

// ---- Method ----

Module Method::owner() const {
  return Module(owner_);
}

Function& Method::function() const {
  if (auto* ours = dynamic_cast<Function*>(function_)) return *ours;
  throw UserError("The method '" + name() + "' is written in C++: it can be called, and has no graph.");
}

IValue Method::operator()(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  inputs.insert(inputs.begin(), IValue(owner_));
  if (auto* ours = dynamic_cast<Function*>(function_)) return callFunction(*ours, std::move(inputs), kwargs);
  checkAndNormalizeInputs(function_->getSchema(), inputs, kwargs);
  function_->run(inputs);
  CRESSET_CHECK(inputs.size() == 1, "a method leaves one result: " + name());
  return std::move(inputs.back());
}

void Method::run(Stack& stack) const {
  const size_t count = num_inputs() - 1;
  if (stack.size() < count) {
    throw UserError(
        "The method '" + name() + "' takes " + std::to_string(count) + " argument(s), and the stack has " +
        std::to_string(stack.size()) + ".");
  }
  std::vector<IValue> inputs(
      std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(count)), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - count);
  stack.push_back((*this)(std::move(inputs)));
}

c10::intrusive_ptr<c10::ivalue::Future> Method::run_async(std::vector<IValue> inputs, const Kwargs& kwargs) const {
  Function& target = function();
  inputs.insert(inputs.begin(), IValue(owner_));
  checkAndNormalizeInputs(target.getSchema(), inputs, kwargs);
  const Code* code = target.executable().code();
  CRESSET_CHECK(code, "a script function runs as code");
  return startForkFromOutside(
      {target.program().shared_from_this(), code}, std::move(inputs), target.getSchema().returns().at(0).type());
}

// ---- Object ----

Object::Object(const std::shared_ptr<CompilationUnit>& unit, const c10::ClassTypePtr& type) {
  if (!type) throw UserError("There is no class to make an object of: its name is unknown to the compilation unit.");
  object_ = c10::ivalue::Object::create(
      c10::StrongTypePtr(unit->program()->asCompilationUnit(), type), type->numAttributes());
}

const ObjectPtr& Object::_ivalue() const {
  if (!object_) throw UserError("This Module refers to nothing; load one, or construct it with the name of a class.");
  return object_;
}

c10::ClassTypePtr Object::type() const {
  return _ivalue()->type();
}

std::shared_ptr<Program> Object::program() const {
  auto program = programOf(*type());
  if (!program) throw UserError(startWithObject(*type()) + " is of a class that belongs to no program.");
  return program;
}

std::optional<Method> Object::find_method(const std::string& name) const {
  torch::jit::Function* function = type()->findMethod(name);
  if (!function) return std::nullopt;
  return Method(object_, function);
}

Method Object::get_method(const std::string& name) const {
  if (auto method = find_method(name)) return *method;
  const std::string known = namesOf(get_methods(), [](const Method& method) { return method.name(); });
  throw UserError(
      "Method '" + name + "' is not defined in " + describeObject(*type()) + ". It has " +
      (known.empty() ? "no methods." : "these methods: " + known + "."));
}

std::vector<Method> Object::get_methods() const {
  std::vector<Method> result;
  for (torch::jit::Function* function : type()->methods()) result.emplace_back(object_, function);
  return result;
}

std::vector<Object::Property> Object::get_properties() const {
  std::vector<Property> result;
  for (const c10::ClassType::Property& property : type()->properties()) {
    std::optional<Method> setter;
    if (property.setter) setter = Method(object_, property.setter);
    result.push_back({property.name, Method(object_, property.getter), std::move(setter)});
  }
  return result;
}

Object::Property Object::get_property(const std::string& name) const {
  for (Property& property : get_properties()) {
    if (property.name == name) return std::move(property);
  }
  const std::string known = namesOf(get_properties(), [](const Property& property) { return property.name; });
  throw UserError(
      "Property '" + name + "' is not defined. " + startWithObject(*type()) + " has " +
      (known.empty() ? "no properties." : "these: " + known + "."));
}

bool Object::has_property(const std::string& name) const {
  for (const c10::ClassType::Property& property : type()->properties()) {
    if (property.name == name) return true;
  }
  return false;
}

IValue Object::attr(const std::string& name) const {
  auto type = this->type();
  if (auto slot = type->findAttributeSlot(name)) return readSlot(*object_, *slot);
  if (auto constant = type->findConstant(name)) return *constant;
  throw UserError(messages::noAttribute(startWithObject(*type), name) + ".");
}

IValue Object::attr(const std::string& name, IValue or_else) const {
  auto type = this->type();
  if (auto slot = type->findAttributeSlot(name)) return readSlot(*object_, *slot);
  if (auto constant = type->findConstant(name)) return *constant;
  return or_else;
}

bool Object::hasattr(const std::string& name) const {
  auto type = this->type();
  return type->hasAttribute(name) || type->hasConstant(name);
}

void Object::setattr(const std::string& name, const IValue& value) const {
  auto type = this->type();
  auto slot = type->findAttributeSlot(name);
  if (!slot) {
    if (type->hasConstant(name)) {
      throw UserError("Can't set constant '" + name + "' of " + describeObject(*type) + "; constants never change.");
    }
    throw UserError(messages::noAttribute(startWithObject(*type), name) + ".");
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

void Object::define(const std::string& source, ResolverPtr resolver) const {
  auto text = std::make_shared<const Source>(source, "<string>");
  auto self = type();
  auto program = this->program();
  DefineOptions options;
  options.prefix = *self->name();
  options.resolver = std::move(resolver);
  std::vector<Def> defs;
  for (const TreeRef& tree : SourceParser(text).parseFile()) {
    if (tree->kind() != TK_DEF) throw UserError("define() of a module or object takes functions only.", tree->range());
    Def def(tree);
    if (self->hasMethod(def.name().name()) || self->hasAttribute(def.name().name())) {
      throw UserError(startWithObject(*self) + " already has '" + def.name().name() + "'.", def.name().range());
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

}  // namespace cresset
