// Module::clone: a copy with classes of its own, so that its code can be changed without touching the original's.
//
// Every module class below the root is copied once, under a mangled name in the same program; methods get a copy of
// their graph in which the old classes are replaced by the new ones.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/module/module.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class Cloner {
 public:
  Cloner(std::shared_ptr<Program> program, bool inplace) : program_(std::move(program)), inplace_(inplace) {}

  ObjectPtr cloneObject(const ObjectPtr& object) {
    if (auto done = objects_.find(object.get()); done != objects_.end()) return done->second;
    auto type = classFor(object->type());
    auto result =
        c10::ivalue::Object::create(c10::StrongTypePtr(program_->asCompilationUnit(), type), type->numAttributes());
    objects_.emplace(object.get(), result);
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
      IValue value = readSlot(*object, slot);
      if (value.isObject() && value.toObject()->type()->is_module()) {
        value = IValue(cloneObject(value.toObject()));
      } else if (!inplace_) {
        value = value.deepcopy();
      }
      writeSlot(*result, slot, std::move(value));
    }
    return result;
  }

  /// Copies the methods of all copied classes; when every class that a graph can name is known.
  void cloneMethods() {
    for (size_t i = 0; i < order_.size(); ++i) {
      auto [from, to] = order_[i];
      for (torch::jit::Function* method : from->methods()) {
        auto* source = dynamic_cast<Function*>(method);
        if (source) to->addMethod(cloneFunction(*source, *to));
      }
      for (const auto& property : from->properties()) {
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
    order_.emplace_back(type, result);
    for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
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
    c10::FunctionSchema schema = mapSchema(source.getSchema());
    Function& result = program_->declare(
        c10::QualifiedName(*owner.name(), source.name()), [graph](Function& function) { function.setGraph(graph); });
    result.setSchema(std::move(schema));
    result.setDocString(std::string(source.doc_string()));
    result.setSourceRange(source.sourceRange());
    return &result;
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
  std::unordered_map<const void*, ObjectPtr> objects_;
  std::unordered_map<const c10::ClassType*, c10::ClassTypePtr> classes_;
  std::vector<std::pair<c10::ClassTypePtr, c10::ClassTypePtr>> order_;
};

}  // namespace

Module Module::clone(bool inplace) const {
  Cloner cloner(program(), inplace);
  Module result(cloner.cloneObject(_ivalue()));
  cloner.cloneMethods();
  return result;
}

}  // namespace cresset
