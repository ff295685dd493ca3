#include "cresset/autodiff/specialized_rules.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

/// The table is emptied when it is full.
constexpr size_t kMaxSpecializedRules = 1024;

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}

/// Constants that passes fold, and that are distinguished by their values. Others are as good as inputs.
bool isSimple(const c10::IValue& value) {
  return value.isNone() || value.isInt() || value.isBool() || value.isDouble() || value.isString() || value.isDevice();
}

uint64_t bitsOf(double value) {
  uint64_t bits = 0;
  static_assert(sizeof(bits) == sizeof(value));
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

bool isSameConstant(const c10::IValue& a, const c10::IValue& b) {
  if (a.isDouble() && b.isDouble()) return bitsOf(a.toDouble()) == bitsOf(b.toDouble());  // -0.0 is not 0.0
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  if (a.isDevice() && b.isDevice()) return a.toDevice() == b.toDevice();
  return a.isNone() && b.isNone();
}

size_t hashOf(const c10::IValue& value) {
  if (value.isDouble()) return bitsOf(value.toDouble());
  if (value.isInt()) return static_cast<size_t>(value.toInt());
  if (value.isBool()) return value.toBool();
  if (value.isString()) return std::hash<std::string_view>()(value.toStringView());
  return 0;
}

/// Whether the node, or one in its blocks, writes: to lists of a rule's own.
bool writes(Node* node) {
  const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
  if (op && op->isMutable()) return true;
  const auto blocks = node->blocks();
  return std::any_of(blocks.begin(), blocks.end(), [](const Block* block) {
    const auto nodes = block->nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](Node* inner) { return writes(inner); });
  });
}

/// Keeps what writes to lists of a rule's own.
void removeUnused(Block* block) {
  for (Node* node = block->returnNode()->prev(); node != block->returnNode();) {
    Node* previous = node->prev();
    const auto outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), [](const Value* output) { return output->hasUses(); }) &&
        !writes(node)) {
      node->destroy();
    } else {
      for (Block* inner : node->blocks()) removeUnused(inner);
    }
    node = previous;
  }
}

}  // namespace

void RuleOperands::addUnused() {
  operands_.push_back({Kind::Unused, 0, nullptr, {}});
}

void RuleOperands::add(const TypePtr& type) {
  operands_.push_back({Kind::Input, 0, type, {}});
}

void RuleOperands::add(Value* value, std::vector<Value*>& inputs) {
  if (auto constant = toIValue(value); constant && isSimple(*constant)) return addConstant(*constant, value->type());
  if (!isConstant(value) && value->node()->kind() == prim::ListConstruct) {
    addList(value->node()->inputs().size(), value->type());
    for (Value* element : value->node()->inputs()) add(element, inputs);
    return;
  }
  add(value->type());
  inputs.push_back(value);
}

void RuleOperands::addConstant(const c10::IValue& value, const TypePtr& type) {
  operands_.push_back({Kind::Constant, 0, type, value});
}

void RuleOperands::addList(size_t size, const TypePtr& type) {
  operands_.push_back({Kind::List, size, type, {}});
}

bool RuleOperands::operator==(const RuleOperands& other) const {
  const auto isSame = [](const Operand& a, const Operand& b) {
    if (a.kind != b.kind || a.size != b.size) return false;
    if (a.kind == Kind::Unused) return true;
    return (a.type == b.type || *a.type == *b.type) &&
           (a.kind != Kind::Constant || isSameConstant(a.constant, b.constant));
  };
  return std::equal(operands_.begin(), operands_.end(), other.operands_.begin(), other.operands_.end(), isSame);
}

size_t RuleOperands::hash() const {
  size_t hash = operands_.size();
  for (const Operand& operand : operands_) {
    hash = mix(hash, static_cast<size_t>(operand.kind) + 4 * operand.size);
    if (operand.kind == Kind::Constant) hash = mix(hash, hashOf(operand.constant));
    if (operand.kind != Kind::Input) continue;
    hash = mix(hash, static_cast<size_t>(operand.type->kind()));
    const auto* tensor = operand.type->castRaw<c10::TensorType>();
    if (tensor && tensor->dim()) hash = mix(hash, *tensor->dim());
  }
  return hash;
}

void simplifyRules(Graph& graph) {
  simplifyRule(graph);
  removeUnused(graph.block());
}

/// Makes the graph of a specialized rule.
class RuleSpecializer {
 public:
  RuleSpecializer(const Graph& rule, const RuleOperands& operands)
      : rule_(rule), operands_(operands.operands_), graph_(Graph::make()) {}

  std::shared_ptr<const Graph> run() {
    graph_->setInsertPoint(graph_->block());
    std::unordered_map<const Value*, Value*> copies;
    for (Value* input : rule_.inputs()) copies[input] = next();
    CRESSET_CHECK(next_ == operands_.size(), "a rule for other operands");
    const auto copyOf = [&](Value* value) { return copies.at(value); };
    for (Node* node : rule_.nodes()) {
      Node* copy = graph_->insertNode(graph_->createClone(node, copyOf));
      for (size_t i = 0; i < node->outputs().size(); ++i) copies[node->output(i)] = copy->output(i);
    }
    for (Value* output : rule_.outputs()) graph_->registerOutput(copyOf(output));
    simplifyRules(*graph_);
    return graph_;
  }

 private:
  Value* next() {
    using Kind = RuleOperands::Kind;
    const auto& operand = operands_.at(next_++);
    switch (operand.kind) {
      case Kind::Unused:
        return nullptr;
      case Kind::Input:
        return graph_->addInput()->setType(operand.type);
      case Kind::Constant:
        return graph_->insertConstant(operand.constant, operand.type);
      case Kind::List:
        break;
    }
    std::vector<Value*> elements;
    for (size_t i = 0; i < operand.size; ++i) elements.push_back(next());
    Node* list = graph_->insertNode(graph_->create(prim::ListConstruct, elements));
    return list->output()->setType(operand.type);
  }

  const Graph& rule_;
  const std::vector<RuleOperands::Operand>& operands_;
  std::shared_ptr<Graph> graph_;
  size_t next_ = 0;
};

namespace {

struct Key {
  std::shared_ptr<const Graph> rule;
  RuleOperands operands;
  bool operator==(const Key& other) const { return rule == other.rule && operands == other.operands; }
};

struct KeyHash {
  size_t operator()(const Key& key) const { return mix(std::hash<const void*>()(key.rule.get()), key.operands.hash()); }
};

struct Specialized {
  std::mutex mutex;
  std::unordered_map<Key, std::shared_ptr<const Graph>, KeyHash> rules;
  std::atomic<size_t> count{0};

  static Specialized& get() {
    static auto* table = new Specialized;
    return *table;
  }
};

}  // namespace

std::shared_ptr<const Graph> specializeRule(const std::shared_ptr<const Graph>& rule, const RuleOperands& operands) {
  Specialized& table = Specialized::get();
  Key key{rule, operands};
  {
    const std::lock_guard lock(table.mutex);
    if (const auto found = table.rules.find(key); found != table.rules.end()) return found->second;
  }
  table.count.fetch_add(1, std::memory_order_relaxed);
  auto made = RuleSpecializer(*rule, operands).run();
  const std::lock_guard lock(table.mutex);
  if (table.rules.size() >= kMaxSpecializedRules) table.rules.clear();
  return table.rules.try_emplace(std::move(key), std::move(made)).first->second;
}

size_t numSpecializedRules() {
  return Specialized::get().count.load(std::memory_order_relaxed);
}

}  // namespace cresset
