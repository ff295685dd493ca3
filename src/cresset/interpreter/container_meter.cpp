// Weights of values. See container_meter.h.
#include "cresset/interpreter/container_meter.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue_inl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "cresset/ops/awaitables.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/support/dict_entries.h"

namespace cresset {

size_t ContainerMeter::ownWeight(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() ? kTensor : 0;
  if (value.isString()) return kHeader + value.toStringRef().capacity();
  if (value.isList()) return kHeader + listOf(value).list.capacity() * sizeof(c10::IValue);
  if (value.isGenericDict()) return kHeader + dictOf(value).dict.bucket_count() * kDictSlotBytes;
  if (value.isTuple()) return kHeader + value.toTupleRef().elements().size() * sizeof(c10::IValue);
  if (value.isFuture()) return kFuture;
  if (value.isAwait()) return kFuture + heldBy(*value.toAwait()).size() * sizeof(c10::IValue);
  if (value.isObject()) return kHeader + value.toObjectRef().slots().size() * sizeof(c10::IValue);
  return 0;
}

namespace {

/// The node that has recorded the tensor's operator. No new one is made, as Tensor::grad_fn() does for views that were
/// written to.
torch::autograd::Node* recordedNode(const at::Tensor& tensor) {
  const auto* meta = tensor.defined() ? torch::autograd::impl::get_autograd_meta(tensor) : nullptr;
  return meta ? meta->grad_fn_.get() : nullptr;
}

/// Beside ownWeight(): the node of autograd's graph that an operator has made of it.
size_t weightOfNode(const c10::IValue& value) {
  return value.isTensor() && recordedNode(value.toTensor()) ? ContainerMeter::kTapeNode : 0;
}

/// The weight of the nodes of autograd's graph that the tensor keeps and that are not among `seen`.
size_t weightOfTape(const at::Tensor& tensor, std::unordered_set<const void*>& seen) {
  std::vector<torch::autograd::Node*> open;
  size_t weight = 0;
  const auto visit = [&](torch::autograd::Node* node) {
    if (!node || !seen.insert(node).second) return;
    weight += ContainerMeter::kTapeNode;
    open.push_back(node);
  };
  visit(recordedNode(tensor));
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    for (const torch::autograd::Edge& edge : node->next_edges()) visit(edge.function.get());
  }
  return weight;
}

}  // namespace

size_t ContainerMeter::weightOfResult(const c10::IValue& value) {
  size_t weight = ownWeight(value) + weightOfNode(value);
  if (value.isList()) {
    for (const c10::IValue& element : listOf(value).list) weight += ownWeight(element) + weightOfNode(element);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements())
      weight += ownWeight(element) + weightOfNode(element);
  }
  return weight;
}

void ContainerMeter::audit(const std::vector<const c10::IValue*>& roots, size_t other) {
  size_t weight = other;
  std::unordered_set<const void*> seen;
  // Copies, since another thread may change an attribute that one points into.
  std::vector<c10::IValue> open;
  auto visit = [&](const c10::IValue& value) {
    const bool is_container = value.isString() || value.isList() || value.isGenericDict() || value.isTuple() ||
                              value.isObject() || value.isFuture() || value.isAwait();
    if (value.isTensor()) {
      if (seen.insert(value.toTensor().unsafeGetTensorImpl()).second)
        weight += ownWeight(value) + weightOfTape(value.toTensor(), seen);
    } else if (is_container && seen.insert(value.internalToPointer()).second)
      open.push_back(value);
  };
  for (const c10::IValue* root : roots) {
    visit(*root);
    while (!open.empty()) {
      const c10::IValue value = std::move(open.back());
      open.pop_back();
      weight += ownWeight(value);
      if (value.isList()) {
        for (const c10::IValue& element : listOf(value).list) visit(element);
      } else if (value.isGenericDict()) {
        for (const auto& [key, element] : dictOf(value).dict) {
          visit(key);
          visit(element);
        }
      } else if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) visit(element);
      } else if (value.isFuture()) {
        const auto future = value.toFuture();
        if (future->completed() && !future->hasError()) visit(future->value());
      } else if (value.isAwait()) {
        for (const c10::IValue& held : heldBy(*value.toAwait())) visit(held);
      } else if (value.isObject()) {
        const auto& object = value.toObjectRef();
        for (size_t slot = 0; slot < object.slots().size(); ++slot) visit(readSlot(object, slot));
      }
    }
  }
  budget_->addContainers(static_cast<int64_t>(weight) - counted_);
  counted_ = static_cast<int64_t>(weight);
  if (budget_->isOver(/*by_a_sixteenth=*/false)) budget_->throwOverMemory();
}

namespace {

/// How an operator cuts its first argument, by what its other arguments say.
enum class Pieces : uint8_t {
  Unbind,          // (dim)
  Split,           // (size of a piece, dim)
  Count,           // (number of pieces, …), at most one per element
  CountWithEmpty,  // (number of pieces, …)
  Sizes,           // (list of their sizes, …)
  Indices,         // (list of where it is cut, …)
  InTensor,        // (a tensor with the number of pieces, or with where it is cut, …)
};

constexpr ColumnCell<Pieces> kPieces[] = {
#define OPERATOR(name) {name, {}},
#define PIECES(rule) {{}, Pieces::rule},
#include "cresset/ops/table/table.def"
};

/// How many tensors an operator returns that cuts its first argument into pieces, at most; 0 for others.
size_t numPieces(const Operator& op, const std::vector<c10::IValue>& arguments) {
  static const auto* pieces = new auto(byOperator(kPieces));
  const auto found = pieces->find(op.fullName());
  if (found == pieces->end()) return 0;
  const Pieces rule = found->second;
  if (rule == Pieces::Sizes) return arguments[1].toListRef().size();
  if (rule == Pieces::Indices) return arguments[1].toListRef().size() + 1;
  if (rule == Pieces::InTensor) {
    const at::Tensor& cuts = arguments[1].toTensor();
    if (!cuts.defined() || cuts.scalar_type() != at::kLong || !cuts.is_cpu()) return 0;  // an error, as below
    if (cuts.dim() > 0) return static_cast<size_t>(cuts.numel()) + 1;
    return static_cast<size_t>(std::max<int64_t>(cuts.item<int64_t>(), 0));
  }
  const at::Tensor& tensor = arguments[0].toTensor();
  if (rule == Pieces::Count || rule == Pieces::CountWithEmpty) {
    int64_t most = arguments[1].toInt();
    if (rule == Pieces::Count) {
      int64_t largest = 0;
      for (int64_t size : tensor.sizes()) largest = std::max(largest, size);
      most = std::min(most, largest);
    }
    return static_cast<size_t>(std::max<int64_t>(most, 0));
  }
  int64_t dim = arguments[rule == Pieces::Unbind ? 1 : 2].toInt();
  if (dim < 0) dim += tensor.dim();
  if (dim < 0 || dim >= tensor.dim()) return 0;  // an error, which is the operator's to tell
  const int64_t piece = rule == Pieces::Unbind ? 1 : arguments[1].toInt();
  return piece > 0 ? static_cast<size_t>(tensor.size(dim) / piece) : 0;
}

}  // namespace

void ContainerMeter::requireFewDimensions(const std::vector<c10::IValue>& values) {
  constexpr int64_t kMost = 1000;
  for (const c10::IValue& value : values) {
    if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().dim() <= kMost) continue;
    throw ScriptRaise(
        kLimitErrorClass, "a tensor of a script that runs within limits has at most " + std::to_string(kMost) +
                              " dimensions, not " + std::to_string(value.toTensor().dim()));
  }
}

void ContainerMeter::requireResult(const Operator& op, const std::vector<c10::IValue>& arguments) const {
  requireFewDimensions(arguments);
  const size_t pieces = numPieces(op, arguments);
  if (pieces > 1) budget_->require(std::min(pieces, SIZE_MAX / 2 / kTensor) * kTensor);
}

}  // namespace cresset
