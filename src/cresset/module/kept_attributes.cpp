#include "cresset/module/kept_attributes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/object_slots.h"

namespace cresset {
namespace {

/// Whether a value of the type is memory in which nothing else has memory of its own: a tensor, a list of numbers.
bool isPlainMemory(const TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>()) return isPlainMemory(optional->getElementType());
  if (type->kind() == c10::TypeKind::TensorType) return true;
  if (type->kind() != c10::TypeKind::ListType && type->kind() != c10::TypeKind::DictType) return false;
  const auto parts = type->containedTypes();
  return std::all_of(parts.begin(), parts.end(), [](const TypePtr& part) { return isScalarType(*part); });
}

/// Adds what tells the memory of a value, and of all in it. `tuples`, which have none that could be written to, are
/// visited once, too.
void collectMemory(
    const IValue& root, std::unordered_set<const void*>& memory, std::unordered_set<const void*>& tuples) {
  std::vector<IValue> open{root};
  while (!open.empty()) {
    const IValue value = std::move(open.back());
    open.pop_back();
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      if (!tensor.defined()) continue;
      memory.insert(tensor.unsafeGetTensorImpl());
      if (tensor.has_storage()) memory.insert(tensor.storage().unsafeGetStorageImpl());
      continue;
    }
    if (!value.isPtrType() || value.isString() || value.isNone()) continue;
    const void* pointer = value.internalToPointer();
    if (value.isTuple()) {
      if (!tuples.insert(pointer).second) continue;
      const auto& elements = value.toTupleRef().elements();
      open.insert(open.end(), elements.begin(), elements.end());
      continue;
    }
    if (!memory.insert(pointer).second) continue;
    if (value.isList()) {
      const auto elements = value.toListRef();
      open.insert(open.end(), elements.begin(), elements.end());
    } else if (value.isGenericDict()) {
      for (const auto& entry : value.toGenericDict()) {
        open.push_back(entry.key());
        open.push_back(entry.value());
      }
    } else if (value.isObject()) {
      const auto object = value.toObject();
      for (size_t i = 0; i < object->slots().size(); ++i) open.push_back(readSlot(*object, i));
    }
  }
}

void collectMemory(const IValue& value, std::unordered_set<const void*>& memory) {
  std::unordered_set<const void*> tuples;
  collectMemory(value, memory, tuples);
}

IValue valueOf(const c10::ivalue::Object& object, const std::string& name) {
  const auto slot = object.type()->findAttributeSlot(name);
  return slot ? readSlot(object, *slot) : IValue();
}

void forgetMemoryOfAttributes(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) forgetMemoryOfAttributes(inner);
    if (node->kind() == prim::GetAttr) setMemory(*node, {});
  }
}

void collectWriting(Block* block, AliasDb& memory, std::vector<const Node*>& writing) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) collectWriting(inner, memory, writing);
    if (node->blocks().empty() && memory.isMutable(node)) writing.push_back(node);
  }
}

void collectForks(Block* block, int depth, std::vector<std::pair<Graph*, int>>& graphs) {
  for (Node* node : block->nodes()) {
    if (const auto* forked = forkedBy(node)) {
      graphs.emplace_back(forked->get(), depth);
      collectForks((*forked)->block(), depth + 1, graphs);
    }
    for (Block* inner : node->blocks()) collectForks(inner, depth, graphs);
  }
}

}  // namespace

const std::shared_ptr<Graph>* forkedBy(const Node* node) {
  return runsApart(*node) ? &node->g(attr::Subgraph) : nullptr;
}

std::vector<std::pair<Graph*, int>> withForkDepths(Graph& graph) {
  std::vector<std::pair<Graph*, int>> graphs{{&graph, 0}};
  collectForks(graph.block(), 1, graphs);
  return graphs;
}

std::vector<Graph*> withForks(Graph& graph) {
  std::vector<Graph*> graphs;
  for (const auto& [each, depth] : withForkDepths(graph)) graphs.push_back(each);
  return graphs;
}

KeptAttributes::KeptAttributes(const Module& module) : root_(module._ivalue()) {
  for (const Module& one : module.modules()) modules_.push_back(one._ivalue());
  findObjects();
}

/// Objects of other classes that are attributes: their attributes are folded like those of modules.
void KeptAttributes::findObjects() {
  objects_with_attributes_ = modules_;
  std::unordered_set<const c10::ivalue::Object*> seen;
  std::unordered_set<const void*> tuples;
  for (size_t i = 0; i < objects_with_attributes_.size(); ++i) {
    const ObjectPtr object = objects_with_attributes_[i];
    for (size_t slot = 0; slot < object->slots().size(); ++slot) {
      const IValue value = readSlot(*object, slot);
      if (!value.isObject()) {
        collectMemory(value, in_containers_, tuples);
      } else if (!holdsModule(value) && seen.insert(value.toObject().get()).second) {
        objects_with_attributes_.push_back(value.toObject());
      }
    }
  }
}

/// Whether every place that reads the object can be told: containers hand theirs on to anybody.
bool KeptAttributes::isFollowed(const IValue& value) const {
  return value.isObject() && (holdsModule(value) || !in_containers_.contains(value.toObject().get()));
}

void KeptAttributes::analyze(const std::vector<EntryMethod>& methods) {
  objects_.clear();
  kept_ = preserved_;
  written_within_.clear();
  escaped_.clear();
  whole_.clear();
  assigned_.clear();
  for (const EntryMethod& method : methods) {
    // The objects of a class share its code, which must not hold what one of them holds.
    if (method.object != root_ && isShared(*method.object->type())) keepWhole(method.object);
  }
  size_t graphs = 0;
  bool assigns_memory = false;
  for (const EntryMethod& method : methods) {
    graphs += withForks(*method.graph).size();
    findAssigned(method.graph->block(), assigns_memory);
  }
  for (const EntryMethod& method : methods) {
    objects_[method.graph->inputs()[0]] = method.object;
    follow(method.graph->block());
  }
  for (const ObjectPtr& module : modules_) {
    if (preserved_modules_.contains(module.get())) keepWhole(module);
  }
  // What one graph puts into an attribute, another one may write to.
  const bool told_apart = !assigns_memory || graphs == 1;
  for (const EntryMethod& method : methods) {
    for (Graph* graph : withForks(*method.graph)) {
      keepAssigned(graph->block());
      if (told_apart) setMemoryOfAttributes(graph->block());
      findWritten(*graph);
      forgetMemoryOfAttributes(graph->block());
    }
  }
  keepWhatShares();
}

bool KeptAttributes::isShared(const c10::ClassType& type) const {
  return std::count_if(modules_.begin(), modules_.end(), [&](const ObjectPtr& module) {
           return module->type().get() == &type;
         }) > 1;
}

void KeptAttributes::findAssigned(Block* block, bool& assigns_memory) {
  for (Node* node : block->nodes()) {
    if (node->kind() == prim::SetAttr) {
      if (const auto* type = node->input(0)->type()->castRaw<c10::ClassType>())
        assigned_.insert({type, node->s(attr::name)});
      assigns_memory |= !isScalarType(*node->input(1)->type());
    }
    for (Block* inner : node->blocks()) findAssigned(inner, assigns_memory);
    if (const auto* forked = forkedBy(node)) findAssigned((*forked)->block(), assigns_memory);
  }
}

/// An attribute of the object that a value is, or of all objects of its class if it can't be told which.
void KeptAttributes::keep(
    const Value* object, const c10::ClassType* type, const std::string& name, std::set<AttributeKey>& where) const {
  if (const auto found = objects_.find(object); found != objects_.end()) {
    where.insert({found->second.get(), name});
    return;
  }
  for (const ObjectPtr& one : objects_with_attributes_) {
    if (one->type().get() == type) where.insert({one.get(), name});
  }
}

void KeptAttributes::keepAssigned(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) keepAssigned(inner);
    if (node->kind() != prim::SetAttr) continue;
    if (const auto* type = node->input(0)->type()->castRaw<c10::ClassType>())
      keep(node->input(0), type, node->s(attr::name), kept_);
  }
}

void KeptAttributes::follow(Block* block) {
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
        if (!isFollowed(value)) continue;
        if (assigned_.contains({object->type().get(), node->s(attr::name)})) {
          keepWhole(value.toObject());  // another object may be put in its place
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

/// The object's attributes and methods stay, and those of the objects below it.
void KeptAttributes::keepWhole(const ObjectPtr& root) {
  std::vector<ObjectPtr> open{root};
  while (!open.empty()) {
    const ObjectPtr object = std::move(open.back());
    open.pop_back();
    if (!escaped_.insert(object.get()).second) continue;
    keepClass(*object->type());
    for (size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      kept_.insert({object.get(), object->type()->getAttributeName(slot)});
      if (const IValue value = readSlot(*object, slot); value.isObject()) open.push_back(value.toObject());
    }
  }
}

/// The class loses nothing, so all its objects keep what they hold.
void KeptAttributes::keepClass(const c10::ClassType& type) {
  if (!whole_.insert(&type).second) return;
  for (const ObjectPtr& object : modules_) {
    if (object->type().get() != &type) continue;
    for (size_t slot = 0; slot < type.numAttributes(); ++slot) {
      if (const IValue value = readSlot(*object, slot); holdsModule(value)) keepClass(*value.toObject()->type());
    }
  }
}

/// Attributes share memory only where their values do, which keepWhatShares looks at; the analysis of memory would
/// have to suspect each of them.
void KeptAttributes::setMemoryOfAttributes(Block* block) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) setMemoryOfAttributes(inner);
    if (node->kind() != prim::GetAttr) continue;
    const auto found = objects_.find(node->input(0));
    if (found == objects_.end() || !isPlainMemory(node->output()->type())) continue;
    const auto& type = *found->second->type();
    if (assigned_.contains({&type, node->s(attr::name)})) continue;
    const auto [number, added] =
        memory_numbers_.try_emplace({found->second.get(), node->s(attr::name)}, memory_numbers_.size());
    setMemory(*node, {static_cast<int64_t>(number->second)});
  }
}

void KeptAttributes::findWritten(Graph& graph) {
  const auto memory = aliasesOf(graph);
  std::vector<const Node*> writing;
  collectWriting(graph.block(), *memory, writing);
  if (!writing.empty()) findWritten(graph.block(), *memory, writing);
}

void KeptAttributes::findWritten(Block* block, AliasDb& memory, std::span<const Node* const> writing) {
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) findWritten(inner, memory, writing);
    if (node->kind() != prim::GetAttr || objects_.contains(node->output())) continue;
    const auto* type = node->input(0)->type()->castRaw<c10::ClassType>();
    if (!type) continue;
    Value* const output = node->output();
    if (memory.hasWriters(output)) {
      keep(node->input(0), type, node->s(attr::name), kept_);
    } else if (!isPlainMemory(output->type()) && !isScalarType(*output->type())) {
      const auto writes = [&](const Node* one) { return memory.writesToAlias(one, std::span(&output, 1)); };
      if (std::any_of(writing.begin(), writing.end(), writes))
        keep(node->input(0), type, node->s(attr::name), written_within_);
    }
  }
}

/// An attribute that shares memory with one that stays must stay too: as a constant it would be saved separately.
void KeptAttributes::keepWhatShares() {
  keepWhatSharesElements();
  std::unordered_set<const void*> memory;
  for (bool changed = true; changed;) {
    changed = false;
    for (const ObjectPtr& object : objects_with_attributes_) {
      const auto& type = *object->type();
      for (size_t slot = 0; slot < type.numAttributes(); ++slot) {
        const IValue value = readSlot(*object, slot);
        if (isFollowed(value)) continue;
        const AttributeKey key{object.get(), type.getAttributeName(slot)};
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

/// A constant tensor that is in a list or tuple may be written to, as long as nothing else reads its memory.
void KeptAttributes::keepWhatSharesElements() {
  std::unordered_map<const void*, size_t> owners;
  const auto forEach = [&](const auto& visit) {
    for (const ObjectPtr& object : objects_with_attributes_) {
      for (size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
        const IValue value = readSlot(*object, slot);
        if (isFollowed(value)) continue;
        std::unordered_set<const void*> own;
        collectMemory(value, own);
        visit(AttributeKey{object.get(), object->type()->getAttributeName(slot)}, own);
      }
    }
  };
  if (written_within_.empty()) return;
  forEach([&](const AttributeKey&, const std::unordered_set<const void*>& own) {
    for (const void* part : own) ++owners[part];
  });
  forEach([&](const AttributeKey& key, const std::unordered_set<const void*>& own) {
    const auto isShared = [&](const void* part) { return owners[part] > 1; };
    if (written_within_.contains(key) && std::any_of(own.begin(), own.end(), isShared)) kept_.insert(key);
  });
}

}  // namespace cresset
