// A graph that runs under observation: which of its values turned out to be the same memory, and which nodes changed
// some. For tests of the alias analysis: whatever happens must have been reported as possible; how much of what is
// reported happens at all is a figure.
//
// The graph runs as the interpreter runs any other. After each node of a copy stands a call of the host
// (ops/host_callable.h) that takes what the node returned. So programs without observers pay nothing.
//
// What was seen is kept by the memory, not by the value: storages of tensors stay alive until the call ends, containers
// leave their address reserved. So no address ever stands for two things, and what an operator does differently for
// something without other references, it does as ever.
#include <ATen/core/Dict.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/host_callable.h"
#include "cresset/python/graph_handles.h"

namespace cresset::python {

namespace {

using Address = const void*;

bool isContainer(const IValue& value) {
  return value.isList() || value.isGenericDict() || value.isTuple() || value.isObject();
}

/// What two values share if a write to one shows in the other; null for numbers and the like, and for tuples, which
/// nothing writes to: they only reach memory.
Address memoryOf(const IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  }
  return isContainer(value) && !value.isTuple() ? value.internalToPointer() : nullptr;
}

template <typename Visit>
void forEachElement(const IValue& container, Visit&& visit) {
  if (container.isList()) {
    for (const IValue& element : container.toListRef()) visit(element);
  } else if (container.isTuple()) {
    for (const IValue& element : container.toTupleRef().elements()) visit(element);
  } else if (container.isObject()) {
    for (const IValue& slot : container.toObjectRef().slots()) visit(slot);
  } else if (container.isGenericDict()) {
    for (const auto& entry : container.toGenericDict()) {
      visit(entry.key());
      visit(entry.value());
    }
  }
}

/// Differs if elements of a container differ; those that are memory themselves are distinguished by their address.
uint64_t mark(const IValue& element) {
  if (element.isTensor()) return reinterpret_cast<uint64_t>(element.toTensor().unsafeGetTensorImpl());
  if (isContainer(element)) return reinterpret_cast<uint64_t>(element.internalToPointer());
  if (element.isInt()) return static_cast<uint64_t>(element.toInt());
  if (element.isBool()) return element.toBool();
  if (element.isString()) return std::hash<std::string>()(element.toStringRef());
  if (element.isDouble()) {
    uint64_t bits = 0;
    const double number = element.toDouble();
    std::memcpy(&bits, &number, sizeof(bits));
    return bits;
  }
  return 0;
}

constexpr size_t kMaxMemories = 4000;
constexpr size_t kMaxBytes = size_t(1) << 14;

/// One memory that was seen during a call.
class Memory {
 public:
  explicit Memory(const IValue& value) {
    if (value.isTensor())
      storage_ = value.toTensor().storage();
    else
      container_ = c10::WeakIValue(value);
    hasChanged();
  }

  IValue container() const { return storage_ ? IValue() : container_.lock(); }

  /// Whether it holds something else than when this was last asked.
  bool hasChanged() {
    if (storage_) {
      if (!storage_.device().is_cpu() || storage_.nbytes() > kMaxBytes) return false;
      const auto* bytes = static_cast<const char*>(storage_.data());
      if (bytes_.size() == storage_.nbytes() &&
          (bytes_.empty() || std::memcmp(bytes_.data(), bytes, bytes_.size()) == 0))
        return false;
      bytes_.assign(bytes, bytes + storage_.nbytes());
      return true;
    }
    const IValue alive = container_.lock();
    if (alive.isNone()) return false;
    std::vector<uint64_t> marks;
    forEachElement(alive, [&](const IValue& element) { marks.push_back(mark(element)); });
    if (marks == marks_) return false;
    marks_ = std::move(marks);
    return true;
  }

  std::set<uint32_t> owners;    // values that were this memory
  std::set<uint32_t> reachers;  // values from which it was reached

 private:
  c10::Storage storage_;
  c10::WeakIValue container_;
  std::vector<char> bytes_;
  std::vector<uint64_t> marks_;
};

class Observation {
 public:
  explicit Observation(const std::shared_ptr<Graph>& graph) : graph_(graph), aliases_(*graph) {}

  const std::shared_ptr<Graph>& graph() const { return graph_; }

  uint32_t addValue(Value* value) {
    values_.push_back(value);
    return static_cast<uint32_t>(values_.size() - 1);
  }

  /// `node` (null for the start of a block) has run and given `values`.
  void see(Node* node, const std::vector<uint32_t>& indices, std::span<const IValue> values) {
    findChanges(node);
    for (size_t i = 0; i < indices.size(); ++i) {
      ran_.insert(indices[i]);
      if (Memory* memory = find(values[i])) memory->owners.insert(indices[i]);
      noteReached(indices[i], values[i]);
    }
  }

  /// The end of a call, which may have raised. What the analysis did not report.
  std::vector<std::string> finish() {
    noteAllReached();
    std::vector<std::string> faults;
    const auto name = [&](uint32_t value) { return "%" + values_[value]->debugName(); };
    const auto meet = [&](const std::set<uint32_t>& values, Pairs& pairs, auto may, const char* what) {
      for (auto a = values.begin(); a != values.end(); ++a) {
        for (auto b = std::next(a); b != values.end(); ++b) {
          if (!pairs.insert(pair(*a, *b)).second || may(values_[*a], values_[*b])) continue;
          faults.push_back(name(*a) + " and " + name(*b) + what);
        }
      }
    };
    for (const auto& [address, memory] : memories_) {
      were_memory_.insert(memory.owners.begin(), memory.owners.end());
      meet(
          memory.owners, same_, [&](Value* a, Value* b) { return aliases_.mayAlias(a, b); }, " are the same memory");
      meet(
          memory.reachers, meeting_, [&](Value* a, Value* b) { return aliases_.mayContainAlias(a, b); },
          " reach the same memory");
    }
    for (const auto& [node, address] : changes_) {
      const Memory& memory = memories_.at(address);
      for (uint32_t owner : memory.owners) {
        changed_.insert(owner);
        Value* value = values_[owner];
        if (!aliases_.hasWriters(value)) faults.push_back(name(owner) + " has been written to");
        if (!node) continue;  // between nodes: nothing of the graph's
        if (!aliases_.writesToAlias(node, std::span(&value, 1)))
          faults.push_back(name(owner) + " is written to by " + cresset::toString(*node));
        if (!aliases_.isMutable(node)) faults.push_back("a node writes: " + cresset::toString(*node));
      }
    }
    for (auto a = ran_.begin(); a != ran_.end(); ++a) {
      for (auto b = std::next(a); b != ran_.end(); ++b) together_.insert(pair(*a, *b));
    }
    ever_ran_.insert(ran_.begin(), ran_.end());
    ran_.clear();
    changes_.clear();
    holders_.clear();
    memories_.clear();
    return faults;
  }

  /// Pairs of values that may alias, as far as the graph tells, and did not in any call.
  std::vector<std::pair<Value*, Value*>> neverSeen() {
    std::vector<std::pair<Value*, Value*>> found;
    for (uint64_t both : together_) {
      Value *a = values_[both >> 32], *b = values_[both & UINT32_MAX];
      if (!wereMemory(both) || same_.contains(both) || (comesFromOutside(a) && comesFromOutside(b))) continue;
      if (aliases_.mayAlias(a, b)) found.emplace_back(a, b);
    }
    return found;
  }

  /// Of pairs of values that both came into being in one call, and of values.
  std::map<std::string, size_t> figures() {
    std::map<std::string, size_t> counts;
    for (uint64_t both : together_) {
      Value *a = values_[both >> 32], *b = values_[both & UINT32_MAX];
      // Of two that come from outside, nothing in the graph could tell.
      const bool outside = comesFromOutside(a) && comesFromOutside(b);
      const auto count = [&](bool reported, const Pairs& seen, const std::string& what) {
        if (!reported) return;
        ++counts[what + " reported"];
        if (!seen.contains(both)) ++counts[what + " never seen"];
      };
      ++counts["pairs"];
      count(wereMemory(both) && aliases_.mayAlias(a, b), same_, outside ? "aliases outside" : "aliases");
      if (!isTensor(a) || !isTensor(b))  // of two tensors, that is the same as above
        count(aliases_.mayContainAlias(a, b), meeting_, outside ? "contained outside" : "contained");
    }
    for (uint32_t value : ever_ran_) {
      if (!aliases_.hasWriters(values_[value])) continue;
      ++counts["writes reported"];
      if (!changed_.contains(value)) ++counts["writes never seen"];
    }
    return counts;
  }

 private:
  using Pairs = std::unordered_set<uint64_t>;
  static uint64_t pair(uint32_t a, uint32_t b) { return uint64_t(a) << 32 | b; }
  static bool isTensor(const Value* value) { return value->type()->kind() == c10::TypeKind::TensorType; }

  bool comesFromOutside(const Value* value) { return aliases_.mayAliasWorld(value); }

  /// Whether both ever were memory: not None, no tuples.
  bool wereMemory(uint64_t both) const {
    return were_memory_.contains(static_cast<uint32_t>(both >> 32)) &&
           were_memory_.contains(static_cast<uint32_t>(both));
  }

  /// Null if it is none, or if there are too many: a call of that many is watched in part.
  Memory* find(const IValue& value) {
    const Address address = memoryOf(value);
    if (!address) return nullptr;
    const auto found = memories_.find(address);
    if (found != memories_.end()) return &found->second;
    if (memories_.size() == kMaxMemories) return nullptr;
    return &memories_.try_emplace(address, value).first->second;
  }

  void noteReached(uint32_t index, const IValue& value) {
    if (isContainer(value) && !value.isTuple()) holders_.insert({index, memoryOf(value)});
    std::unordered_set<Address> passed;
    std::vector<IValue> waiting{value};
    while (!waiting.empty()) {
      const IValue next = std::move(waiting.back());
      waiting.pop_back();
      if (!next.isTensor() && !isContainer(next)) continue;
      if (!next.isTuple()) {
        const Address address = memoryOf(next);
        if (!address || !passed.insert(address).second) continue;
        if (Memory* memory = find(next)) memory->reachers.insert(index);
      }
      forEachElement(next, [&](const IValue& element) { waiting.push_back(element); });
    }
  }

  void noteAllReached() {
    for (const auto& [index, address] : std::set(holders_)) {
      const IValue alive = memories_.contains(address) ? memories_.at(address).container() : IValue();
      if (!alive.isNone()) noteReached(index, alive);
    }
  }

  void findChanges(Node* node) {
    bool containers = false;
    for (auto& [address, memory] : memories_) {
      if (!memory.hasChanged()) continue;
      changes_.insert({node, address});
      containers |= !memory.container().isNone();
    }
    if (containers) noteAllReached();
  }

  std::shared_ptr<Graph> graph_;
  AliasDb aliases_;
  std::vector<Value*> values_;
  // of this call
  std::unordered_map<Address, Memory> memories_;
  std::set<std::pair<Node*, Address>> changes_;
  std::set<std::pair<uint32_t, Address>> holders_;  // values that were containers
  std::set<uint32_t> ran_;
  // of all calls
  Pairs same_, meeting_, together_;
  std::set<uint32_t> ever_ran_, were_memory_, changed_;
};

/// A place in the instrumented graph.
class ObservedPlace final : public HostCallable {
 public:
  ObservedPlace(std::shared_ptr<Observation> observation, Node* node, std::vector<uint32_t> values)
      : observation_(std::move(observation)), node_(node), values_(std::move(values)) {}
  std::string name() const override { return "observe"; }
  void call(Stack& stack, size_t num_args) const override {
    observation_->see(node_, values_, std::span<const IValue>(stack).last(num_args));
    stack.resize(stack.size() - num_args);
    stack.emplace_back();
  }

 private:
  std::shared_ptr<Observation> observation_;
  Node* node_;
  std::vector<uint32_t> values_;
};

/// A call of the host before the graph's insertion point.
void insertPlace(
    Graph& graph, const std::shared_ptr<Observation>& observation, Node* node, std::span<Value* const> known,
    std::span<Value* const> running) {
  std::vector<uint32_t> indices;
  std::vector<Value*> taken;
  for (size_t i = 0; i < known.size(); ++i) {
    if (isImmutableType(*known[i]->type())) continue;
    indices.push_back(observation->addValue(known[i]));
    taken.push_back(running[i]);
  }
  if (!node && taken.empty()) return;
  const c10::intrusive_ptr<HostCallable> place =
      c10::make_intrusive<ObservedPlace>(observation, node, std::move(indices));
  insertHostCall(graph, place, taken, c10::NoneType::get());
}

/// Watches each node of `running`, a copy of `known`.
void watch(const std::shared_ptr<Observation>& observation, Block* known, Block* running) {
  Graph& graph = running->graph();
  std::vector<std::pair<Node*, Node*>> nodes;
  auto other = running->nodes().begin();
  for (Node* node : known->nodes()) {
    nodes.emplace_back(node, *other);
    ++other;
  }
  const InsertPointGuard guard(graph, running->nodes().front());
  insertPlace(graph, observation, nullptr, known->inputs(), running->inputs());
  for (const auto& [node, copy] : nodes) {
    for (size_t i = 0; i < node->blocks().size(); ++i) watch(observation, node->blocks()[i], copy->blocks()[i]);
    const auto outputs = node->outputs();
    if (node->kind() == prim::Constant && isImmutableType(*outputs[0]->type())) continue;
    graph.setInsertPoint(copy->next());
    insertPlace(graph, observation, node, outputs, copy->outputs());
  }
}

struct ObserverHandle {
  std::shared_ptr<Graph> graph;  // keeps the program that it names alive
  std::shared_ptr<Observation> observation;
  py::object function;
};

ObserverHandle observe(const GraphHandle& graph) {
  const std::shared_ptr<Graph> known = graph->copy(), running = graph->copy();
  auto observation = std::make_shared<Observation>(known);
  watch(observation, known->block(), running->block());
  CompilationUnit unit;
  Function* function = nullptr;
  {
    py::gil_scoped_release no_gil;
    function = unit.create_function(std::string("observed"), running);
  }
  return {graph.graph, std::move(observation), makeFunction(unit.program(), *function)};
}

}  // namespace

void bindObserving(py::module_& module) {
  py::class_<ObserverHandle>(
      module, "_Observer", py::module_local(), "Runs a graph and compares with what the alias analysis says of it.")
      .def(py::init(&observe), py::arg("graph"))
      .def_readonly("function", &ObserverHandle::function)
      .def(
          "finish", [](const ObserverHandle& self) { return self.observation->finish(); },
          "To be called after each call of the function: what happened and was not reported.")
      .def(
          "never_seen",
          [](const ObserverHandle& self) {
            std::vector<std::pair<ValueHandle, ValueHandle>> found;
            for (const auto& [a, b] : self.observation->neverSeen())
              found.push_back({{self.observation->graph(), a}, {self.observation->graph(), b}});
            return found;
          },
          "The pairs of values that the figure 'aliases never seen' counts.")
      .def(
          "figures", [](const ObserverHandle& self) { return self.observation->figures(); },
          "How much was reported, and how much of it never happened in any call.");
}

}  // namespace cresset::python
