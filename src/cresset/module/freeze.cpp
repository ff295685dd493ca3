#include "cresset/module/freeze.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/module/kept_attributes.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/channels_last.h"
#include "cresset/passes/pipelines.h"
#include "cresset/program/shown_types.h"
#include "cresset/support/error.h"

namespace cresset {
namespace {

/// How many parts a container may have that each run makes anew; a larger one stays an attribute.
constexpr size_t kMaxConstructed = 256;

bool isScalar(const IValue& value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isNone() ||
         value.isComplexDouble() || value.isDevice() || value.isEnum();
}

/// Whether constants and constructed containers stand for the value, of at most `budget` parts, from which they go.
bool canBeFolded(const IValue& value, size_t& budget) {
  if (isScalar(value)) return true;
  if (value.isTensor()) return value.toTensor().defined();
  const auto take = [&](const IValue& part) {
    if (budget == 0) return false;
    --budget;
    return canBeFolded(part, budget);
  };
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return std::all_of(elements.begin(), elements.end(), take);
  }
  if (value.isList()) {
    const auto list = value.toListRef();
    return std::all_of(list.begin(), list.end(), take);
  }
  if (!value.isGenericDict()) return false;
  for (const auto& entry : value.toGenericDict()) {
    if (!take(entry.key()) || !take(entry.value())) return false;
  }
  return true;
}

/// In forks within forks, calls are inlined to that depth: a function that forks itself would have no end.
constexpr int kMaxForkDepth = 32;

class Freezer {
 public:
  Freezer(const Module& module, const FreezeOptions& options)
      : result_(cloneWithoutProperties(module)), root_(result_._ivalue()), kept_(result_), options_(options) {
    if (Function* forward = methodOf(*root_, "forward")) addMethod(root_, forward);
    for (const std::string& name : options.preserved) preserve(name);
  }

  Module run() {
    // Folding an attribute decides branches, which takes away writes to other attributes, and so on. What is folded
    // away makes room for more calls: all rounds together may inline as much as one run of the pass.
    size_t inlined = 0;
    for (bool changed = true; changed;) {
      changed = false;
      kept_.analyze(methods_);
      for (const EntryMethod& method : methods_) {
        for (const auto& [graph, depth] : withForkDepths(*method.graph)) {
          const size_t before = graph->numNodes();
          const bool may_inline = inlined < kMaxInlinedNodes && depth < kMaxForkDepth;
          changed |= foldAttributes(
              *graph, [&](Graph& of) { return setConcreteTypes(of.block()); },
              [&](Graph& of) { return fold(of.block()); }, may_inline);
          inlined += std::max(graph->numNodes(), before) - before;
        }
      }
    }
    refuseSelf();
    for (const EntryMethod& method : methods_) {
      // From the inside, so that a module that only a fork read is read no more.
      std::vector<Graph*> graphs = withForks(*method.graph);
      for (auto graph = graphs.rbegin(); graph != graphs.rend(); ++graph) {
        dropUnusedInputsOfForks((*graph)->block());
        tidyFrozen(**graph);
      }
    }
    prune();
    for (const EntryMethod& method : methods_) method.function->setGraph(method.graph);
    return result_;
  }

 private:
  static Function* methodOf(const c10::ivalue::Object& object, const std::string& name) {
    return dynamic_cast<Function*>(object.type()->findMethod(name));
  }

  void addMethod(const ObjectPtr& object, Function* function) {
    for (const EntryMethod& method : methods_) {
      if (method.function == function && method.object == object) return;
    }
    methods_.push_back({object, function, function->definition()->copy()});
    forgetTensorTypes(*methods_.back().graph);
  }

  /// "forward2", "scale", "encoder.scale" or "encoder.encode".
  void preserve(const std::string& path) {
    if (path == "forward") return;
    ObjectPtr object = root_;
    for (size_t begin = 0;;) {
      const size_t dot = path.find('.', begin);
      const std::string name = path.substr(begin, dot - begin);
      if (Function* method = dot == std::string::npos ? methodOf(*object, name) : nullptr) {
        addMethod(object, method);
        return;
      }
      const auto slot = object->type()->findAttributeSlot(name);
      if (!slot) throw UserError("Unknown name: " + path + ". It is no attribute or method of the module.");
      kept_.preserve(object, name);
      const IValue value = readSlot(*object, *slot);
      if (dot == std::string::npos) {
        if (holdsModule(value)) kept_.preserveWhole(value.toObject());
        return;
      }
      if (!holdsModule(value)) throw UserError("Unknown name: " + path + ". '" + name + "' is no submodule.");
      object = value.toObject();
      begin = dot + 1;
    }
  }

  // Rewriting.

  static void dropUnusedInputsOfForks(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) dropUnusedInputsOfForks(inner);
      const auto* forked = forkedBy(node);
      if (!forked) continue;
      for (size_t i = node->inputs().size(); i-- > 0;) {
        if (!(*forked)->inputs()[i]->uses().empty()) continue;
        (*forked)->block()->eraseInput(i);
        node->removeInput(i);
      }
    }
  }

  /// Attributes of interface types hold an object whose class is known here, so that calls of it can be inlined. Not
  /// those that in other modules of the same class hold objects of another.
  bool setConcreteTypes(Block* block) {
    bool changed = false;
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) changed |= setConcreteTypes(inner);
      if (node->kind() != prim::GetAttr) continue;
      const ObjectPtr object = kept_.objectOf(node->output());
      if (!object || *node->output()->type() == *object->type() || !setConcreteType(*node, object->type())) continue;
      node->output()->setType(object->type());
      changed = true;
    }
    return changed;
  }

  /// Of the attribute that is read: what is left of it must have the type that the code believes it to have.
  bool setConcreteType(const Node& read, const c10::ClassTypePtr& type) {
    const ObjectPtr owner = kept_.objectOf(read.input(0));
    if (!owner || !owner->type()->is_module()) return false;
    const std::string& name = read.s(attr::name);
    const size_t slot = owner->type()->getAttributeSlot(name);
    for (const ObjectPtr& other : kept_.modules()) {
      if (other->type() != owner->type()) continue;
      const IValue held = readSlot(*other, slot);
      if (!held.isObject() || held.toObject()->type() != type) return false;
    }
    owner->type()->unsafeChangeAttributeType(name, type);
    return true;
  }

  bool fold(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= fold(inner);
      if (node->kind() != prim::GetAttr) continue;
      const ObjectPtr object = kept_.objectOf(node->input(0));
      if (!object) continue;
      const auto& type = *object->type();
      const auto slot = type.findAttributeSlot(node->s(attr::name));
      if (!slot || kept_.contains(*object, node->s(attr::name))) continue;
      const IValue value = readSlot(*object, *slot);
      if (options_.keep_parameters && value.isTensor() && type.is_parameter(*slot)) continue;
      if (options_.keep_training && type.is_module() && node->s(attr::name) == "training") continue;
      Graph& graph = node->graph();
      const InsertPointGuard guard(graph, node);
      size_t budget = kMaxConstructed;
      if (!canBeFolded(value, budget)) continue;
      Value* constant = constantOf(value, node->output()->type(), node);
      if (!constant) continue;
      node->output()->replaceAllUsesWith(constant);
      node->destroy();
      changed = true;
    }
    return changed;
  }

  /// What stands for the value in a graph; null if nothing does. Each run makes a container of its own.
  Value* constantOf(const IValue& value, const TypePtr& type, Node* node) {
    Graph& graph = node->graph();
    const auto located = [&](Value* made) {
      made->node()->copyLocation(node);
      return made;
    };
    if (value.isTensor()) {
      at::Tensor& tensor = tensors_[value.toTensor().unsafeGetTensorImpl()];
      if (!tensor.defined()) tensor = value.toTensor().requires_grad() ? value.toTensor().detach() : value.toTensor();
      return located(graph.insertConstant(tensor));
    }
    if (isScalar(value)) return located(graph.insertConstant(value, value.isNone() ? type : TypePtr()));
    const auto* optional = type->castRaw<c10::OptionalType>();
    const TypePtr held = optional ? optional->getElementType() : type;
    if (value.isTuple()) {
      if (!held->castRaw<c10::TupleType>()) return nullptr;
      const auto& elements = value.toTupleRef().elements();
      return construct(prim::TupleConstruct, elements.vec(), held->containedTypes(), held, node);
    }
    if (value.isList()) {
      if (!held->castRaw<c10::ListType>()) return nullptr;
      return construct(prim::ListConstruct, value.toListRef().vec(), held->containedTypes(), held, node);
    }
    if (!held->castRaw<c10::DictType>()) return nullptr;
    std::vector<IValue> entries;
    for (const auto& entry : value.toGenericDict()) {
      entries.push_back(entry.key());
      entries.push_back(entry.value());
    }
    return construct(prim::DictConstruct, entries, held->containedTypes(), held, node);
  }

  /// Of parts whose types are `types`, over and over.
  Value* construct(
      Symbol kind, const std::vector<IValue>& parts, at::ArrayRef<TypePtr> types, const TypePtr& type, Node* node) {
    std::vector<Value*> values;
    for (size_t i = 0; i < parts.size(); ++i) {
      Value* value = constantOf(parts[i], types[i % types.size()], node);
      if (!value) return nullptr;
      values.push_back(value);
    }
    Node* made = node->graph().insertNode(node->graph().create(kind, values))->copyLocation(node);
    return made->output()->setType(type);
  }

  /// A call of a method of the module itself, with what it says in the source.
  Node* ownCallIn(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == prim::CallMethod && kept_.objectOf(node->input(0)) == root_) return node;
      for (Block* inner : node->blocks()) {
        if (Node* found = ownCallIn(inner)) return found;
      }
    }
    return nullptr;
  }

  void refuseSelf() {
    if (!kept_.isWhole(*root_->type())) return;
    for (const EntryMethod& method : methods_) {
      for (Graph* graph : withForks(*method.graph)) {
        const Node* call = ownCallIn(graph->block());
        if (!call) continue;
        throw UserError(
            "freezing inlines a module's calls of its own methods, and this call of '" + call->s(attr::name) +
                "' is left: the method calls itself, or more than " + std::to_string(kMaxInlinedNodes) +
                " nodes would be inlined",
            call->sourceRange());
      }
    }
    throw UserError(
        "attempted to freeze a module that return itself: it does, or it hands itself on to something that can't be "
        "inlined");
  }

  // What is left.

  void findUsed(Block* block, std::set<ClassAttribute>& used) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) findUsed(inner, used);
      if (const auto* forked = forkedBy(node)) findUsed((*forked)->block(), used);
      if (node->kind() != prim::GetAttr && node->kind() != prim::SetAttr) continue;
      if (const auto* type = node->input(0)->type()->castRaw<c10::ClassType>())
        used.insert({type, node->s(attr::name)});
    }
  }

  void prune() {
    std::set<ClassAttribute> used;
    for (const auto& [object, name] : kept_.preserved()) used.insert({object->type().get(), name});
    for (const EntryMethod& method : methods_) findUsed(method.graph->block(), used);
    std::set<c10::ClassType*> classes;
    for (const ObjectPtr& module : kept_.modules()) {
      c10::ClassType& type = *module->type();
      if (kept_.isWhole(type)) continue;
      classes.insert(&type);
      for (size_t slot = type.numAttributes(); slot-- > 0;) {
        if (!used.contains({&type, type.getAttributeName(slot)})) module->unsafeRemoveSlot(slot);
      }
    }
    for (c10::ClassType* type : classes) {
      for (size_t slot = type->numAttributes(); slot-- > 0;) {
        const std::string name = type->getAttributeName(slot);
        if (!used.contains({type, name})) type->unsafeRemoveAttribute(name);
      }
      for (torch::jit::Function* method : std::vector<torch::jit::Function*>(type->methods())) {
        const bool stays = std::any_of(
            methods_.begin(), methods_.end(), [&](const EntryMethod& entry) { return entry.function == method; });
        if (!stays) type->unsafeRemoveMethod(method->name());
      }
    }
  }

  Module result_;
  ObjectPtr root_;
  KeptAttributes kept_;
  const FreezeOptions& options_;
  std::vector<EntryMethod> methods_;
  std::unordered_map<const at::TensorImpl*, at::Tensor> tensors_;  // one constant per tensor
};

/// Hooks of submodules are part of the code that calls them; those of what is called from outside would be lost.
void refuseHooks(const Module& module) {
  const auto type = module.type();
  if (type->getForwardHooks().empty() && type->getForwardPreHooks().empty()) return;
  throw UserError(
      "The module '" + type->name()->qualifiedName() +
      "' has forward hooks, which freezing would lose. Remove them, or put the module into another one.");
}

/// The module that has what "encoder.scale" names, and its name there. Null if there is no such module.
std::optional<std::pair<Module, std::string>> ownerOf(const Module& module, const std::string& path) {
  Module object = module;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    const std::string name = path.substr(begin, dot - begin);
    if (dot == std::string::npos) return std::make_pair(object, name);
    IValue value = object.attr(name, IValue());
    if (!holdsModule(value)) return std::nullopt;
    object = Module(value.toObject());
    begin = dot + 1;
  }
}

/// The method at "encoder.encode"; none if there is none.
std::optional<Method> methodAt(const Module& module, const std::string& path) {
  const auto owner = ownerOf(module, path);
  return owner ? owner->first.find_method(owner->second) : std::nullopt;
}

/// A preserved submodule, or one whose forward is.
void refuseHooksAt(const Module& module, const std::string& path) {
  const auto owner = ownerOf(module, path);
  if (!owner) return;
  if (owner->second == "forward") refuseHooks(owner->first);
  const IValue value = owner->first.attr(owner->second, IValue());
  if (!holdsModule(value)) return;
  for (const Module& kept : Module(value.toObject()).modules()) refuseHooks(kept);
}

void optimizeWithForks(Graph& graph, const std::string& name, bool numerics) {
  optimizeFrozen(graph, name, numerics);
  for (Graph* one : withForks(graph)) {
    if (one != &graph) optimizeFrozen(*one, name, numerics);
  }
}

}  // namespace

Module freeze_module(const Module& module, const FreezeOptions& options) {
  FreezeOptions all = options;
  if (module.hasattr("training") && module.is_training()) all.keep_parameters = all.keep_training = true;
  refuseHooks(module);
  for (const std::string& path : all.preserved) refuseHooksAt(module, path);
  DefinitionScope scope(*module.program());
  Module frozen = Freezer(module, all).run();
  scope.commit();
  return frozen;
}

Module freeze(
    const Module& module, const std::optional<std::vector<std::string>>& preserved_attrs, bool optimize_numerics) {
  if (module.hasattr("training") && module.is_training()) {
    throw UserError(
        "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
        "freezing.");
  }
  const std::vector<std::string> preserved = preserved_attrs.value_or(std::vector<std::string>());
  DefinitionScope scope(*module.program());
  Module frozen = freeze_module(module, {.preserved = preserved});
  std::vector<std::string> methods;
  for (const std::string& name : preserved) {
    if (methodAt(frozen, name)) methods.push_back(name);
  }
  run_frozen_optimizations(frozen, optimize_numerics, methods);
  scope.commit();
  return frozen;
}

void run_frozen_optimizations(
    const Module& module, bool optimize_numerics, const std::vector<std::string>& preserved_methods) {
  std::vector<std::string> names = preserved_methods;
  if (module.find_method("forward")) names.insert(names.begin(), "forward");
  for (const std::string& name : names) {
    const auto method = methodAt(module, name);
    if (!method) throw UserError("Unknown name: " + name + ". It is no method of the module.");
    auto graph = method->function().definition()->copy();
    forgetTensorTypes(*graph);
    optimizeWithForks(*graph, name, optimize_numerics);
    method->function().setGraph(graph);
  }
}

Module optimize_for_inference(const Module& module, const std::vector<std::string>& other_methods) {
  std::vector<std::string> names = other_methods;
  names.insert(names.begin(), "forward");
  const bool is_frozen = !module.hasattr("training");
  const auto isDone = [&](const std::string& name) {
    const auto method = methodAt(module, name);
    return !method || !hasConvolutionOfFixedLayout(method->function().graph()->block());
  };
  if (is_frozen && std::all_of(names.begin(), names.end(), isDone)) return module;
  if (!is_frozen) module.eval();
  // A frozen module may have run, after which its code does not change.
  const Module result = is_frozen ? module.clone() : freeze(module, other_methods);
  for (const std::string& name : names) {
    const auto method = methodAt(result, name);
    if (!method) continue;
    Function& function = method->function();
    auto graph = function.definition()->copy();
    forgetTensorTypes(*graph);
    allowAnyLayout(graph->block());
    function.setGraph(graph);
  }
  return result;
}

}  // namespace cresset
