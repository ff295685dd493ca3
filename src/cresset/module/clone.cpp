// Module::clone: a copy with classes of its own, so that its code can be changed without touching the original's; and
// clone_method, which gives a module a method of another.
//
// Every module class below the root is copied once, under a mangled name; methods get a copy of their graph in which
// the old classes are replaced by the new ones. Copies of Python's modules have a program of their own, which ends with
// them.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <unordered_map>
#include <unordered_set>

#include "cresset/ir/constants.h"
#include "cresset/module/freeze.h"
#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/policy.h"
#include "cresset/program/class_methods.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class Cloner {
 public:
  struct Ignored {
    std::unordered_set<std::string> methods, attributes;
    bool properties = false;
  };
  Cloner(std::shared_ptr<Program> program, bool inplace, Ignored ignored)
      : program_(std::move(program)), inplace_(inplace), ignored_(std::move(ignored)) {}

  /// In what is copied, `to` stands for the class `from`, and for the classes of its submodules those of `to`'s.
  void pair(const Module& from, const Module& to) {
    if (!classes_.emplace(from.type().get(), to.type()).second) return;
    copies_.insert(to.type().get());
    for (const NameModule& child : from.named_children()) {
      if (auto other = to.attr(child.name, IValue()); other.isObject() && other.toObject()->type()->is_module())
        pair(child.value, Module(other.toObject()));
    }
  }

  void cloneMethod(Function& method, c10::ClassType& to) { to.addMethod(cloneFunction(method, to)); }

  /// When all methods are there. Throws UserError.
  void requireMembers() const {
    for (const auto& graph : graphs_) requireMembers(*graph->block());
  }

  ObjectPtr cloneObject(const ObjectPtr& object) {
    if (auto done = objects_.find(object.get()); done != objects_.end()) return done->second;
    auto type = classFor(object->type());
    auto result =
        c10::ivalue::Object::create(c10::StrongTypePtr(program_->asCompilationUnit(), type), type->numAttributes());
    objects_.emplace(object.get(), result);
    const auto& original = *object->type();
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      IValue value = readSlot(*object, original.getAttributeSlot(type->getAttributeName(slot)));
      if (value.isObject() && value.toObject()->type()->is_module()) {
        value = IValue(cloneObject(value.toObject()));
      } else if (!inplace_) {
        value = value.isTensor() ? value.deepcopy() : deepCopy(value);
      }
      writeSlot(*result, slot, std::move(value));
    }
    finished_.push_back(result);
    return result;
  }

  /// As torch::jit does it; when all methods are there. Submodules come before those that hold them.
  void restoreStates() const {
    for (const ObjectPtr& object : finished_) {
      torch::jit::Function* getstate = object->type()->findMethod("__getstate__");
      torch::jit::Function* setstate = object->type()->findMethod("__setstate__");
      if (getstate && setstate) Method(object, setstate)({Method(object, getstate)({})});
    }
  }

  /// The copies have the limits of all programs that the originals are of. Their forks run one after the other if those
  /// of an original do, which a policy says, even if it allows everything: what may be called is decided per method.
  void takeRules() const {
    ProgramRules rules = program_->rules();
    bool changed = false;
    for (const auto& [from, to] : order_) {
      const auto program = programOf(*from);
      if (!program || program == program_) continue;
      const ProgramRules& others = program->rules();
      if (others.limits.any()) {
        rules.limits = tightest(rules.limits, others.limits);
        changed = true;
      }
      if (others.policy && !rules.policy) {
        rules.policy = std::make_shared<const OperatorPolicy>(std::vector<std::string>{"*"});
        changed = true;
      }
    }
    // Not of a program that stays as it is: other threads may be running it.
    if (changed) program_->setRules(std::move(rules));
  }

  /// Copies the methods of all copied classes; when every class that a graph can name is known.
  void cloneMethods() {
    for (size_t i = 0; i < order_.size(); ++i) {
      auto [from, to] = order_[i];
      for (torch::jit::Function* method : methodsOf(*from)) {
        auto* source = dynamic_cast<Function*>(method);
        if (source && !ignored_.methods.contains(source->name())) cloneMethod(*source, *to);
      }
      for (const auto& property : from->properties()) {
        if (ignored_.properties || !to->findMethod(property.getter->name())) continue;
        to->addProperty(
            property.name, to->findMethod(property.getter->name()),
            property.setter ? to->findMethod(property.setter->name()) : nullptr);
      }
    }
  }

 private:
  c10::ClassTypePtr classFor(const c10::ClassTypePtr& type) {
    if (auto done = classes_.find(type.get()); done != classes_.end()) return done->second;
    auto result = c10::ClassType::create(
        program_->mangle(*type->name()), program_->asCompilationUnit(), type->is_module(), type->doc_string());
    classes_.emplace(type.get(), result);
    copies_.insert(result.get());
    order_.emplace_back(type, result);
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      if (ignored_.attributes.contains(type->getAttributeName(slot))) continue;
      result->addAttribute(
          type->getAttributeName(slot), mapType(type->getAttribute(slot)), type->is_parameter(slot),
          type->is_buffer(slot));
    }
    for (size_t i = 0; i < type->numConstants(); ++i)
      result->addConstant(type->getConstantName(i), type->getConstant(i));
    program_->registerType(result);
    return result;
  }

  TypePtr mapType(const TypePtr& type) {
    if (auto module = type->cast<c10::ClassType>()) return module->is_module() ? TypePtr(classFor(module)) : type;
    if (type->containedTypes().empty() || type->kind() == c10::TypeKind::InterfaceType || type->cast<c10::EnumType>())
      return type;
    std::vector<TypePtr> contained;
    bool changed = false;
    for (const TypePtr& inner : type->containedTypes()) {
      contained.push_back(mapType(inner));
      changed |= contained.back() != inner;
    }
    return changed ? type->withContained(std::move(contained)) : type;
  }

  c10::FunctionSchema mapSchema(const c10::FunctionSchema& schema) {
    auto map = [&](const std::vector<c10::Argument>& arguments) {
      std::vector<c10::Argument> result;
      for (const c10::Argument& argument : arguments)
        result.push_back(argument.cloneWithType(mapType(argument.type())));
      return result;
    };
    return schema.cloneWithArguments(map(schema.arguments())).cloneWithReturns(map(schema.returns()));
  }

  Function* cloneFunction(Function& source, c10::ClassType& owner) {
    auto graph = source.graph()->copy();
    mapBlock(*graph->block());
    graphs_.push_back(graph);
    c10::FunctionSchema schema = mapSchema(source.getSchema());
    program_->usePrograms(*graph);
    Function& result = program_->declare(
        c10::QualifiedName(*owner.name(), source.name()), [graph](Function& function) { function.setGraph(graph); });
    result.setSchema(std::move(schema));
    result.setDocString(std::string(source.doc_string()));
    result.setSourceRange(source.sourceRange());
    return &result;
  }

  /// Members of the copies may be named only if they are there.
  void requireMembers(Block& block) const {
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) requireMembers(*inner);
      const bool is_call = node->kind() == prim::CallMethod;
      if (!is_call && node->kind() != prim::GetAttr && node->kind() != prim::SetAttr) continue;
      auto type = node->input(0)->type()->cast<c10::ClassType>();
      if (!type || !copies_.contains(type.get())) continue;
      const std::string& name = node->s(attr::name);
      if (is_call ? type->findMethod(name) != nullptr : type->hasAttribute(name) || type->hasConstant(name)) continue;
      throw UserError(
          "The copy '" + type->name()->qualifiedName() + "' has no '" + name +
              "', which one of the copied methods needs; leave that method out too, or keep '" + name + "'.",
          node->sourceRange());
    }
  }

  void mapBlock(Block& block) {
    for (Value* input : block.inputs()) input->setType(mapType(input->type()));
    for (Node* node : block.nodes()) {
      for (Value* output : node->outputs()) output->setType(mapType(output->type()));
      std::vector<std::pair<c10::Symbol, Attribute>> attributes(node->attributes().begin(), node->attributes().end());
      for (const auto& [name, attribute] : attributes) {
        if (attribute.kind() == Attribute::Kind::Type) {
          node->setAttribute(name, Attribute(mapType(attribute.asType())));
        } else if (attribute.kind() == Attribute::Kind::Types) {
          std::vector<TypePtr> types;
          for (const TypePtr& type : attribute.asTypes()) types.push_back(mapType(type));
          node->setAttribute(name, Attribute(std::move(types)));
        } else if (attribute.kind() == Attribute::Kind::Graph) {
          mapBlock(*attribute.asGraph()->block());  // a node's graph was copied with the node
        }
      }
      for (Block* inner : node->blocks()) mapBlock(*inner);
    }
  }

  std::shared_ptr<Program> program_;
  bool inplace_;
  Ignored ignored_;
  std::unordered_map<const void*, ObjectPtr> objects_;
  std::vector<ObjectPtr> finished_;  // the same, in the order in which they were done
  std::unordered_map<const c10::ClassType*, c10::ClassTypePtr> classes_;
  std::unordered_set<const c10::ClassType*> copies_;
  std::vector<std::pair<c10::ClassTypePtr, c10::ClassTypePtr>> order_;
  std::vector<std::shared_ptr<Graph>> graphs_;  // of the methods
};

}  // namespace

namespace {

/// A program of the copies' own, so that it ends with them; the original's, if programs can't refer to each other.
std::shared_ptr<Program> programForCopies(const Program& original) {
  if (!original.family()) return const_cast<Program&>(original).shared_from_this();
  auto own = Program::make(original.family());
  own->setRules(original.sharedRules());
  return own;
}

}  // namespace

Module Module::clone(bool inplace) const {
  return clone(inplace, {}, {});
}

Module Module::clone(
    bool inplace, const std::unordered_set<std::string>& ignored_methods,
    const std::unordered_set<std::string>& ignored_attributes) const {
  const std::shared_ptr<Program> copies = programForCopies(*program());
  Cloner cloner(copies, inplace, {ignored_methods, ignored_attributes});
  DefinitionScope scope(*copies);
  Module result(cloner.cloneObject(_ivalue()));
  cloner.takeRules();
  cloner.cloneMethods();
  cloner.requireMembers();
  scope.commit();
  cloner.restoreStates();
  return result;
}

Module cloneWithoutProperties(const Module& module) {
  const std::shared_ptr<Program> copies = programForCopies(*module.program());
  Cloner cloner(copies, /*inplace=*/true, {.methods = {}, .attributes = {}, .properties = true});
  DefinitionScope scope(*copies);
  Module result(cloner.cloneObject(module._ivalue()));
  cloner.takeRules();
  cloner.cloneMethods();
  scope.commit();
  return result;
}

void Module::clone_method(const Module& original, const std::string& name) {
  // Its code refers to functions and classes that its program owns.
  if (original.program() != program() &&
      (!program()->family() || program()->family() != original.program()->family())) {
    throw UserError(
        "Can't copy the method '" + name +
        "' from a module of another program: construct one module with the other's "
        "program().");
  }
  const Method method = original.get_method(name);
  if (type()->findMethod(name) || type()->hasAttribute(name))
    throw UserError("Module '" + type()->name()->qualifiedName() + "' already has '" + name + "'.");
  Cloner cloner(program(), /*inplace=*/true, {});
  cloner.pair(original, *this);
  DefinitionScope scope(*program());
  cloner.cloneMethod(method.function(), *type());
  cloner.requireMembers();
  scope.commit();
}

}  // namespace cresset
