// Sizes that PyTorch itself computed: in a backward pass, in functorch's transforms, and in assignments to parts of
// tensors, that run inside a traced program.
//
// Autograd saves the sizes of what it saw in the forward pass as plain ints, and its formulas pass them to operators:
// the gradient of a sum is expanded to the size of what was summed. Whoever traces forces from an energy wants that for
// any number of atoms. So the tracer remembers, for each autograd node, the tensors of the operator that made it; when
// that node runs, a list of ints that is the shape of one of them is taken to be its shape. Other numbers that a
// formula computed from sizes stay constants, as under torch.jit, but for the divisor of a mean.
//
// vmap's rules align the dimensions of their operands by views that put dimensions of size 1 between.
#include <torch/csrc/autograd/function.h>

#include <ATen/core/grad_mode.h>
#include <ATen/functorch/TensorWrapper.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cresset/ir/constants.h"
#include "cresset/tracer/computed_sizes.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

constexpr size_t kMaxNodesOfOperator = 256;  // composite operators leave several

}  // namespace

void collectTensors(const IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    tensors.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const IValue& item : value.toListRef()) {
      if (item.isTensor()) tensors.push_back(item.toTensor());
    }
  }
}

std::optional<double> plainNumber(const IValue& value) {
  if (value.isInt()) return static_cast<double>(value.toInt());
  if (value.isDouble()) return value.toDouble();
  if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().dim() != 0) return std::nullopt;
  const at::Tensor& tensor = value.toTensor();
  if (!tensor.unsafeGetTensorImpl()->is_wrapped_number() || tensor.is_complex()) return std::nullopt;
  const ClientPause pause;
  return tensor.item().toDouble();
}

void collectNumbers(const IValue& value, std::vector<double>& numbers) {
  if (const auto number = plainNumber(value)) {
    numbers.push_back(*number);
  } else if (value.isIntList() || value.isSymIntList()) {
    for (const IValue& item : value.toListRef()) {
      if (item.isInt()) numbers.push_back(static_cast<double>(item.toInt()));
    }
  }
}

namespace {

/// The numbers among the inputs of a node: constants, and values beside what they were.
template <typename Constant, typename Computed>
void visitNumbers(
    const Node* node, std::span<const IValue> arguments, const Constant& constant, const Computed& computed) {
  const auto visit = [&](Value* input, const IValue& argument) {
    const auto number = plainNumber(argument);
    if (!number) return;
    if (isConstant(input)) {
      constant(*number);
    } else if (input->type()->kind() != c10::TypeKind::TensorType) {
      computed(*number, input);
    }
  };
  for (size_t i = 0; i < arguments.size() && i < node->inputs().size(); ++i) {
    Value* input = node->input(i);
    if (!arguments[i].isIntList() || input->node()->kind() != prim::ListConstruct) {
      visit(input, arguments[i]);
      if (arguments[i].isIntList() && isConstant(input))
        for (const int64_t number : arguments[i].toIntVector()) constant(static_cast<double>(number));
      continue;
    }
    const auto numbers = arguments[i].toIntVector();
    for (size_t k = 0; k < numbers.size() && k < input->node()->inputs().size(); ++k)
      visit(input->node()->input(k), IValue(numbers[k]));
  }
}

}  // namespace

void Recorder::rememberGradient(
    const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const Node* node,
    std::span<const IValue> arguments) {
  if (!c10::GradMode::is_enabled()) return;
  std::vector<GradientNodePtr> pending;
  for (at::Tensor output : outputs) {
    while (output.defined()) {
      if (output.requires_grad() && output.grad_fn()) pending.push_back(output.grad_fn());
      const auto* wrapper = at::functorch::maybeGetTensorWrapper(output);
      if (!wrapper) break;
      output = wrapper->value();
    }
  }
  if (pending.empty()) return;
  Gradient known;
  for (const at::Tensor& input : inputs) known.inputs.push_back(unwrapped(input));
  for (const at::Tensor& output : outputs) known.outputs.push_back(unwrapped(output));
  for (const IValue& argument : arguments) known.has_list |= argument.isTensorList();
  if (!node) {
    noteGivenNumbers(arguments, known);
  } else {
    visitNumbers(
        node, arguments, [&](double number) { known.constants.push_back(number); },
        [&](double number, Value* value) { known.numbers.emplace_back(number, value); });
  }
  for (size_t count = 0; !pending.empty() && count < kMaxNodesOfOperator; ++count) {
    GradientNodePtr gradient = std::move(pending.back());
    pending.pop_back();
    // Nodes that are known belong to operators that ran before.
    auto [it, is_new] = gradients_.try_emplace(gradient.get());
    if (!is_new) continue;
    it->second = known;
    it->second.node = gradient;
    for (const auto& edge : gradient->next_edges()) {
      if (edge.function) pending.push_back(edge.function);
    }
  }
}

/// Those of a call that a transform saw: what the program gave as traced numbers are these.
void Recorder::noteGivenNumbers(std::span<const IValue> arguments, Gradient& known) {
  std::vector<double> numbers;
  for (const IValue& argument : arguments) collectNumbers(argument, numbers);
  for (const double number : numbers) {
    Value* computed = nullptr;
    for (const PlainNumber& plain : call_.numbers) {
      const TracedNumber* traced = plain.number ? asTraced(plain.number) : nullptr;
      if (!traced || !traced->valueIn(serial_)) continue;
      const double given = std::visit([](auto v) { return static_cast<double>(v); }, traced->number());
      if (given == number) computed = traced->valueIn(serial_);
    }
    if (computed) {
      known.numbers.emplace_back(number, computed);
    } else {
      known.constants.push_back(number);
    }
  }
}

void Recorder::rememberTransformed(std::span<const IValue> arguments, std::span<const IValue> results) {
  std::vector<at::Tensor> inputs, outputs;
  for (const IValue& value : arguments) collectTensors(value, inputs);
  for (const IValue& value : results) collectTensors(value, outputs);
  rememberGradient(inputs, outputs, nullptr, arguments);
}

Recorder::Gradient* Recorder::currentGradient() {
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
        // Parts of equal sizes here may differ there.
        if (tensors == &gradient->outputs && gradient->node->name().find("Split") != std::string::npos &&
            std::count_if(
                tensors->begin(), tensors->end(), [&](const at::Tensor& part) { return part.sizes() == whole; }) > 1)
          warn(kFrozenNumber, /*in_backward=*/true);
        // Of a list's tensors, others of these sizes may be meant.
        const auto may_be_meant = [&](const at::Tensor& other) {
          return other.defined() && !other.is_nested() && other.sizes() == sizes && findTensor(other) != value;
        };
        if (exact && gradient->has_list && std::any_of(gradient->inputs.begin(), gradient->inputs.end(), may_be_meant))
          warn(kFrozenNumber, /*in_backward=*/true);
        if (exact) return compute(Basic::Sizes, {value});
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

/// What is assigned to a part of a tensor (`x[:n] = y`) goes through a view that drops its leading 1s, and is expanded
/// to the part.
Value* Recorder::shapeInAssignment(Symbol kind, const at::Tensor& value, at::IntArrayRef sizes) {
  const TracedSizes use = tracedSizes(kind);
  if (use != TracedSizes::Expands && use != TracedSizes::Reshapes) return nullptr;
  const at::Tensor& whole = use == TracedSizes::Expands ? call_.target : value;
  if (!whole.defined() || sizes.empty()) return nullptr;
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
  return compute(Basic::FloorDivide, {all, kept});
}

Value* Recorder::groupsInBackward(const IValue& number) {
  const Gradient* gradient = currentGradient();
  if (!gradient || !number.isInt() || !gradient->node->name().starts_with("ChannelShuffle")) return nullptr;
  if (gradient->inputs.size() != 1 || gradient->inputs[0].dim() < 2) return nullptr;
  const int64_t channels = gradient->inputs[0].size(1), groups = number.toInt() == 0 ? 0 : channels / number.toInt();
  const auto divided = [&](Value* divisor) {
    return compute(Basic::FloorDivide, {numberValue(size(gradient->inputs[0], 1)), divisor});
  };
  for (const auto& [known, computed] : gradient->numbers) {
    if (known == static_cast<double>(groups)) return divided(computed);
  }
  return divided(graph_->insertConstant(IValue(groups)));
}

Value* Recorder::numberInBackward(const IValue& number, bool is_size) {
  const auto value = plainNumber(number);
  if (!value || !torch::autograd::get_current_node()) return nullptr;
  const Gradient* gradient = currentGradient();
  const double given = *value;
  // Where the parts of tensor_split lie; only that operator has several gradients of slices.
  const bool is_of_parts = gradient && is_size && gradient->outputs.size() > 1 &&
                           gradient->node->name().starts_with("Slice") && given > 0 &&
                           number.toInt() != std::numeric_limits<int64_t>::max();
  if (is_of_parts) {
    warn(kFrozenNumber, /*in_backward=*/true);
    return nullptr;
  }
  if (gradient) {
    for (const auto& [known, computed] : gradient->numbers) {
      if (known == given && (computed->type()->kind() == c10::TypeKind::IntType) == number.isInt()) return computed;
    }
    const auto isFrom = [&](double c) {
      if (given == c || given == -c) return true;
      return !is_size && (given == c - 1 || given == c + 1 || given * c == 1 || given == c * (c - 1));
    };
    if (std::any_of(gradient->constants.begin(), gradient->constants.end(), isFrom)) return nullptr;
  }
  if (std::abs(given) <= 1 && is_size) return nullptr;
  if (!is_size && !(gradient && mayBeOfSizes(*gradient, given))) return nullptr;
  if (is_size && number.toInt() == std::numeric_limits<int64_t>::max()) return nullptr;
  warn(kFrozenNumber, /*in_backward=*/true);
  return nullptr;
}

/// Formulas have small numbers of their own: exponents, halves, alpha=1.
bool Recorder::mayBeOfSizes(const Gradient& gradient, double factor) {
  const std::string name = gradient.node->name();
  const bool counts_elements = name.starts_with("Var") || name.starts_with("Std") || name.starts_with("Mean");
  return isCountOf(gradient.inputs, factor, counts_elements) || isCountOf(gradient.outputs, factor, counts_elements);
}

bool isCountOf(const std::vector<at::Tensor>& tensors, double factor, bool counts_elements) {
  const double size = std::abs(factor);
  if (!counts_elements && (size == 0.5 || (size <= 4 && size == std::floor(size)))) return false;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.is_nested()) continue;
    std::vector<double> counts{static_cast<double>(tensor.numel())};
    for (const int64_t dim : tensor.sizes()) {
      counts.push_back(static_cast<double>(dim));
      if (dim > 0) counts.push_back(static_cast<double>(tensor.numel()) / static_cast<double>(dim));
    }
    for (const double count : counts) {
      for (const double less : {count, count - 1}) {
        if (less < 1 || (less == 1 && !counts_elements)) continue;
        const double root = 1 / std::sqrt(less);  // what attention scales by, at once or in two steps
        for (const double made : {less, 1 / less, 2 / less, root, std::sqrt(root)}) {
          if (std::abs(size - made) <= 1e-6 * made) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace cresset::tracer
