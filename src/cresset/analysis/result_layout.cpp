#include "cresset/analysis/result_layout.h"

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>

#include <algorithm>
#include <vector>

#include "cresset/analysis/plain_types.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

const Fact* argumentNamed(const Operator& op, std::span<const Fact> arguments, std::string_view name) {
  const auto& schema = op.schema().arguments();
  for (size_t i = 0; i < schema.size() && i < arguments.size(); ++i) {
    if (schema[i].name() == name) return &arguments[i];
  }
  return nullptr;
}

/// Whether the condition is true of all tensors in the argument. Nothing is known of one that is unknown.
template <typename Condition>
bool allTensors(const Fact& argument, const Condition& condition) {
  if (argument.isTensor()) return condition(argument);
  const bool is_list = argument.kind == Fact::Kind::List || argument.kind == Fact::Kind::ListOf;
  return argument.kind != Fact::Kind::Unknown &&
         (!is_list || std::all_of(argument.elements.begin(), argument.elements.end(), [&](const Fact& element) {
           return allTensors(element, condition);
         }));
}

bool isContiguous(const Fact& tensor) {
  return tensor.contiguity == Contiguity::Contiguous || (isStrided(tensor.contiguity) && tensor.rank() == size_t(0));
}

bool isStridedTensor(const Fact& tensor) {
  return isStrided(tensor.contiguity);
}

bool haveSameSizes(const Fact& a, const Fact& b) {
  return a.rank() && a.rank() == b.rank() &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), [](const Fact& x, const Fact& y) {
           return x.asSize().isKnown() && x.asSize() == y.asSize();
         });
}

bool haveSameStrides(const Fact& a, const Fact& b) {
  const auto strides = [](const Fact& tensor) {
    std::vector<Size> all = tensor.contiguousStrides();
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].isKnown()) all[i] = tensor.elements[i].stride;
    }
    return all;
  };
  const auto x = strides(a), y = strides(b);
  return std::equal(
      x.begin(), x.end(), y.begin(), y.end(), [](const Size& s, const Size& t) { return s.isKnown() && s == t; });
}

/// Whether each size is known, and not 1.
bool hasNoSizeOne(const Fact& tensor) {
  return std::all_of(tensor.elements.begin(), tensor.elements.end(), [](const Fact& size) {
    return size.asSize().asConstant().value_or(1) != 1;
  });
}

/// Gives a tensor of the same sizes the layout of another, which is dense.
void copyLayout(Fact& result, const Fact& from) {
  result.contiguity = from.contiguity;
  if (!result.rank() || result.rank() != from.rank()) return;
  for (size_t i = 0; i < result.elements.size(); ++i) result.elements[i].stride = from.elements[i].stride;
}

/// A kernel that goes through the elements of all its arguments at once (TensorIterator) makes a dense result, its
/// dimensions in the order that the arguments' strides have. What is sure is the order where all arguments have the
/// sizes of the result. Where some are broadcast, the strides of dimensions of size 1, which are arbitrary, may decide:
/// (3, 1, 1) with the strides (1, 1, 100) is contiguous, its sum with (1, 4, 1) is not; nor is the sum of (1, 1, 3)
/// with the strides (1, 3, 1) and (1, 2, 3) with the strides (0, 3, 1).
void addPointwiseLayout(Fact& result, std::span<const Fact> arguments) {
  result.contiguity = Contiguity::Dense;
  std::vector<const Fact*> tensors;
  for (const Fact& argument : arguments) {
    if (argument.isTensor() && argument.rank() != size_t(0)) tensors.push_back(&argument);
  }
  const auto areAll = [&](auto condition) { return std::all_of(tensors.begin(), tensors.end(), condition); };
  const auto hasSizes = [&](const Fact* tensor) { return haveSameSizes(*tensor, result); };
  const bool is_one = tensors.size() <= 1;
  if (areAll([](const Fact* tensor) { return isContiguous(*tensor); })) {
    const bool has_order = result.rank() && (*result.rank() <= 2 || hasNoSizeOne(result)) &&
                           std::any_of(tensors.begin(), tensors.end(), hasSizes);
    if (is_one || areAll(hasSizes) || has_order) result.contiguity = Contiguity::Contiguous;
    return;
  }
  const Fact& first = *tensors.front();
  const bool are_alike = is_one || (areAll(hasSizes) && areAll([&](const Fact* tensor) {
                                      return isDense(tensor->contiguity) && haveSameStrides(*tensor, first);
                                    }));
  if (are_alike && isDense(first.contiguity)) copyLayout(result, first);
}

/// Such an operator does so for a memory format that the argument only resembles (`to`).
bool mayReturnArgument(const Operator& op) {
  const auto& returns = op.schema().returns();
  return op.mayReturnSelf() || op.mayShareArguments() ||
         std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) { return result.alias_info(); });
}

}  // namespace

void setFormat(Fact& tensor, const Fact& format) {
  tensor.forgetLayout();
  const auto number = format.asNumber();
  if (number == static_cast<int64_t>(at::MemoryFormat::Contiguous)) tensor.contiguity = Contiguity::Contiguous;
  const auto rank = number == static_cast<int64_t>(at::MemoryFormat::ChannelsLast)     ? 4
                    : number == static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d) ? 5
                                                                                       : 0;
  if (rank != 0 && tensor.rank() == size_t(rank)) tensor.contiguity = Contiguity::ChannelsLast;
}

std::optional<size_t> sparseArgument(const Operator& op) {
  const auto& arguments = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "sparse" || arguments[i].name() == "sparse_grad") return i;
  }
  return std::nullopt;
}

void addLayout(Fact& result, const Operator& op, std::span<const Fact> arguments) {
  if (result.kind == Fact::Kind::List || result.kind == Fact::Kind::ListOf) {
    for (Fact& element : result.elements) addLayout(element, op, arguments);
  }
  if (!result.isTensor()) return;
  const Fact* layout = argumentNamed(op, arguments, "layout");
  const auto sparse = sparseArgument(op);
  if (sparse && *sparse < arguments.size() && arguments[*sparse].asNumber() != 0) return result.forgetLayout();
  const bool is_strided =
      !layout || layout->kind == Fact::Kind::None || layout->asNumber() == static_cast<int64_t>(at::kStrided);
  const auto all = [&](const auto& condition) {
    const auto& schema = op.schema().arguments();
    for (size_t i = 0; i < arguments.size() && i < schema.size(); ++i) {
      if (mayHoldTensors(*schema[i].type()) && !allTensors(arguments[i], condition)) return false;
    }
    return true;
  };
  if (!is_strided || !all(isStridedTensor)) return result.forgetLayout();
  if (result.contiguity == Contiguity::Unknown) result.contiguity = Contiguity::Strided;
  if (result.contiguity != Contiguity::Strided) return;
  const Fact* format = argumentNamed(op, arguments, "memory_format");
  const bool has_format = format && format->kind != Fact::Kind::None &&
                          format->asNumber() != static_cast<int64_t>(at::MemoryFormat::Preserve);
  if (has_format && (op.makesContiguous() || op.keepsLayout()) && !mayReturnArgument(op)) {
    Fact formatted = result;
    setFormat(formatted, *format);
    if (formatted.contiguity != Contiguity::Unknown) result = std::move(formatted);
  } else if (has_format) {
    return;
  } else if (op.makesContiguous()) {
    result.contiguity = Contiguity::Contiguous;
  } else if (op.isPointwise() && op.isPure() && !op.mayShareArguments() && !op.keepsLayout()) {
    Fact made = result;
    addPointwiseLayout(made, arguments);
    if (!op.keepsContiguous() || made.contiguity == Contiguity::Contiguous) result = std::move(made);
  } else if (op.keepsContiguous() && all(isContiguous)) {
    result.contiguity = Contiguity::Contiguous;
  } else if (
      op.keepsLayout() && !arguments.empty() && isDense(arguments[0].contiguity) &&
      (!result.has_sizes || haveSameSizes(arguments[0], result))) {
    copyLayout(result, arguments[0]);
  } else if (op.keepsLayout() && !mayReturnArgument(op)) {
    result.contiguity = Contiguity::Dense;  // the argument's order of dimensions, without its gaps
  }
}

}  // namespace cresset
