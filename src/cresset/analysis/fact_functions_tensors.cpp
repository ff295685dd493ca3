// Functions of rules for facts that make a result of dtype, sizes and layout.
#include <algorithm>

#include "cresset/analysis/fact_functions.h"
#include "cresset/analysis/result_layout.h"

namespace cresset::fact_functions {

namespace {

/// tensor(t, s, device=that of the arguments)
Fact makeTensor(Facts a) {
  Fact fact;
  fact.kind = Kind::Tensor;
  fact.dtype = dtypeOf(argument(a, 0));
  if (auto sizes = sizesOf(argument(a, 1))) {
    fact.elements = std::move(*sizes);
    fact.has_sizes = true;
  }
  fact.forgetLayout();
  fact.inherits_device = a.size() < 3;
  if (a.size() == 3) fact.device = a[2].kind == Kind::Device || a[2].isTensor() ? a[2].device : std::nullopt;
  // `cuda` is the device of the thread; a tensor is on one with a number.
  if (fact.device && !fact.device->has_index() && !fact.device->is_cpu() && !fact.device->is_meta()) fact.device = {};
  return fact;
}

/// What the strides of a tensor's dimensions say: whether each is the product of the sizes after it.
Contiguity contiguityOf(const Sizes& dimensions) {
  Size expected = Size::constant(1);
  for (size_t i = dimensions.size(); i-- > 0;) {
    const Size size = dimensions[i].asSize();
    if (size.asConstant() == 1) continue;
    if (!expected.isKnown() || dimensions[i].stride != expected) return Contiguity::Unknown;
    expected = expected * size;
  }
  return Contiguity::Contiguous;
}

/// view(x, s): in the memory of x, of dimensions that mostly are those of x.
Fact view(Facts a) {
  Fact fact = argument(a, 0);
  if (!fact.isTensor()) return {};
  auto dimensions = sizesOf(argument(a, 1));
  fact.has_sizes = dimensions.has_value();
  fact.elements = dimensions ? std::move(*dimensions) : Sizes();
  fact.contiguity = dimensions ? contiguityOf(fact.elements) : Contiguity::Unknown;
  fact.requires_grad = std::nullopt;
  return fact;
}

/// reordered(x, s): the same, and s are all dimensions of x.
Fact reordered(Facts a) {
  Fact fact = view(a);
  if (fact.isTensor() && fact.contiguity == Contiguity::Unknown && isDense(a[0].contiguity))
    fact.contiguity = Contiguity::Dense;
  return fact;
}

/// itself(x): x, or another name for it.
Fact itself(Facts a) {
  Fact fact = argument(a, 0);
  if (!fact.isTensor()) return {};
  fact.requires_grad = std::nullopt;
  return fact;
}

/// laid_out(x, format): x in a memory format, which is a number of PyTorch's.
Fact laidOut(Facts a) {
  Fact fact = argument(a, 0);
  setFormat(fact, argument(a, 1));
  return fact;
}

/// like(x): of its dtype, sizes and device. What is None stays None, so that absent results of backward kernels are.
Fact like(Facts a) {
  Fact fact = argument(a, 0);
  if (fact.kind == Kind::None) return fact;
  if (!fact.isTensor()) fact = Fact();
  fact.kind = Kind::Tensor;
  fact.requires_grad = std::nullopt;
  fact.inherits_device = false;
  fact.forgetLayout();
  return fact;
}

/// constant(x): a tensor that requires no gradient.
Fact constant(Facts a) {
  Fact fact = argument(a, 0);
  fact.requires_grad = false;
  return fact;
}

/// each(x): a list of any length whose elements are like x.
Fact each(Facts a) {
  return Fact::listOf(argument(a, 0));
}

/// computed(x, mask, i): x if the mask's i-th element is true; undefined, which requires no gradient, if it is false.
Fact computed(Facts a) {
  if (a.size() != 3 || a[1].kind != Kind::List || !a[2].asNumber()) return {};
  const auto i = static_cast<size_t>(*a[2].asNumber());
  const auto wanted = i < a[1].elements.size() ? a[1].elements[i].asNumber() : std::nullopt;
  if (!wanted) return {};
  return *wanted ? a[0] : Fact::none();
}

constexpr Function kTensorFunctions[] = {
    {"tensor", makeTensor}, {"view", view},        {"reordered", reordered},
    {"itself", itself},     {"laid_out", laidOut}, {"like", like},
    {"constant", constant}, {"each", each},        {"computed", computed},
};

}  // namespace

std::span<const Function> ofTensors() {
  return kTensorFunctions;
}

}  // namespace cresset::fact_functions
