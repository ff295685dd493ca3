// Sizes that PyTorch itself computed: in a backward pass, in functorch's transforms, and in assignments to parts of
// tensors, that run inside a traced program.
//
// Autograd saves the sizes of what it saw in the forward pass as plain ints, and its formulas give them to operators:
// the gradient of a sum is expanded to the size of what was summed. Whoever traces forces from an energy wants that for
// any number of atoms. So the tracer remembers, for each autograd node, the tensors of the operator that made it; when
// that node runs, a list of ints that is the shape of one of them is taken to be its shape. Other numbers that a
// formula computed from sizes stay constants, as under torch.jit, but for the divisor of a mean.
//
// vmap's rules align the dimensions of their operands by views that put dimensions of size 1 between.
#include <torch/csrc/autograd/function.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

constexpr size_t kMaxNodesOfOperator = 256;  // composite operators leave several

}  // namespace

void Recorder::rememberGradient(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
  if (!c10::GradMode::is_enabled()) return;
  std::vector<GradientNodePtr> pending;
  for (const at::Tensor& output : outputs) {
    if (output.defined() && output.requires_grad() && output.grad_fn()) pending.push_back(output.grad_fn());
  }
  for (size_t count = 0; !pending.empty() && count < kMaxNodesOfOperator; ++count) {
    GradientNodePtr node = std::move(pending.back());
    pending.pop_back();
    // Nodes that are known belong to operators that ran before.
    auto [it, is_new] = gradients_.try_emplace(node.get());
    if (!is_new) continue;
    it->second = {node, inputs, outputs};
    for (const auto& edge : node->next_edges()) {
      if (edge.function) pending.push_back(edge.function);
    }
  }
}

const Recorder::Gradient* Recorder::currentGradient() const {
  if (gradients_.empty()) return nullptr;
  const auto node = torch::autograd::get_current_node();
  auto it = gradients_.find(node.get());
  return it == gradients_.end() ? nullptr : &it->second;
}

Value* Recorder::shapeInBackward(at::IntArrayRef sizes) {
  const Gradient* gradient = sizes.empty() ? nullptr : currentGradient();
  if (!gradient) return nullptr;
  // The shape of a tensor, or else one in which reduced dimensions are 1.
  const auto isReduced = [](int64_t size, int64_t whole) { return size == whole || size == 1; };
  for (const bool exact : {true, false}) {
    for (const auto* tensors : {&gradient->inputs, &gradient->outputs}) {
      for (const at::Tensor& tensor : *tensors) {
        if (!tensor.defined() || tensor.is_nested() || tensor.dim() != static_cast<int64_t>(sizes.size())) continue;
        const at::IntArrayRef whole = tensor.sizes();
        if (exact ? whole != sizes : !std::equal(sizes.begin(), sizes.end(), whole.begin(), isReduced)) continue;
        Value* value = findTensor(tensor);
        if (!value) continue;
        if (exact) return insert(aten::size, std::array{value}, c10::ListType::ofInts());
        std::vector<Value*> elements;
        for (size_t dim = 0; dim < sizes.size(); ++dim) {
          const bool is_one = sizes[dim] != whole[dim];
          elements.push_back(
              is_one ? graph_->insertConstant(IValue(1)) : numberValue(size(tensor, static_cast<int64_t>(dim))));
        }
        return listOf(std::move(elements), c10::IntType::get());
      }
    }
  }
  return nullptr;
}

Value* Recorder::shapeInTransform(const at::Tensor& tensor, const IValue& list) {
  if (transforms_ == 0 || !tensor.defined() || tensor.is_nested() || tensor.dim() == 0) return nullptr;
  const std::vector<IValue> sizes = list.toListRef().vec();
  const at::IntArrayRef whole = tensor.sizes();
  std::vector<int64_t> origins(sizes.size(), -1);  // the dimension of `tensor` that each size is
  int64_t dim = tensor.dim() - 1;                  // shapes align at their ends
  for (size_t i = sizes.size(); i-- > 0;) {
    if (!sizes[i].isInt()) continue;  // symbolic already
    if (dim >= 0 && whole[static_cast<size_t>(dim)] == sizes[i].toInt()) {
      origins[i] = dim--;
    } else if (sizes[i].toInt() != 1) {
      return nullptr;
    }
  }
  if (dim >= 0 || !findTensor(tensor)) return nullptr;
  std::vector<Value*> elements;
  for (size_t i = 0; i < sizes.size(); ++i) {
    elements.push_back(origins[i] < 0 ? valueOf(sizes[i], c10::IntType::get()) : numberValue(size(tensor, origins[i])));
  }
  return listOf(std::move(elements), c10::IntType::get());
}

/// What is assigned to a part of a tensor (`x[:n] = y`) goes through a view that drops its leading 1s, and is expanded
/// to the part.
Value* Recorder::shapeInAssignment(Symbol kind, const at::Tensor& value, at::IntArrayRef sizes) {
  const at::Tensor& whole = kind == aten::expand ? call_.target : value;
  if (!whole.defined() || sizes.empty() || (kind != aten::expand && kind != aten::view)) return nullptr;
  const auto count = static_cast<int64_t>(sizes.size()), dropped = whole.dim() - count;
  if (dropped < 0 || whole.sizes().slice(static_cast<size_t>(dropped)) != sizes) return nullptr;
  if (!findTensor(whole)) return nullptr;
  std::vector<Value*> elements;
  for (int64_t dim = dropped; dim < whole.dim(); ++dim) elements.push_back(numberValue(size(whole, dim)));
  return listOf(std::move(elements), c10::IntType::get());
}

Value* Recorder::divisorInBackward(const IValue& number) {
  const Gradient* gradient = currentGradient();
  if (!gradient || !gradient->node->name().starts_with("MeanBackward")) return nullptr;
  if (gradient->inputs.size() != 1 || gradient->outputs.size() != 1 || gradient->outputs[0].numel() == 0)
    return nullptr;
  const int64_t divisor = gradient->inputs[0].numel() / gradient->outputs[0].numel();
  if (number.toScalar().toDouble() != static_cast<double>(divisor)) return nullptr;
  static const Symbol kNumel = Symbol::fromQualString("aten::numel");
  Value* all = insert(kNumel, std::array{tensorValue(gradient->inputs[0])}, c10::IntType::get());
  Value* kept = insert(kNumel, std::array{tensorValue(gradient->outputs[0])}, c10::IntType::get());
  return insert(aten::floordiv, std::array{all, kept}, c10::IntType::get());
}

}  // namespace cresset::tracer
