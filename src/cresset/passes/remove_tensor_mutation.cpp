// Tensors that are changed right after they were made: `y = x @ w; y.relu_()` becomes `y = x @ w; z = y.relu()`, so
// that fusion and other passes see values only.
//
// The memory must be known to this block alone: the tensor is fresh, and what used it before the change only read it.
// The operator without underscore must give the same tensor: dtype float or double, all other arguments real numbers,
// so that size and dtype stay; and the tensor comes from an operator whose results are contiguous: others may give a
// dimension of size 1 any stride, which the next elementwise operator makes up anew. And no gradient may flow through:
// autograd has errors for tensors that were changed after they were saved.
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/gradients.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

/// Whether what the node makes is of float or double, and no gradient flows into it. The types of tensors that
/// something writes to keep quiet about gradients: there, what goes into the node tells.
bool givesPlainFloat(const Node* node) {
  const auto* tensor = node->output()->type()->castRaw<c10::TensorType>();
  if (!tensor || (tensor->scalarType() != at::kFloat && tensor->scalarType() != at::kDouble)) return false;
  const auto inputs = node->inputs();
  return !mayRequireGrad(node->output()->type()) ||
         std::none_of(inputs.begin(), inputs.end(), [](const Value* input) { return mayRequireGrad(input->type()); });
}

bool givesContiguous(Node* node) {
  if (isStructural(node->kind()) || node->outputs().size() != 1) return false;
  const Operator* op = operatorOf(*node);
  if (!op || op->mayShareArguments() || op->schema().returns().size() != 1 ||
      op->schema().returns()[0].alias_info() != nullptr)
    return false;
  static constexpr std::string_view kContiguous[] = {"aten::mm",   "aten::addmm", "aten::bmm",  "aten::linear",
                                                     "aten::rand", "aten::randn", "aten::ones", "aten::zeros"};
  return std::find(std::begin(kContiguous), std::end(kContiguous), op->fullName()) != std::end(kContiguous);
}

/// Whether the node only reads this input, and nothing that it gives is memory of it.
bool onlyReads(const Use& use) {
  if (isStructural(use.user->kind())) return false;
  const Operator* op = operatorOf(*use.user);
  if (op && op->kernel() && op->isPure()) {  // aten::size, prim::dtype: what comes out holds no tensor
    const auto outputs = use.user->outputs();
    return std::none_of(
        outputs.begin(), outputs.end(), [](const Value* output) { return mayHoldTensors(*output->type()); });
  }
  if (!op || !op->isOfDispatcher() || op->mayShareArguments() || op->schema().is_vararg() ||
      op->schema().aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE)
    return false;
  const auto& arguments = op->schema().arguments();
  return use.offset < arguments.size() && !arguments[use.offset].alias_info();
}

/// aten::relu for aten::relu_, with the same arguments; null if there is none.
const Operator* withoutUnderscore(const Operator& op) {
  const auto& schema = op.schema();
  const std::string& name = schema.name();
  if (name.empty() || name.back() != '_' || !op.isPointwise() || schema.returns().size() != 1) return nullptr;
  if (name == "aten::logical_not_") return nullptr;  // its twin gives bools
  const std::string overload = schema.overload_name().empty() ? "" : "." + schema.overload_name();
  const Operator* twin = OperatorTable::get().find(name.substr(0, name.size() - 1) + overload);
  if (!twin || !twin->isPure() || twin->schema().arguments().size() != schema.arguments().size() ||
      twin->schema().returns().size() != 1)
    return nullptr;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto &mine = schema.arguments()[i], &theirs = twin->schema().arguments()[i];
    if (mine.name() != theirs.name() || *mine.type() != *theirs.type()) return nullptr;
    if ((mine.alias_info() != nullptr) != (i == 0)) return nullptr;
  }
  return twin;
}

/// A number that a tensor of floats takes; complex ones would make a new tensor complex.
bool isScalar(const Value* value) {
  const c10::TypeKind kind = value->type()->kind();
  return isScalarType(*value->type()) && kind != c10::TypeKind::ComplexType && kind != c10::TypeKind::NumberType;
}

class Rewriter {
 public:
  bool run(Block* block) {
    for (Node* node : block->nodesSafely()) {
      useCurrent(node);
      if (rewrite(node)) {
        changed_ = true;
        continue;
      }
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        // Autograd may keep the tensor for a backward pass, which fails if it was written to.
        if (unshared_.contains(node->input(i)) && (givesGradients(node) || !onlyReads({node, i})))
          unshared_.erase(node->input(i));
      }
      for (Block* inner : node->blocks()) run(inner);
      if (givesContiguous(node) && givesPlainFloat(node)) unshared_.insert(node->output());
    }
    useCurrent(block->returnNode());
    for (const Value* output : block->outputs()) unshared_.erase(output);
    return changed_;
  }

 private:
  /// Lets the node use what the tensors that it names have become.
  void useCurrent(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      Value* now = node->input(i);
      for (auto found = current_.find(now); found != current_.end(); found = current_.find(now)) {
        // Halves the way, so that a tensor that is changed many times is found at once.
        if (const auto next = current_.find(found->second); next != current_.end()) found->second = next->second;
        now = found->second;
      }
      if (now != node->input(i)) node->replaceInput(i, now);
    }
  }

  bool rewrite(Node* node) {
    if (isStructural(node->kind()) || node->inputs().empty() || node->outputs().size() != 1) return false;
    Value* tensor = node->input(0);
    if (!unshared_.contains(tensor) || tensor->owningBlock() != node->owningBlock()) return false;
    const Operator* op = operatorOf(*node);
    const Operator* twin = op ? withoutUnderscore(*op) : nullptr;
    const auto inputs = node->inputs();
    if (!twin || !std::all_of(++inputs.begin(), inputs.end(), isScalar)) return false;
    node->setKind(twin->kind());
    node->bindOperator(twin);
    current_[tensor] = node->output()->setType(tensor->type());
    unshared_.insert(node->output());
    return true;
  }

  std::unordered_set<const Value*> unshared_;  // fresh, and only read so far
  std::unordered_map<const Value*, Value*> current_;
  bool changed_ = false;
};

}  // namespace

bool removeTensorMutation(Graph& graph) {
  return Rewriter().run(graph.block());
}

}  // namespace cresset
