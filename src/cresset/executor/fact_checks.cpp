#include "cresset/executor/fact_checks.h"

#include <ATen/core/jit_type.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cresset/ir/constants.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

std::atomic<FactChecks>& checks() {
  static std::atomic<FactChecks> wanted = [] {
    const char* text = std::getenv("CRESSET_CHECK_FACTS");
    const std::string_view value = text ? text : "";
    return value.empty() || value == "0" ? FactChecks::Off
           : value == "all"              ? FactChecks::Unoptimized
                                         : FactChecks::InPlans;
  }();
  return wanted;
}

Symbol checkKind() {
  static const Symbol kind = Symbol::fromQualString("cresset::check_facts");
  return kind;
}

class CheckInserter {
 public:
  CheckInserter(Graph& graph, bool with_requires_grad) : graph_(graph), with_requires_grad_(with_requires_grad) {}

  void visit(Block* block) {
    for (Value* input : block->inputs()) {
      if (Node* check = checkOf(input, "an input of its block")) block->prependNode(check), addConstants(check);
    }
    for (Node* node : block->nodesSafely()) {
      if (isConstantNode(*node) || node->kind() == checkKind()) continue;
      const std::string name = node->kind().toQualString();
      for (Value* input : node->inputs()) {
        if (isConstantNode(*input->node())) continue;
        if (Node* check = checkOf(input, "before " + name)) check->insertBefore(node), addConstants(check);
      }
      for (Block* inner : node->blocks()) visit(inner);
      Node* last = node;
      for (Value* output : node->outputs()) {
        Node* check = checkOf(output, "after " + name);
        if (!check) continue;
        check->insertAfter(last);
        addConstants(check);
        last = check;
      }
    }
  }

 private:
  static bool isConstantNode(const Node& node) {
    return node.kind() == prim::Constant || node.kind() == prim::Uninitialized;
  }

  /// A node, not yet in a block, that asserts the type of the value; null if the type promises nothing.
  Node* checkOf(Value* value, const std::string& where) {
    const auto* type = value->type()->castRaw<c10::TensorType>();
    if (!type) return nullptr;
    const bool knows_grad = with_requires_grad_ && type->requiresGrad().has_value();
    if (!type->scalarType() && !type->dim() && !type->device() && !knows_grad) return nullptr;
    facts_ = {
        type->scalarType() ? static_cast<int64_t>(*type->scalarType()) : -1,
        type->dim() ? static_cast<int64_t>(*type->dim()) : -1,
        type->device() ? c10::IValue(*type->device()) : c10::IValue(),
        knows_grad ? int64_t(*type->requiresGrad()) : int64_t(-1),
        "%" + value->debugName() + " : " + cresset::toString(*type) + ", " + where};
    Node* check = graph_.create(checkKind(), {value}, 0);
    check->copyLocation(value->node());
    return check;
  }

  void addConstants(Node* check) {
    for (const c10::IValue& fact : facts_) check->addInput(insertConstantBefore(check, fact));
  }

  Graph& graph_;
  bool with_requires_grad_;
  std::vector<c10::IValue> facts_;  // of the check that was made last
};

}  // namespace

FactChecks factChecks() {
  return checks().load(std::memory_order_relaxed);
}

void setFactChecks(FactChecks wanted) {
  checks().store(wanted, std::memory_order_relaxed);
}

void insertFactChecks(Graph& graph, bool with_requires_grad) {
  CheckInserter(graph, with_requires_grad).visit(graph.block());
}

}  // namespace cresset
