// Sizes in functorch's transforms, whose operators are recorded below the wrapped tensors of the program.
//
// A wrapped tensor has the sizes of the one in the graph, but for the dimensions over which vmap runs. A composite
// operator (`flatten`, `kron`) is recorded as what it calls, and the sizes that it computes for those are plain ints.
// Each call that a transform sees is remembered while it runs: what the program gave to the outermost one are the
// program's own constants; of the other ints, those that follow from the shapes of the operands are computed from
// them, and the rest is frozen with a warning.
#include <torch/csrc/autograd/function.h>

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/TensorWrapper.h>
#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "cresset/ops/operator_rows.h"
#include "cresset/tracer/computed_sizes.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

at::Tensor unwrapped(at::Tensor tensor) {
  while (tensor.defined()) {
    const auto* wrapper = at::functorch::maybeGetTensorWrapper(tensor);
    if (!wrapper) break;
    tensor = wrapper->value();
  }
  return tensor;
}

Recorder::Measured Recorder::measured(const at::Tensor& tensor) {
  Measured result{tensor, std::vector<int64_t>(static_cast<size_t>(tensor.is_nested() ? 0 : tensor.dim()))};
  std::iota(result.dims.begin(), result.dims.end(), 0);
  while (result.tensor.defined()) {
    if (at::Tensor known = tensorFor(*this, result.tensor); !known.is_same(result.tensor)) {
      result.tensor = std::move(known);
    } else if (const auto* wrapper = at::functorch::maybeGetTensorWrapper(result.tensor)) {
      result.tensor = wrapper->value();
    } else if (auto* batched = at::functorch::maybeGetBatchedImpl(result.tensor)) {
      for (int64_t& dim : result.dims) dim += dim >= batched->bdim();
      result.tensor = batched->value();
    } else {
      break;
    }
  }
  return result;
}

bool Recorder::hasSizesOf(const at::Tensor& tensor) {
  return findTensor(measured(tensor).tensor) != nullptr;
}

namespace {

/// An operand of reshape and its like, and the sizes it is brought to, in groups of as many elements.
struct Group {
  std::vector<size_t> from, to;
};

/// Dimensions of size 1 are in no group. Nothing if the shapes don't fit.
std::optional<std::vector<Group>> groupsOf(at::IntArrayRef from, at::IntArrayRef to) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  const auto skipOnes = [](at::IntArrayRef sizes, size_t& at) {
    while (at < sizes.size() && sizes[at] == 1) ++at;
    return at < sizes.size();
  };
  for (;;) {
    const bool more_from = skipOnes(from, i), more_to = skipOnes(to, j);
    if (!more_from && !more_to) return groups;
    Group group;
    int64_t count_from = 1, count_to = 1;
    do {
      const bool takes_from = count_from <= count_to;
      if (!(takes_from ? skipOnes(from, i) : skipOnes(to, j))) return std::nullopt;
      const int64_t size = takes_from ? from[i] : to[j];
      if (size < 1) return std::nullopt;
      (takes_from ? count_from : count_to) *= size;
      if (takes_from) {
        group.from.push_back(i++);
      } else {
        group.to.push_back(j++);
      }
    } while (count_from != count_to);
    groups.push_back(std::move(group));
  }
}

constexpr ColumnCell<TracedSizes> kTracedSizes[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define TRACED_SIZES(use) {{}, TracedSizes::use},
#include "cresset/ops/table/table.def"
};

int64_t sizeOf(const IValue& item) {
  return item.isInt() ? item.toInt() : std::get<int64_t>(numberOf(item.toSymInt().toSymNode()));
}

std::vector<int64_t> sizesOf(const IValue& list) {
  std::vector<int64_t> sizes;
  for (const IValue& item : list.toListRef()) sizes.push_back(sizeOf(item));
  return sizes;
}

}  // namespace

TracedSizes tracedSizes(Symbol kind) {
  static const auto* uses = [] {
    auto* by_kind = new std::unordered_map<Symbol, TracedSizes>;
    for (const auto& [name, use] : byOperator(kTracedSizes))
      by_kind->emplace(Symbol::fromQualString(std::string(name)), use);
    return by_kind;
  }();
  const auto found = uses->find(kind);
  return found == uses->end() ? TracedSizes::None : found->second;
}

bool Recorder::isGiven(double number) const {
  std::vector<double> given;
  for (const IValue& argument : transforms_.front().arguments) collectNumbers(argument, given);
  return std::find(given.begin(), given.end(), number) != given.end();
}

/// `sizes` as the program wrote them: with -1 where a size follows from the others.
std::optional<std::vector<int64_t>> Recorder::givenSizes(at::IntArrayRef sizes) const {
  for (const IValue& argument : transforms_.front().arguments) {
    if (!argument.isIntList() && !argument.isSymIntList()) continue;
    std::vector<int64_t> given = sizesOf(argument);
    if (given.size() != sizes.size()) continue;
    const auto isHere = [](int64_t a, int64_t b) { return a == b || a == -1; };
    if (std::equal(given.begin(), given.end(), sizes.begin(), isHere)) return given;
  }
  return std::nullopt;
}

Value* Recorder::alignedShape(const at::Tensor& tensor, const IValue& list) {
  const auto sizes = list.toListRef();
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
  if (dim >= 0) return nullptr;
  std::vector<Value*> elements;
  for (size_t i = 0; i < sizes.size(); ++i) {
    elements.push_back(origins[i] < 0 ? valueOf(sizes[i], c10::IntType::get()) : numberValue(size(tensor, origins[i])));
  }
  return listOf(std::move(elements), c10::IntType::get());
}

Value* Recorder::product(const std::vector<c10::SymNode>& numbers) {
  c10::SymNode result = numbers.front();
  for (size_t i = 1; i < numbers.size(); ++i) result = result->mul(numbers[i]);
  return numberValue(result);
}

/// Of a group that is split, one size may follow from the others.
Value* Recorder::splitSize(const std::vector<c10::SymNode>& whole, const std::vector<c10::SymNode>& others) {
  Value* divisor = product(others);
  return compute(Basic::FloorDivide, {product(whole), divisor});
}

Value* Recorder::reshapedShape(const at::Tensor& tensor, const IValue& list) {
  const auto items = list.toListRef();
  std::vector<int64_t> sizes = sizesOf(list);
  const auto inferred = std::find(sizes.begin(), sizes.end(), -1);
  std::vector<Value*> elements(sizes.size(), nullptr);
  if (inferred != sizes.end()) {
    elements[static_cast<size_t>(inferred - sizes.begin())] = graph_->insertConstant(IValue(-1));
    const int64_t others = -c10::multiply_integers(sizes);
    if (others == 0) return nullptr;
    *inferred = tensor.numel() / others;
  }
  const auto groups = groupsOf(tensor.sizes(), sizes);
  if (!groups) return nullptr;
  const auto number = [&](const IValue& item) {
    return item.isInt() ? c10::SymNode(c10::make_intrusive<TracedNumber>(item.toInt(), nullptr, serial_))
                        : item.toSymInt().toSymNode();
  };
  for (const Group& group : *groups) {
    std::vector<c10::SymNode> whole, known;
    for (const size_t dim : group.from) whole.push_back(size(tensor, static_cast<int64_t>(dim)));
    std::vector<size_t> unknown;
    for (const size_t i : group.to) {
      if (items[i].isInt() && (group.to.size() == 1 || !isGiven(static_cast<double>(sizes[i])))) {
        unknown.push_back(i);
      } else {
        known.push_back(number(items[i]));
      }
    }
    if (unknown.empty() && std::all_of(group.to.begin(), group.to.end(), [&](size_t i) { return items[i].isInt(); }))
      return nullptr;  // one of them is not the program's, but which?
    if (unknown.size() > 1) return nullptr;
    if (!unknown.empty() && !elements[unknown[0]])
      elements[unknown[0]] = known.empty() ? product(whole) : splitSize(whole, known);
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i]) elements[i] = valueOf(items[i], c10::IntType::get());
  }
  return listOf(std::move(elements), c10::IntType::get());
}

std::vector<at::Tensor> Recorder::transformedTensors() {
  std::vector<at::Tensor> tensors, result;
  for (const TransformedCall& call : transforms_) {
    for (const IValue& argument : call.arguments) collectTensors(argument, tensors);
  }
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    at::Tensor base = measured(tensor).tensor;
    if (base.defined() && !base.is_nested() && findTensor(base)) result.push_back(std::move(base));
  }
  return result;
}

/// In a shape that tensors are expanded to, the size of a dimension is that of any of them there, counted from the end.
Value* Recorder::broadcastShape(const at::Tensor& tensor, const IValue& list) {
  std::vector<at::Tensor> others = transformedTensors();
  others.insert(others.begin(), tensor);
  const auto items = list.toListRef();
  std::vector<Value*> elements;
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t from_end = static_cast<int64_t>(i) - static_cast<int64_t>(items.size());
    const auto hasSize = [&](const at::Tensor& other) {
      return other.dim() >= -from_end && other.size(from_end) == items[i].toInt();
    };
    if (!items[i].isInt() || items[i].toInt() == 1 || items[i].toInt() == -1) {
      elements.push_back(valueOf(items[i], c10::IntType::get()));
    } else if (const auto it = std::find_if(others.begin(), others.end(), hasSize); it != others.end()) {
      elements.push_back(numberValue(size(*it, it->dim() + from_end)));
    } else if (isGiven(static_cast<double>(items[i].toInt()))) {
      elements.push_back(valueOf(items[i], c10::IntType::get()));
    } else {
      return nullptr;
    }
  }
  return listOf(std::move(elements), c10::IntType::get());
}

Value* Recorder::shapeInTransform(Symbol kind, const at::Tensor& tensor, const IValue& list) {
  if (transforms_.empty()) return nullptr;
  const auto items = list.toListRef();
  const auto isPlain = [](const IValue& item) { return item.isInt(); };
  if (!items.empty() && std::none_of(items.begin(), items.end(), isPlain)) return nullptr;
  const bool is_operand = tensor.defined() && !tensor.is_nested() && findTensor(tensor);
  if (torch::autograd::get_current_node())
    return is_operand && tensor.dim() != 0 ? alignedShape(tensor, list) : nullptr;
  // A list with symbolic sizes may be vmap's, which asks for the shapes of what it runs on.
  if (std::all_of(items.begin(), items.end(), isPlain)) {
    if (const auto given = givenSizes(sizesOf(list))) return graph_->insertConstant(IValue(*given));
  }
  if (is_operand && tensor.dim() != 0) {
    if (Value* shape = alignedShape(tensor, list)) return shape;
  }
  const TracedSizes use = tracedSizes(kind);
  if (is_operand && use == TracedSizes::Reshapes) return reshapedShape(tensor, list);
  if (is_operand && use == TracedSizes::Expands) return broadcastShape(tensor, list);
  const std::vector<int64_t> sizes = sizesOf(list);
  for (const at::Tensor& other : transformedTensors()) {
    if (!sizes.empty() && other.sizes() == sizes && other.dim() > 1) return compute(Basic::Sizes, {tensorValue(other)});
  }
  return nullptr;
}

bool Recorder::isInReshape() const {
  return std::any_of(
      transforms_.begin(), transforms_.end(), [](const TransformedCall& call) { return call.kind == aten::reshape; });
}

const Recorder::TransformedCall* Recorder::callForParts() const {
  for (const TransformedCall& call : transforms_) {
    const TracedSizes use = tracedSizes(call.kind);
    const bool is_number = call.arguments.size() > 1 && (call.arguments[1].isInt() || call.arguments[1].isSymInt());
    if (is_number && (use == TracedSizes::CountsEvenParts || use == TracedSizes::CountsParts)) return &call;
  }
  return nullptr;
}

Value* Recorder::sizeOfParts(Symbol kind, std::span<const IValue> arguments) {
  if (tracedSizes(kind) != TracedSizes::SizeParts) return nullptr;
  const TransformedCall* call = torch::autograd::get_current_node() ? nullptr : callForParts();
  if (!call || tracedSizes(call->kind) != TracedSizes::CountsEvenParts || !call->arguments[1].isInt()) return nullptr;
  const int64_t parts = call->arguments[1].toInt();
  if (!arguments[0].isTensor() || !arguments[2].isInt() || parts < 1) return nullptr;
  for (const PlainNumber& plain : call_.numbers) {
    const TracedNumber* traced = plain.number ? asTraced(plain.number) : nullptr;
    if (traced && std::visit([&](auto given) { return static_cast<int64_t>(given) == parts; }, traced->number()))
      return nullptr;
  }
  const at::Tensor& tensor = arguments[0].toTensor();
  if (!findTensor(tensor)) return nullptr;
  const auto number = [&](int64_t constant) {
    return c10::SymNode(c10::make_intrusive<TracedNumber>(constant, nullptr, serial_));
  };
  const int64_t dim = c10::maybe_wrap_dim(arguments[2].toInt(), tensor.dim());
  if (tensor.size(dim) == 0) return nullptr;
  Value* rounded_up = numberValue(size(tensor, dim)->add(number(parts - 1)));
  return compute(Basic::FloorDivide, {rounded_up, graph_->insertConstant(IValue(parts))});
}

void Recorder::noteSizeInTransform(int64_t number) {
  if (transforms_.empty() || torch::autograd::get_current_node()) return;
  if (number > 0 && number != std::numeric_limits<int64_t>::max() && callForParts())
    return warn(kFrozenNumber, /*in_backward=*/true);
  if (std::abs(number) <= 1 || number == std::numeric_limits<int64_t>::max()) return;
  const auto given = static_cast<double>(number);
  if (!isGiven(given) && !isGiven(-given)) warn(kFrozenNumber, /*in_backward=*/true);
}

void Recorder::noteFactorInTransform(Symbol kind, const IValue& number) {
  const auto value = plainNumber(number);
  if (transforms_.empty() || !value || torch::autograd::get_current_node()) return;
  if (isGiven(*value) || isGiven(-*value)) return;
  // By a whole number of its own an operator multiplies and divides seldom, but to count.
  const bool counts = tracedSizes(kind) == TracedSizes::Scales && number.isInt();
  if (isCountOf(transformedTensors(), *value, counts)) warn(kFrozenNumber, /*in_backward=*/true);
}

}  // namespace cresset::tracer
