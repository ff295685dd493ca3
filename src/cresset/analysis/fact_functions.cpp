// What rules for facts call. Names of parameters: `x` a tensor, `s` sizes (or a tensor for its sizes), `t` a dtype (or
// a tensor for its dtype).
#include <ATen/core/jit_type.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/analysis/fact_rule.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

using Facts = std::span<const Fact>;
using Sizes = std::vector<Fact>;
using Kind = Fact::Kind;

at::ScalarType defaultDtype() {
  return c10::typeMetaToScalarType(c10::get_default_dtype());
}

std::optional<at::ScalarType> dtypeOf(const Fact& t) {
  if (t.kind == Kind::Int && t.number && isScalarType(*t.number)) return static_cast<at::ScalarType>(*t.number);
  return t.isTensor() || t.kind == Kind::Dtype ? t.dtype : std::nullopt;
}

/// The product of sizes; unknown if one of them is.
Size product(const Sizes& sizes) {
  Size all = Size::constant(1);
  for (const Fact& size : sizes) all = all * size.asSize();
  return all;
}

/// Numbers are tensors without dimensions.
std::optional<Sizes> sizesOf(const Fact& s) {
  switch (s.kind) {
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool:
    case Kind::Complex:
      return Sizes();
    case Kind::Tensor:
      return s.has_sizes ? std::optional(s.elements) : std::nullopt;
    case Kind::List:
      return s.elements;
    default:
      return std::nullopt;
  }
}

Fact anyInt() {
  return Fact::integer(std::nullopt);
}

Fact unknownSizes(size_t rank) {
  return Fact::list(Sizes(rank, anyInt()));
}

/// The dimension that `dim` names of `rank`; a tensor without dimensions has one to all operators that take one.
std::optional<size_t> wrapped(const Fact& dim, size_t rank) {
  const auto number = dim.asNumber();
  const auto size = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (!number || *number < -size || *number >= size) return std::nullopt;
  return static_cast<size_t>(*number < 0 ? *number + size : *number);
}

Fact argument(Facts a, size_t i) {
  return i < a.size() ? a[i] : Fact::none();
}

// ---- Results ----

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
  return fact;
}

/// What the strides of a tensor's dimensions say: whether each is the product of the sizes behind it.
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
  if (fact.isTensor() && fact.contiguity == Contiguity::Unknown && a[0].contiguity != Contiguity::Unknown)
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
  fact.forgetLayout();
  const auto format = argument(a, 1).asNumber();
  if (format == static_cast<int64_t>(at::MemoryFormat::Contiguous)) fact.contiguity = Contiguity::Contiguous;
  const auto rank = format == static_cast<int64_t>(at::MemoryFormat::ChannelsLast)     ? 4
                    : format == static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d) ? 5
                                                                                       : 0;
  if (rank != 0 && fact.rank() == size_t(rank)) fact.contiguity = Contiguity::ChannelsLast;
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

// ---- Dtypes ----

/// What PyTorch's type promotion looks at: the highest dtype among tensors with dimensions, among those without, and
/// among numbers. A lower class counts only if its category (bool, integer, float, complex) is a higher one.
struct Promotion {
  at::ScalarType with_dims = at::ScalarType::Undefined, without = at::ScalarType::Undefined,
                 numbers = at::ScalarType::Undefined;
  bool known = true;
  bool ranks_known = true;
  std::optional<at::ScalarType> of_unknown_rank;

  at::ScalarType highest(at::ScalarType a, at::ScalarType b) {
    if (a == at::ScalarType::Undefined) return b;
    if (b == at::ScalarType::Undefined) return a;
    try {
      return c10::promoteTypes(a, b);
    } catch (const c10::Error&) {  // some have no common type: the program raises, if it gets here
      known = false;
      return a;
    }
  }

  at::ScalarType combine(at::ScalarType higher, at::ScalarType lower) {
    if (higher == at::ScalarType::Undefined) return lower;
    if (c10::isBarebonesUnsignedType(higher) && c10::isComplexType(lower)) return lower;
    if (lower == at::ScalarType::Undefined || c10::isComplexType(higher)) return higher;
    if (c10::isFloatingType(higher))
      return c10::isComplexType(lower) ? highest(higher, c10::ScalarType::ComplexHalf) : higher;
    if (higher == at::kBool || c10::isFloatingType(lower) || c10::isComplexType(lower)) return highest(higher, lower);
    return higher;
  }

  void add(const Fact& operand) {
    const auto addNumber = [&](at::ScalarType dtype) { numbers = highest(numbers, dtype); };
    switch (operand.kind) {
      case Kind::None:
        return;
      case Kind::Int:
        return addNumber(at::kLong);
      case Kind::Float:
        return addNumber(defaultDtype());
      case Kind::Bool:
        return addNumber(at::kBool);
      case Kind::Complex:
        return addNumber(c10::toComplexType(defaultDtype()));
      case Kind::List:
      case Kind::ListOf:
        if (operand.elements.empty()) known = false;
        for (const Fact& element : operand.elements) add(element);
        return;
      case Kind::Tensor:
        return addTensor(operand);
      default:
        known = false;
    }
  }

  void addTensor(const Fact& tensor) {
    if (!tensor.dtype) {
      known = false;
    } else if (!tensor.has_sizes) {
      ranks_known &= !of_unknown_rank || *of_unknown_rank == *tensor.dtype;
      of_unknown_rank = tensor.dtype;
    } else {
      at::ScalarType& dtype = tensor.elements.empty() ? without : with_dims;
      dtype = highest(dtype, *tensor.dtype);
    }
  }

  std::optional<at::ScalarType> result() {
    if (!known || !ranks_known) return std::nullopt;
    const auto total = [&](at::ScalarType dims, at::ScalarType no_dims) {
      return combine(dims, combine(no_dims, numbers));
    };
    auto found = total(with_dims, without);
    if (of_unknown_rank) {
      found = total(highest(with_dims, *of_unknown_rank), without);
      if (found != total(with_dims, highest(without, *of_unknown_rank))) return std::nullopt;
    }
    return !known || found == at::ScalarType::Undefined ? std::nullopt : std::optional(found);
  }
};

/// promote(x, …): of tensors, lists of tensors and numbers.
Fact promote(Facts a) {
  Promotion promotion;
  for (const Fact& operand : a) promotion.add(operand);
  return Fact::ofDtype(promotion.result());
}

/// Calls `visit` with the dtype of each operand, and of each element of lists; false if one is unknown.
template <typename F>
bool visitDtypes(Facts operands, F visit) {
  for (const Fact& operand : operands) {
    if (operand.kind == Kind::None) continue;
    if (operand.kind == Kind::List || operand.kind == Kind::ListOf) {
      if (operand.elements.empty() || !visitDtypes(operand.elements, visit)) return false;
      continue;
    }
    const auto dtype = dtypeOf(operand);
    if (!dtype) return false;
    visit(*dtype);
  }
  return true;
}

/// widest(x, …): as promote, for operators to which tensors without dimensions are like others.
Fact widest(Facts a) {
  Promotion promotion;
  auto widest = at::ScalarType::Undefined;
  const bool known = visitDtypes(a, [&](at::ScalarType dtype) { widest = promotion.highest(widest, dtype); });
  return known && promotion.known && widest != at::ScalarType::Undefined ? Fact::ofDtype(widest) : Fact();
}

/// agreed(x, …): the dtype that all have. Operators which mix dtypes in ways of their own have no other rule.
Fact agreed(Facts a) {
  auto one = at::ScalarType::Undefined;
  bool agree = true;
  const bool known = visitDtypes(a, [&](at::ScalarType dtype) {
    agree &= one == at::ScalarType::Undefined || one == dtype;
    one = dtype;
  });
  return known && agree && one != at::ScalarType::Undefined ? Fact::ofDtype(one) : Fact();
}

template <typename F>
Fact mapDtype(Facts a, F map) {
  const auto dtype = dtypeOf(argument(a, 0));
  return dtype ? Fact::ofDtype(map(*dtype)) : Fact();
}

/// floating(t): integers and bools compute in the default dtype.
Fact floating(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::isIntegralType(t, true) ? defaultDtype() : t; });
}

/// accumulated(t): integers and bools add up to int64.
Fact accumulated(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::isIntegralType(t, true) ? at::kLong : t; });
}

/// real(t): of the parts of complex numbers.
Fact real(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::toRealValueType(t); });
}

/// complex(t): the complex dtype of which t is the dtype of the parts.
Fact complexOf(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  const bool has =
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || (dtype && c10::isComplexType(*dtype));
  return has ? Fact::ofDtype(c10::toComplexType(*dtype)) : Fact();
}

Fact isFloating(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isFloatingType(*dtype)) : std::nullopt);
}

/// Of a tensor of unknown dtype: no. Those that are quantized come from arguments, or from operators whose rules say
/// so.
Fact isQuantized(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype && c10::isQIntType(*dtype));
}

Fact isComplex(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isComplexType(*dtype)) : std::nullopt);
}

Fact isIntegral(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isIntegralType(*dtype, true)) : std::nullopt);
}

/// same(t, u): whether the dtypes are one.
Fact sameDtype(Facts a) {
  const auto x = dtypeOf(argument(a, 0)), y = dtypeOf(argument(a, 1));
  return Fact::boolean(x && y ? std::optional(*x == *y) : std::nullopt);
}

// ---- Sizes ----

Fact rankOf(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  return Fact::integer(sizes ? std::optional(static_cast<int64_t>(sizes->size())) : std::nullopt);
}

/// length(list)
Fact length(Facts a) {
  const Fact list = argument(a, 0);
  return Fact::integer(
      list.kind == Kind::List ? std::optional(static_cast<int64_t>(list.elements.size())) : std::nullopt);
}

/// unknowns(n): sizes of rank n.
Fact unknowns(Facts a) {
  const auto rank = argument(a, 0).asNumber();
  return rank && *rank >= 0 && *rank < 256 ? unknownSizes(static_cast<size_t>(*rank)) : Fact();
}

/// resized(s): of the same rank.
Fact resized(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  return sizes ? unknownSizes(sizes->size()) : Fact();
}

Fact broadcastSize(const Fact& x, const Fact& y) {
  const Size a = x.asSize(), b = y.asSize();
  if (a.isKnown() && b.isKnown()) return Fact::integer(Size::broadcast(a, b));
  // One that is unknown is 1 or the other, if that is not 1.
  if (const auto number = a.asConstant(); number && *number != 1) return x;
  if (const auto number = b.asConstant(); number && *number != 1) return y;
  return anyInt();
}

bool broadcastInto(std::optional<Sizes>& all, const Fact& operand) {
  if (operand.kind == Kind::None) return true;
  if (operand.kind == Kind::List && !operand.elements.empty() && operand.elements[0].isTensor())
    return std::all_of(operand.elements.begin(), operand.elements.end(), [&](const Fact& element) {
      return broadcastInto(all, element);
    });
  auto sizes = sizesOf(operand);
  if (!sizes) return false;
  if (!all) {
    all = std::move(*sizes);
    return true;
  }
  if (all->size() < sizes->size()) std::swap(*all, *sizes);
  for (size_t i = 0; i < sizes->size(); ++i) {
    Fact& target = (*all)[all->size() - 1 - i];
    target = broadcastSize(target, (*sizes)[sizes->size() - 1 - i]);
  }
  return true;
}

/// broadcast(s, …): of tensors, sizes, numbers and lists of tensors.
Fact broadcast(Facts a) {
  std::optional<Sizes> all;
  for (const Fact& operand : a) {
    if (!broadcastInto(all, operand)) return {};
  }
  return all ? Fact::list(std::move(*all)) : Fact();
}

/// broadcast_each(tensors): each as it is, in the sizes of all.
Fact broadcastEach(Facts a) {
  Fact list = argument(a, 0);
  if (list.kind != Kind::List) return {};
  const Fact sizes = broadcast(list.elements);
  for (Fact& element : list.elements) {
    if (!element.isTensor()) return {};
    element.has_sizes = sizes.kind == Kind::List;
    element.elements = sizes.elements;
    element.requires_grad = std::nullopt;
    element.forgetLayout();
  }
  return list;
}

/// The dimensions that a list of dimensions, or one, names; nothing if some are unknown.
std::optional<std::vector<bool>> marked(const Fact& dims, size_t rank) {
  std::vector<bool> marks(std::max<size_t>(rank, 1));
  const auto mark = [&](const Fact& dim) {
    const auto at = wrapped(dim, rank);
    if (at) marks[*at] = true;
    return at.has_value();
  };
  if (dims.kind == Kind::List) {
    if (!std::all_of(dims.elements.begin(), dims.elements.end(), mark)) return std::nullopt;
  } else if (!mark(dims)) {
    return std::nullopt;
  }
  marks.resize(rank);
  return marks;
}

/// reduced(s, dims, keepdim): without the dimensions, or with 1 in their place; None and [] are all of them.
Fact reduced(Facts a) {
  const Fact dims = argument(a, 1);
  const auto keep = a.size() < 3 ? std::optional<int64_t>(0) : a[2].asNumber();
  const bool all = dims.kind == Kind::None || (dims.kind == Kind::List && dims.elements.empty());
  const auto sizes = sizesOf(argument(a, 0));
  if (!keep) return {};
  if (all && !*keep) return Fact::list({});
  // With [] and keepdim, sums of sparse tensors are of no use: they have their dimensions twice.
  if (all && dims.kind == Kind::List) return {};
  if (!sizes || (dims.kind != Kind::None && dims.kind != Kind::Int && dims.kind != Kind::List)) return {};
  if (all) return Fact::list(Sizes(sizes->size(), Fact::integer(1)));
  const auto marks = marked(dims, sizes->size());
  if (!marks) {
    const size_t count = dims.kind == Kind::List ? dims.elements.size() : 1;
    return unknownSizes(*keep || sizes->empty() ? sizes->size() : sizes->size() - std::min(count, sizes->size()));
  }
  Sizes left;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (!(*marks)[i]) {
      left.push_back((*sizes)[i]);
    } else if (*keep) {
      left.push_back(Fact::integer(1));
    }
  }
  return Fact::list(std::move(left));
}

/// removed(s, dim)
Fact removed(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes || sizes->empty()) return {};
  const auto at = wrapped(argument(a, 1), sizes->size());
  if (!at) return unknownSizes(sizes->size() - 1);
  Sizes left = *sizes;
  left.erase(left.begin() + static_cast<std::ptrdiff_t>(*at));
  return Fact::list(std::move(left));
}

/// inserted(s, dim, size=1): `dim` counts the dimensions of the result.
Fact inserted(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto at = wrapped(argument(a, 1), sizes->size() + 1);
  if (!at) return unknownSizes(sizes->size() + 1);
  Sizes more = *sizes;
  more.insert(more.begin() + static_cast<std::ptrdiff_t>(*at), a.size() > 2 ? a[2] : Fact::integer(1));
  return Fact::list(std::move(more));
}

/// replaced(s, dim, size)
Fact replaced(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto at = wrapped(argument(a, 1), sizes->size());
  if (!at) return unknownSizes(sizes->size());
  if (*at < sizes->size()) (*sizes)[*at] = argument(a, 2);
  return Fact::list(std::move(*sizes));
}

/// sliced(s, dim, step): each step-th place of the dimension, from some place to another.
Fact sliced(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto at = wrapped(argument(a, 1), sizes->size());
  if (!at) return unknownSizes(sizes->size());
  if (*at < sizes->size()) {
    Size stride = (*sizes)[*at].stride * argument(a, 2).asSize();
    (*sizes)[*at] = anyInt();
    (*sizes)[*at].stride = std::move(stride);
  }
  return Fact::list(std::move(*sizes));
}

/// permuted(s, dims)
Fact permuted(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  const Fact dims = argument(a, 1);
  if (dims.kind != Kind::List) return sizes ? unknownSizes(sizes->size()) : Fact();
  Sizes result;
  for (const Fact& dim : dims.elements) {
    const auto at = sizes && dims.elements.size() == sizes->size() ? wrapped(dim, sizes->size()) : std::nullopt;
    result.push_back(at ? (*sizes)[*at] : anyInt());
  }
  return Fact::list(std::move(result));
}

/// swapped(s, dim0, dim1)
Fact swapped(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto x = wrapped(argument(a, 1), sizes->size()), y = wrapped(argument(a, 2), sizes->size());
  if (!x || !y) return unknownSizes(sizes->size());
  if (!sizes->empty()) std::swap((*sizes)[*x], (*sizes)[*y]);
  return Fact::list(std::move(*sizes));
}

/// sizes(x): alone, as numbers. What is made with them has strides of its own.
Fact sizes(Facts a) {
  auto all = sizesOf(argument(a, 0));
  if (!all) return {};
  Fact list = Fact::list(std::move(*all));
  list.forgetLayout();
  return list;
}

/// count(x): how many elements.
Fact count(Facts a) {
  const auto all = sizesOf(argument(a, 0));
  return Fact::integer(all ? product(*all) : Size());
}

/// given(size): as they are; the operator raises for negative ones.
Fact given(Facts a) {
  Fact sizes = argument(a, 0);
  return sizes.kind == Kind::List ? sizes : Fact();
}

/// Calls `replace` for each size of a list that is -1; an int that may be -1 is of unknown size.
template <typename F>
Fact withoutMinusOne(Fact sizes, F replace) {
  for (size_t i = 0; i < sizes.elements.size(); ++i) {
    const Size size = sizes.elements[i].asSize();
    if (size.asConstant() == -1) {
      sizes.elements[i] = replace(i);
    } else if (!size.isNonNegative()) {
      sizes.elements[i] = anyInt();
    }
  }
  return sizes;
}

/// viewed(x, size): -1 stands for what is left.
Fact viewed(Facts a) {
  const Fact wanted = argument(a, 1);
  if (wanted.kind != Kind::List) return {};
  const auto all = sizesOf(argument(a, 0));
  const auto rest = [&](size_t at) {
    Sizes others = wanted.elements;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
    const bool are_known = all && std::all_of(others.begin(), others.end(), [](const Fact& size) {
                             return size.asSize().isNonNegative();
                           });
    return Fact::integer(are_known ? Size::divideExactly(product(*all), product(others)) : Size());
  };
  return withoutMinusOne(wanted, rest);
}

/// expanded(x, size): -1 stands for the size of x.
Fact expanded(Facts a) {
  Fact wanted = argument(a, 1);
  if (wanted.kind != Kind::List) return {};
  wanted.forgetLayout();
  const auto own = sizesOf(argument(a, 0));
  const auto ownAt = [&](size_t at) {
    const bool has = own && at + own->size() >= wanted.elements.size();
    return has ? (*own)[at + own->size() - wanted.elements.size()] : anyInt();
  };
  Fact result = withoutMinusOne(wanted, ownAt);
  if (!own) return result;
  for (size_t i = 0; i < result.elements.size(); ++i) {
    const Fact dimension = ownAt(i);
    const Size from = dimension.asSize(), to = result.elements[i].asSize();
    const bool is_new = i + own->size() < wanted.elements.size();
    if (from.isKnown() && from == to) {
      result.elements[i].stride = dimension.stride;
    } else {
      // If it is as large as it was after all, and larger than 1, its stride is what it was.
      result.elements[i].stride = is_new || from.asConstant() == 1 ? Size::constant(0) : Size();
    }
  }
  return result;
}

/// flattened(s, start, end)
Fact flattened(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  if (sizes->empty()) return unknownSizes(1);
  const auto start = wrapped(argument(a, 1), sizes->size()), end = wrapped(argument(a, 2), sizes->size());
  if (!start || !end || *start > *end) return {};
  if (*start == *end) return Fact::list(*sizes);
  Sizes left(sizes->begin(), sizes->begin() + static_cast<std::ptrdiff_t>(*start));
  const Sizes flat(
      sizes->begin() + static_cast<std::ptrdiff_t>(*start), sizes->begin() + static_cast<std::ptrdiff_t>(*end) + 1);
  left.push_back(Fact::integer(product(flat)));
  left.insert(left.end(), sizes->begin() + static_cast<std::ptrdiff_t>(*end) + 1, sizes->end());
  return Fact::list(std::move(left));
}

/// matmul(x, y): as torch.matmul.
Fact matmul(Facts a) {
  const auto x = sizesOf(argument(a, 0)), y = sizesOf(argument(a, 1));
  if (!x || !y || x->empty() || y->empty()) return {};
  const auto batch = [](const Sizes& sizes) {
    return Fact::list(sizes.size() > 2 ? Sizes(sizes.begin(), sizes.end() - 2) : Sizes());
  };
  const Fact batches[] = {batch(*x), batch(*y)};
  Fact result = broadcast(batches);
  if (x->size() > 1) result.elements.push_back((*x)[x->size() - 2]);
  if (y->size() > 1) result.elements.push_back(y->back());
  return result;
}

/// einsum(equation, tensors)
Fact einsum(Facts a) {
  std::string equation = argument(a, 0).text;
  if (argument(a, 0).kind != Kind::String || equation.find('.') != std::string::npos) return {};
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  if (arrow != std::string::npos) return unknownSizes(equation.size() - arrow - 2);
  const auto once = [&](char c) { return c != ',' && std::count(equation.begin(), equation.end(), c) == 1; };
  return unknownSizes(static_cast<size_t>(std::count_if(equation.begin(), equation.end(), once)));
}

/// indexed(x, indices): advanced indexing. A mask takes as many dimensions as it has.
Fact indexed(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  const Fact indices = argument(a, 1);
  if (!sizes || indices.kind != Kind::List) return {};
  size_t consumed = 0, rank = 0;
  bool any = false;
  for (const Fact& index : indices.elements) {
    if (index.kind == Kind::None) continue;
    if (!index.isTensor() || !index.dtype || !index.rank()) return {};
    const bool is_mask = *index.dtype == at::kBool || *index.dtype == at::kByte;
    consumed += is_mask ? *index.rank() : 1;
    rank = std::max(rank, is_mask ? size_t(1) : *index.rank());
    any = true;
  }
  if (!any) return argument(a, 0);
  return consumed <= sizes->size() ? unknownSizes(sizes->size() - consumed + rank) : Fact();
}

/// What the tensors of a list have in common; None for a list of which nothing is known.
std::optional<Fact> commonOf(const Fact& list) {
  if ((list.kind != Kind::List && list.kind != Kind::ListOf) || list.elements.empty()) return std::nullopt;
  Fact all = list.elements[0];
  for (const Fact& element : list.elements) all = Fact::common(all, element);
  // Dtypes may differ.
  if (!all.isTensor()) return std::nullopt;
  return all;
}

/// joined(tensors, dim): as torch.cat. In the other dimensions all have one size.
Fact joined(Facts a) {
  const Fact list = argument(a, 0);
  const auto all = commonOf(list);
  if (!all || !all->has_sizes) return {};
  const auto dim = wrapped(argument(a, 1), all->elements.size());
  Size sum = dim && list.kind == Kind::List ? Size::constant(0) : Size();
  for (const Fact& tensor : list.elements) {
    if (sum.isKnown()) sum = *dim < tensor.elements.size() ? sum + tensor.elements[*dim].asSize() : Size();
  }
  const Fact dims[] = {list.elements[0], argument(a, 1), Fact::integer(sum)};
  return replaced(dims);
}

/// stacked(tensors, dim): as torch.stack.
Fact stacked(Facts a) {
  const Fact list = argument(a, 0);
  const auto all = commonOf(list);
  if (!all || !all->has_sizes) return {};
  const Fact dims[] = {list.elements[0], argument(a, 1), length(a)};
  return inserted(dims);
}

}  // namespace

FactFunction factFunction(std::string_view name) {
  static const auto* functions = new std::unordered_map<std::string_view, FactFunction>{
      {"tensor", makeTensor},
      {"view", view},
      {"reordered", reordered},
      {"itself", itself},
      {"laid_out", laidOut},
      {"like", like},
      {"constant", constant},
      {"each", each},
      {"computed", computed},
      {"promote", promote},
      {"widest", widest},
      {"agreed", agreed},
      {"floating", floating},
      {"accumulated", accumulated},
      {"real", real},
      {"complex", complexOf},
      {"is_floating", isFloating},
      {"is_complex", isComplex},
      {"is_quantized", isQuantized},
      {"is_integral", isIntegral},
      {"same", sameDtype},
      {"rank", rankOf},
      {"length", length},
      {"unknowns", unknowns},
      {"resized", resized},
      {"broadcast", broadcast},
      {"broadcast_each", broadcastEach},
      {"reduced", reduced},
      {"removed", removed},
      {"inserted", inserted},
      {"replaced", replaced},
      {"sliced", sliced},
      {"permuted", permuted},
      {"swapped", swapped},
      {"sizes", sizes},
      {"count", count},
      {"given", given},
      {"viewed", viewed},
      {"expanded", expanded},
      {"flattened", flattened},
      {"matmul", matmul},
      {"einsum", einsum},
      {"indexed", indexed},
      {"joined", joined},
      {"stacked", stacked},
  };
  const auto found = functions->find(name);
  return found == functions->end() ? nullptr : found->second;
}

}  // namespace cresset
