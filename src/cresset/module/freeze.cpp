#include "cresset/module/freeze.h"

#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/apart.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/channels_last.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"

namespace cresset {
namespace {

bool holdsModule(const IValue& value) {
  return value.isObject() && value.toObject()->type()->is_module();
}

/// An attribute of all objects of a class: classes are shared, so what one object keeps, all of them keep.
using AttributeKey = std::pair<const c10::ClassType*, std::string>;

/// Adds what tells the memory of a value, and of all in it.
void collectMemory(const IValue& value, std::unordered_set<const void*>& memory) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return;
    memory.insert(tensor.unsafeGetTensorImpl());
    if (tensor.has_storage()) memory.insert(tensor.storage().unsafeGetStorageImpl());
    return;
  }
  if (!value.isPtrType() || value.isString() || value.isNone()) return;
  const void* pointer = value.internalToPointer();
  if (value.isTuple()) {
    for (const IValue& element : value.toTupleRef().elements()) collectMemory(element, memory);
    return;
  }
  if (!memory.insert(pointer).second) return;
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) collectMemory(element, memory);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      collectMemory(entry.key(), memory);
      collectMemory(entry.value(), memory);
    }
  } else if (value.isObject()) {
    const auto object = value.toObject();
    for (size_t i = 0; i < object->slots().size(); ++i) collectMemory(readSlot(*object, i), memory);
  }
}

class Freezer {
 public:
  Freezer(const Module& module, const std::vector<std::string>& preserved)
      : result_(cloneWithoutProperties(module)), root_(result_._ivalue()) {
    if (Function* forward = methodOf(*root_, "forward")) addMethod(root_, forward);
    for (const std::string& name : preserved) preserve(name);
    for (const Module& one : result_.modules()) modules_.push_back(one._ivalue());
  }

  Module run() {
    // Folding an attribute decides branches, which takes away writes to other attributes, and so on.
    for (bool changed = true; changed;) {
      changed = false;
      analyze();
      for (const Entry& method : methods_) {
        for (Graph* graph : withForks(*method.graph)) {
          changed |= foldAttributes(
              *graph, [&](Graph& of) { return setConcreteTypes(of.block()); },
              [&](Graph& of) { return fold(of.block()); });
        }
      }
    }
    refuseSelf();
    for (const Entry& method : methods_) {
      // From the inside, so that a module that only a fork read is read no more.
      std::vector<Graph*> graphs = withForks(*method.graph);
      for (auto graph = graphs.rbegin(); graph != graphs.rend(); ++graph) {
        dropUnusedInputsOfForks((*graph)->block());
        tidyFrozen(**graph);
      }
    }
    prune();
    for (const Entry& method : methods_) method.function->setGraph(method.graph);
    return result_;
  }

  /// Graphs that run beside the others: what a method forks.
  static const std::shared_ptr<Graph>* forkedBy(const Node* node) {
    return runsApart(*node) && node->hasAttribute(attr::Subgraph) ? &node->g(attr::Subgraph) : nullptr;
  }

  static void collectForks(Block* block, std::vector<Graph*>& graphs) {
    for (Node* node : block->nodes()) {
      if (const auto* forked = forkedBy(node)) {
        graphs.push_back(forked->get());
        collectForks((*forked)->block(), graphs);
      }
      for (Block* inner : node->blocks()) collectForks(inner, graphs);
    }
  }

 private:
  /// A method that can be called from outside, and the module that it is of.
  struct Entry {
    ObjectPtr object;
    Function* function;
    std::shared_ptr<Graph> graph;
  };

  static Function* methodOf(const c10::ivalue::Object& object, const std::string& name) {
    return dynamic_cast<Function*>(object.type()->findMethod(name));
  }

  void addMethod(const ObjectPtr& object, Function* function) {
    for (const Entry& method : methods_) {
      if (method.function == function && method.object == object) return;
    }
    methods_.push_back({object, function, function->definition()->copy()});
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
      preserved_.insert({object->type().get(), name});
      const IValue value = readSlot(*object, *slot);
      if (dot == std::string::npos) {
        if (holdsModule(value)) preserved_modules_.insert(value.toObject().get());
        return;
      }
      if (!holdsModule(value)) throw UserError("Unknown name: " + path + ". '" + name + "' is no submodule.");
      object = value.toObject();
      begin = dot + 1;
    }
  }

  // Which module each value is, and what must stay.

  void analyze() {
    objects_.clear();
    kept_ = preserved_;
    whole_.clear();
    for (const Entry& method : methods_) {
      // The objects of a class share its code, which must not hold what one of them holds.
      if (method.object != root_ && isShared(*method.object->type())) keepWhole(method.object);
    }
    for (const Entry& method : methods_) findAssigned(method.graph->block());
    for (const Entry& method : methods_) {
      objects_[method.graph->inputs()[0]] = method.object;
      follow(method.graph->block());
    }
    for (const ObjectPtr& module : modules_) {
      if (preserved_modules_.contains(module.get())) keepWhole(module);
    }
    for (const Entry& method : methods_) {
      for (Graph* graph : withForks(*method.graph)) findWritten(graph->block(), *aliasesOf(*graph));
    }
    keepWhatShares();
  }

  bool isShared(const c10::ClassType& type) const {
    return std::count_if(modules_.begin(), modules_.end(), [&](const ObjectPtr& module) {
             return module->type().get() == &type;
           }) > 1;
  }

  static std::vector<Graph*> withForks(Graph& graph) {
    std::vector<Graph*> graphs{&graph};
    collectForks(graph.block(), graphs);
    return graphs;
  }

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

  void findAssigned(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == prim::SetAttr) {
        if (const auto* type = node->input(0)->type()->castRaw<c10::ClassType>())
          kept_.insert({type, node->s(attr::name)});
      }
      for (Block* inner : node->blocks()) findAssigned(inner);
      if (const auto* forked = forkedBy(node)) findAssigned((*forked)->block());
    }
  }

  void follow(Block* block) {
    for (Node* node : block->nodes()) {
      const auto* forked = forkedBy(node);
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        const auto found = objects_.find(node->input(i));
        if (found == objects_.end()) continue;
        const ObjectPtr object = found->second;
        if (forked) {
          objects_[(*forked)->inputs()[i]] = object;
          continue;
        }
        const bool is_access = i == 0 && (node->kind() == prim::GetAttr || node->kind() == prim::SetAttr);
        if (!is_access) {
          keepWhole(object);
        } else if (node->kind() == prim::GetAttr) {
          const IValue value = valueOf(*object, node->s(attr::name));
          if (!holdsModule(value)) continue;
          if (kept_.contains({object->type().get(), node->s(attr::name)}) &&
              !preserved_.contains({object->type().get(), node->s(attr::name)})) {
            keepWhole(value.toObject());  // another module may be put in its place
          } else {
            objects_[node->output()] = value.toObject();
          }
        }
      }
      for (Block* inner : node->blocks()) follow(inner);
      if (forked) follow((*forked)->block());
    }
    for (Value* output : block->outputs()) {
      if (const auto found = objects_.find(output); found != objects_.end()) keepWhole(found->second);
    }
  }

  static IValue valueOf(const c10::ivalue::Object& object, const std::string& name) {
    const auto slot = object.type()->findAttributeSlot(name);
    return slot ? readSlot(object, *slot) : IValue();
  }

  /// The module's attributes and methods stay, and those of the modules below it.
  void keepWhole(const ObjectPtr& object) {
    if (!whole_.insert(object->type().get()).second) return;
    for (size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      kept_.insert({object->type().get(), object->type()->getAttributeName(slot)});
      // All objects of the class keep what they hold.
      for (const ObjectPtr& other : modules_) {
        if (other->type() != object->type()) continue;
        if (const IValue value = readSlot(*other, slot); holdsModule(value)) keepWhole(value.toObject());
      }
    }
  }

  void findWritten(Block* block, AliasDb& memory) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) findWritten(inner, memory);
      if (node->kind() != prim::GetAttr) continue;
      const auto* type = node->input(0)->type()->castRaw<c10::ClassType>();
      if (type && type->is_module() && !objects_.contains(node->output()) && memory.hasWriters(node->output()))
        kept_.insert({type, node->s(attr::name)});
    }
  }

  /// An attribute that shares memory with one that stays must stay too: as a constant it would be saved separately.
  void keepWhatShares() {
    std::unordered_set<const void*> memory;
    std::set<AttributeKey> done;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ObjectPtr& module : modules_) {
        const auto& type = *module->type();
        for (size_t slot = 0; slot < type.numAttributes(); ++slot) {
          const IValue value = readSlot(*module, slot);
          if (holdsModule(value)) continue;
          const AttributeKey key{&type, type.getAttributeName(slot)};
          if (kept_.contains(key)) {
            const size_t before = memory.size();
            collectMemory(value, memory);
            changed |= memory.size() != before;
            continue;
          }
          std::unordered_set<const void*> own;
          collectMemory(value, own);
          if (std::none_of(own.begin(), own.end(), [&](const void* part) { return memory.contains(part); })) continue;
          kept_.insert(key);
          changed = true;
        }
      }
    }
  }

  // Rewriting.

  /// Attributes of interface types hold a module whose class is known here, so that calls of it can be inlined.
  bool setConcreteTypes(Block* block) {
    bool changed = false;
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) changed |= setConcreteTypes(inner);
      if (node->kind() != prim::GetAttr) continue;
      const auto found = objects_.find(node->output());
      if (found == objects_.end() || *node->output()->type() == *found->second->type()) continue;
      node->output()->setType(found->second->type());
      changed = true;
    }
    return changed;
  }

  bool fold(Block* block) {
    bool changed = false;
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) changed |= fold(inner);
      if (node->kind() != prim::GetAttr) continue;
      const auto found = objects_.find(node->input(0));
      if (found == objects_.end()) continue;
      const auto& type = *found->second->type();
      const auto slot = type.findAttributeSlot(node->s(attr::name));
      if (!slot || kept_.contains({&type, node->s(attr::name)})) continue;
      const IValue value = readSlot(*found->second, *slot);
      Graph& graph = node->graph();
      const InsertPointGuard guard(graph, node);
      Value* constant = constantOf(value, node, {found->second.get(), *slot});
      if (!constant) continue;
      node->output()->replaceAllUsesWith(constant);
      node->destroy();
      changed = true;
    }
    return changed;
  }

  /// What stands for the value in a graph; null if nothing does.
  Value* constantOf(const IValue& value, Node* node, std::pair<const void*, size_t> place) {
    Graph& graph = node->graph();
    const auto located = [&](Value* made) {
      made->node()->copyLocation(node);
      return made;
    };
    if (value.isTensor()) {
      if (!value.toTensor().defined()) return nullptr;
      at::Tensor& tensor = tensors_[place];
      if (!tensor.defined()) tensor = value.toTensor().requires_grad() ? value.toTensor().detach() : value.toTensor();
      return located(graph.insertConstant(tensor));
    }
    if (value.isInt() || value.isDouble() || value.isBool() || value.isString() || value.isNone() ||
        value.isComplexDouble() || value.isDevice() || value.isEnum())
      return located(graph.insertConstant(value, value.isNone() ? node->output()->type() : TypePtr()));
    if (value.isTuple()) {
      const auto* type = node->output()->type()->castRaw<c10::TupleType>();
      return type ? construct(prim::TupleConstruct, value.toTupleRef().elements().vec(), node, place) : nullptr;
    }
    // Each run makes a new list, so it must not be returned.
    if (value.isList() && isOnlyRead(node->output()))
      return construct(prim::ListConstruct, value.toListRef().vec(), node, place);
    return nullptr;
  }

  Value* construct(Symbol kind, const std::vector<IValue>& elements, Node* node, std::pair<const void*, size_t> place) {
    std::vector<Value*> values;
    for (const IValue& element : elements) {
      // Numbers and tensors only: for what is nested deeper, the attribute stays.
      if (element.isTensor()
              ? !element.toTensor().defined() || element.toTensor().requires_grad()
              : !(element.isInt() || element.isDouble() || element.isBool() || element.isString() || element.isNone()))
        return nullptr;
      values.push_back(nullptr);
    }
    (void)place;
    Graph& graph = node->graph();
    for (size_t i = 0; i < elements.size(); ++i) values[i] = graph.insertConstant(elements[i]);
    Node* made = graph.insertNode(graph.create(kind, values))->copyLocation(node);
    return made->output()->setType(node->output()->type());
  }

  static bool isOnlyRead(const Value* list) {
    for (const Use& use : list->uses()) {
      if (use.user->kind() == prim::ListUnpack) continue;
      const Operator* op = isStructural(use.user->kind()) ? nullptr : operatorOf(*use.user);
      if (!op || op->mayShareArguments()) return false;
      if (entryUse(*use.user) != EntryUse::Reads && !op->isPure()) return false;
    }
    return true;
  }

  void refuseSelf() {
    if (whole_.contains(root_->type().get())) {
      throw UserError(
          "attempted to freeze a module that return itself: it does, or it hands itself on to something that can't be "
          "inlined");
    }
  }

  // What is left.

  void findUsed(Block* block, std::set<AttributeKey>& used) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) findUsed(inner, used);
      if (const auto* forked = forkedBy(node)) findUsed((*forked)->block(), used);
      if (node->kind() != prim::GetAttr && node->kind() != prim::SetAttr) continue;
      if (const auto* type = node->input(0)->type()->castRaw<c10::ClassType>())
        used.insert({type, node->s(attr::name)});
    }
  }

  void prune() {
    std::set<AttributeKey> used = preserved_;
    for (const Entry& method : methods_) findUsed(method.graph->block(), used);
    std::set<c10::ClassType*> classes;
    for (const ObjectPtr& module : modules_) {
      c10::ClassType& type = *module->type();
      if (whole_.contains(&type)) continue;
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
        const bool stays =
            std::any_of(methods_.begin(), methods_.end(), [&](const Entry& entry) { return entry.function == method; });
        if (!stays) type->unsafeRemoveMethod(method->name());
      }
    }
  }

  Module result_;
  ObjectPtr root_;
  std::vector<ObjectPtr> modules_;
  std::vector<Entry> methods_;
  std::set<AttributeKey> preserved_, kept_;
  std::unordered_set<const void*> preserved_modules_;
  std::unordered_set<const c10::ClassType*> whole_;  // classes that lose nothing
  std::unordered_map<const Value*, ObjectPtr> objects_;
  std::map<std::pair<const void*, size_t>, at::Tensor> tensors_;  // one constant per attribute
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
  std::vector<Graph*> forked;
  Freezer::collectForks(graph.block(), forked);
  for (Graph* one : forked) optimizeFrozen(*one, name, numerics);
}

}  // namespace

Module freeze(
    const Module& module, const std::optional<std::vector<std::string>>& preserved_attrs, bool optimize_numerics) {
  if (module.hasattr("training") && module.is_training()) {
    throw UserError(
        "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
        "freezing.");
  }
  const std::vector<std::string> preserved = preserved_attrs.value_or(std::vector<std::string>());
  refuseHooks(module);
  for (const std::string& path : preserved) refuseHooksAt(module, path);
  DefinitionScope scope(*module.program());
  Module frozen = Freezer(module, preserved).run();
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
    allowAnyLayout(graph->block());
    function.setGraph(graph);
  }
  return result;
}

}  // namespace cresset
