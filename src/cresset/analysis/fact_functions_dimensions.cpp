// Functions of rules for facts that pick, reorder, drop and insert dimensions. They take the strides along.
#include <algorithm>
#include <limits>

#include "cresset/analysis/fact_functions.h"

namespace cresset::fact_functions {

namespace {

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

/// summed(s, dims, keepdim): as reduced; but [] stands for no dimension where the tensor is sparse.
Fact summed(Facts a) {
  const Fact dims = argument(a, 1);
  return dims.kind == Kind::List && dims.elements.empty() ? Fact() : reduced(a);
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

/// Whether a slice that begins, or ends, there takes all up to that end of the dimension.
bool isWhole(const Fact& start, const Fact& end) {
  const auto first = start.asNumber(), last = end.asNumber();
  return (start.kind == Kind::None || first == 0) &&
         (end.kind == Kind::None || last == std::numeric_limits<int64_t>::max());
}

/// sliced(s, dim, step, start, end): each step-th place of the dimension, from start to end, or from some place to
/// another if they are not given.
Fact sliced(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto at = wrapped(argument(a, 1), sizes->size());
  if (!at) return unknownSizes(sizes->size());
  if (*at < sizes->size()) {
    Fact& dimension = (*sizes)[*at];
    const Size step = argument(a, 2).asSize();
    const bool stays = a.size() == 5 && step.asConstant() == 1 && isWhole(a[3], a[4]);
    Size stride = dimension.stride * step;
    if (!stays) dimension = anyInt();
    dimension.stride = std::move(stride);
  }
  return Fact::list(std::move(*sizes));
}

/// squeezed(s, dims): without those of the dimensions (None: of all) that are 1.
Fact squeezed(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const Fact dims = argument(a, 1);
  const auto marks = dims.kind == Kind::None ? std::vector<bool>(sizes->size(), true) : marked(dims, sizes->size());
  if (!marks) return {};
  Sizes left;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const auto size = (*sizes)[i].asSize().asConstant();
    if ((*marks)[i] && !size) return {};
    if (!(*marks)[i] || *size != 1) left.push_back((*sizes)[i]);
  }
  return Fact::list(std::move(left));
}

/// diagonal(s, dim1, dim2): both go on together, as the last dimension.
Fact diagonal(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes || sizes->size() < 2) return {};
  const auto x = wrapped(argument(a, 1), sizes->size()), y = wrapped(argument(a, 2), sizes->size());
  if (!x || !y) return unknownSizes(sizes->size() - 1);
  Sizes left;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (i != *x && i != *y) left.push_back((*sizes)[i]);
  }
  left.push_back(anyInt());
  left.back().stride = (*sizes)[*x].stride + (*sizes)[*y].stride;
  return Fact::list(std::move(left));
}

/// unfolded(x, dim, size, step): the windows of a dimension, and as the last dimension the places of each.
Fact unfolded(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  Fact window = argument(a, 2);
  window.stride = Size();
  if (sizes->empty()) return Fact::list({window});
  const auto at = wrapped(argument(a, 1), sizes->size());
  if (!at) return unknownSizes(sizes->size() + 1);
  Fact& dimension = (*sizes)[*at];
  window.stride = dimension.stride;
  Size stride = dimension.stride * argument(a, 3).asSize();
  dimension = anyInt();
  dimension.stride = std::move(stride);
  sizes->push_back(std::move(window));
  return Fact::list(std::move(*sizes));
}

/// strided(sizes, strides): as they are.
Fact strided(Facts a) {
  Fact sizes = argument(a, 0);
  const Fact strides = argument(a, 1);
  if (sizes.kind != Kind::List) return {};
  const bool are_known = strides.kind == Kind::List && strides.elements.size() == sizes.elements.size();
  for (size_t i = 0; i < sizes.elements.size(); ++i)
    sizes.elements[i].stride = are_known ? strides.elements[i].asSize() : Size();
  return sizes;
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

/// moved(s, source, destination): dimensions, or lists of them, to other places; the rest keep their order.
Fact moved(Facts a) {
  const auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  const auto listOf = [&](const Fact& dims) { return dims.kind == Kind::List ? dims.elements : Sizes{dims}; };
  const Sizes from = listOf(argument(a, 1)), to = listOf(argument(a, 2));
  if (from.size() != to.size() || sizes->empty()) return unknownSizes(sizes->size());
  std::vector<std::optional<size_t>> places(sizes->size());
  std::vector<bool> is_moved(sizes->size());
  for (size_t i = 0; i < from.size(); ++i) {
    const auto source = wrapped(from[i], sizes->size()), target = wrapped(to[i], sizes->size());
    if (!source || !target) return unknownSizes(sizes->size());
    places[*target] = source;
    is_moved[*source] = true;
  }
  Sizes result;
  size_t next = 0;
  for (const auto& place : places) {
    while (!place && next < sizes->size() && is_moved[next]) ++next;
    if (!place && next == sizes->size()) return unknownSizes(sizes->size());
    result.push_back((*sizes)[place ? *place : next++]);
  }
  return Fact::list(std::move(result));
}

/// reversed(s)
Fact reversed(Facts a) {
  auto sizes = sizesOf(argument(a, 0));
  if (!sizes) return {};
  std::reverse(sizes->begin(), sizes->end());
  return Fact::list(std::move(*sizes));
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

/// What the tensors of a list have in common; None for a list of which nothing is known.
std::optional<Fact> commonOf(const Fact& list) {
  if ((list.kind != Kind::List && list.kind != Kind::ListOf) || list.elements.empty()) return std::nullopt;
  Fact all = list.elements[0];
  for (const Fact& element : list.elements) all = Fact::common(all, element);
  // Dtypes may differ.
  if (!all.isTensor()) return std::nullopt;
  return all;
}

/// joined(tensors, dim): as torch.cat, which passes over tensors of size [0]. In the other dimensions all have one
/// size.
Fact joined(Facts a) {
  Fact list = argument(a, 0);
  const auto is_left_out = [](const Fact& tensor) {
    return tensor.isTensor() && tensor.rank() == 1 && tensor.elements[0].asNumber() == 0;
  };
  if (list.kind == Kind::List && !std::all_of(list.elements.begin(), list.elements.end(), is_left_out))
    std::erase_if(list.elements, is_left_out);
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
  const auto count = list.kind == Kind::List ? std::optional(static_cast<int64_t>(list.elements.size())) : std::nullopt;
  const Fact dims[] = {list.elements[0], argument(a, 1), Fact::integer(count)};
  return inserted(dims);
}

constexpr Function kDimensionFunctions[] = {
    {"reduced", reduced},   {"summed", summed},   {"removed", removed},   {"inserted", inserted},
    {"replaced", replaced}, {"sliced", sliced},   {"squeezed", squeezed}, {"diagonal", diagonal},
    {"unfolded", unfolded}, {"strided", strided}, {"moved", moved},       {"reversed", reversed},
    {"permuted", permuted}, {"swapped", swapped}, {"joined", joined},     {"stacked", stacked},
};

}  // namespace

std::span<const Function> ofDimensions() {
  return kDimensionFunctions;
}

}  // namespace cresset::fact_functions
