// Functions of rules for facts that compute sizes: of what is broadcast, viewed, multiplied, indexed.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cresset/analysis/fact_functions.h"

namespace cresset::fact_functions {

namespace {

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

/// attended(batch, value, broadcast): the dimensions before the last two of an attention: if the value is empty it
/// keeps those of the query, and does not look at the others.
Fact attended(Facts a) {
  const auto batch = sizesOf(argument(a, 0)), value = sizesOf(argument(a, 1));
  auto all = sizesOf(argument(a, 2));
  if (!batch || !value || !all || batch->size() != all->size()) return {};
  const bool is_full = std::all_of(value->begin(), value->end(), [](const Fact& size) {
    const auto constant = size.asSize().asConstant();
    return constant && *constant != 0;
  });
  for (size_t i = 0; i < all->size() && !is_full; ++i) {
    const Size kept = (*batch)[i].asSize(), spread = (*all)[i].asSize();
    if (!kept.isKnown() || !spread.isKnown() || !(kept == spread)) (*all)[i] = anyInt();
  }
  return Fact::list(std::move(*all));
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

/// indexed(x, indices): advanced indexing. A mask takes as many dimensions as it has; ATen leaves one of no dimensions
/// out.
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
    rank = std::max(rank, is_mask ? std::min<size_t>(1, *index.rank()) : *index.rank());
    any = true;
  }
  if (!any) return argument(a, 0);
  return consumed <= sizes->size() ? unknownSizes(sizes->size() - consumed + rank) : Fact();
}

/// The i-th of a list of ints, of which one may stand for all; `missing` of an empty one.
Size perDimension(const Fact& list, size_t i, const Size& missing = Size()) {
  if (list.kind == Kind::Int) return list.asSize();
  if (list.kind != Kind::List) return {};
  if (list.elements.empty()) return missing;
  return list.elements.size() == 1 ? list.elements[0].asSize()
                                   : (i < list.elements.size() ? list.elements[i].asSize() : Size());
}

/// How many windows there are of a dimension.
Size numWindows(const Size& size, const Size& window, const Size& stride, const Size& padding, const Size& dilation) {
  const auto step = stride.asConstant();
  if (!step || *step < 1) return {};
  const Size one = Size::constant(1);
  const Size room = size + Size::constant(2) * padding - dilation * (window - one) - one;
  return Size::floorDivide(room, stride) + one;
}

/// The sizes of a tensor of another layout.
Fact sizesAlone(Sizes sizes) {
  for (Fact& size : sizes) size.stride = Size();
  return Fact::list(std::move(sizes));
}

/// convolved(x, weight, stride, padding, dilation): of a convolution, with or without a batch.
Fact convolved(Facts a) {
  const auto input = sizesOf(argument(a, 0)), weight = sizesOf(argument(a, 1));
  if (!input) return {};
  if (!weight || weight->size() < 3 || (input->size() != weight->size() && input->size() + 1 != weight->size()))
    return unknownSizes(input->size());
  const size_t spatial = weight->size() - 2, first = input->size() - spatial;
  Sizes result;
  if (first == 2) result.push_back((*input)[0]);
  // Without channels to read, ATen's result has none either: times 1 where there are some, else 0.
  constexpr int64_t kMany = int64_t(1) << 62;
  const Size reads = Size::floorDivide((*weight)[1].asSize() + Size::constant(kMany - 1), Size::constant(kMany));
  result.push_back(Fact::integer((*weight)[0].asSize() * reads));
  for (size_t i = 0; i < spatial; ++i)
    result.push_back(Fact::integer(numWindows(
        (*input)[first + i].asSize(), (*weight)[2 + i].asSize(), perDimension(argument(a, 2), i),
        perDimension(argument(a, 3), i), perDimension(argument(a, 4), i))));
  return sizesAlone(std::move(result));
}

/// convolved_back(x, weight, stride, padding, dilation, output_padding, groups): of a transposed convolution, with or
/// without a batch.
Fact convolvedBack(Facts a) {
  const auto input = sizesOf(argument(a, 0)), weight = sizesOf(argument(a, 1));
  if (!input) return {};
  if (!weight || weight->size() < 3 || (input->size() != weight->size() && input->size() + 1 != weight->size()))
    return unknownSizes(input->size());
  const size_t spatial = weight->size() - 2, first = input->size() - spatial;
  const Size one = Size::constant(1);
  Sizes result;
  if (first == 2) result.push_back((*input)[0]);
  result.push_back(Fact::integer((*weight)[1].asSize() * argument(a, 6).asSize()));
  for (size_t i = 0; i < spatial; ++i) {
    const Size steps = ((*input)[first + i].asSize() - one) * perDimension(argument(a, 2), i);
    const Size window = perDimension(argument(a, 4), i) * ((*weight)[2 + i].asSize() - one) + one;
    const Size added = perDimension(argument(a, 5), i) - Size::constant(2) * perDimension(argument(a, 3), i);
    result.push_back(Fact::integer(steps + window + added));
  }
  return sizesAlone(std::move(result));
}

std::optional<double> realNumber(const Fact& number) {
  if (number.kind == Kind::Float) return number.real;
  const auto whole = number.asNumber();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

/// counted(start, end, step, dtype): how many numbers a range has. Of floats they must be known, and no dtype be asked
/// for: ranges of ints cut them off first.
Fact counted(Facts a) {
  if (std::any_of(a.begin(), a.begin() + 3, [](const Fact& fact) { return fact.kind == Kind::Float; })) {
    const auto start = realNumber(a[0]), end = realNumber(a[1]), step = realNumber(a[2]);
    if (!start || !end || !step || argument(a, 3).kind != Kind::None) return Fact::list({anyInt()});
    const double count = std::ceil((*end - *start) / *step);
    constexpr double kMost = 1e15;  // numbers up to it are exact
    if (!(count >= 0 && count <= kMost)) return Fact::list({anyInt()});
    return Fact::list({Fact::integer(static_cast<int64_t>(count))});
  }
  const Size start = argument(a, 0).asSize(), end = argument(a, 1).asSize();
  const auto step = argument(a, 2).asNumber();
  if (!step || *step == 0 || *step == std::numeric_limits<int64_t>::min()) return Fact::list({anyInt()});
  const Size room = *step > 0 ? end - start : start - end, stride = Size::constant(std::abs(*step));
  return Fact::list({Fact::integer(Size::floorDivide(room + stride - Size::constant(1), stride))});
}

/// pooled(x, n, kernel_size, stride, padding, dilation, ceil_mode): of pooling over the last n dimensions.
Fact pooled(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  const auto spatial = argument(a, 1).asNumber();
  if (!sizes) return {};
  const auto count = static_cast<size_t>(spatial.value_or(0));
  if (sizes->size() < count || argument(a, 6).asNumber() != std::optional<int64_t>(0))
    return unknownSizes(sizes->size());
  const size_t first = sizes->size() - count;
  for (size_t i = 0; i < count; ++i) {
    const Size window = perDimension(argument(a, 2), i);
    (*sizes)[first + i] = Fact::integer(numWindows(
        (*sizes)[first + i].asSize(), window, perDimension(argument(a, 3), i, window), perDimension(argument(a, 4), i),
        perDimension(argument(a, 5), i)));
  }
  return sizesAlone(std::move(*sizes));
}

/// ending(s, sizes): with these as its last sizes.
Fact ending(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  const Fact last = argument(a, 1);
  if (!sizes) return {};
  if (last.kind != Kind::List || last.elements.size() > sizes->size()) return unknownSizes(sizes->size());
  const size_t first = sizes->size() - last.elements.size();
  for (size_t i = 0; i < last.elements.size(); ++i) (*sizes)[first + i] = Fact::integer(last.elements[i].asSize());
  return sizesAlone(std::move(*sizes));
}

constexpr Function kSizeFunctions[] = {
    {"rank", rankOf},         {"length", length},
    {"unknowns", unknowns},   {"resized", resized},
    {"convolved", convolved}, {"pooled", pooled},
    {"ending", ending},       {"broadcast", broadcast},
    {"attended", attended},   {"broadcast_each", broadcastEach},
    {"sizes", sizes},         {"count", count},
    {"given", given},         {"viewed", viewed},
    {"expanded", expanded},   {"flattened", flattened},
    {"matmul", matmul},       {"einsum", einsum},
    {"indexed", indexed},     {"convolved_back", convolvedBack},
    {"counted", counted},
};

}  // namespace

std::span<const Function> ofSizes() {
  return kSizeFunctions;
}

}  // namespace cresset::fact_functions
