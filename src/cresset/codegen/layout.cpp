#include "cresset/codegen/layout.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace cresset::codegen {

namespace {

bool isContiguous(const StridedLayout& layout, std::span<const size_t> order) {
  int64_t expected = 1;
  for (const size_t d : order) {
    if (layout.sizes[d] == 1) continue;
    if (layout.strides[d] != expected) return false;
    expected *= layout.sizes[d];
  }
  return true;
}

/// Dimensions from the innermost outwards.
std::vector<size_t> rowMajor(size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), size_t{0});
  return order;
}

}  // namespace

Sizes broadcastStrides(const StridedLayout& operand, const Sizes& sizes) {
  Sizes strides(sizes.size(), 0);
  const size_t missing = sizes.size() - operand.sizes.size();
  for (size_t d = 0; d < operand.sizes.size(); ++d) {
    const bool is_broadcast = operand.sizes[d] == 1 && sizes[missing + d] != 1;
    strides[missing + d] = is_broadcast ? 0 : operand.strides[d];
  }
  return strides;
}

std::optional<Sizes> broadcastSizes(std::span<const StridedLayout* const> operands) {
  Sizes sizes;
  for (const StridedLayout* operand : operands) {
    const Sizes& own = operand->sizes;
    if (own.size() > sizes.size()) sizes.insert(sizes.begin(), own.size() - sizes.size(), 1);
    const size_t missing = sizes.size() - own.size();
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t& size = sizes[missing + d];
      if (own[d] == 1 || own[d] == size) continue;
      if (size != 1) return std::nullopt;
      size = own[d];
    }
  }
  return sizes;
}

bool isNonOverlappingAndDense(const StridedLayout& layout) {
  std::vector<size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (layout.sizes[a] < 2 || layout.sizes[b] < 2) return layout.sizes[a] >= 2 && layout.sizes[b] < 2;
    return layout.strides[a] < layout.strides[b];
  });
  return isContiguous(layout, order);
}

namespace {

/// Channels (dimension 1) are innermost; of images and volumes.
std::vector<size_t> channelsLast(size_t rank) {
  std::vector<size_t> order = {1};
  for (size_t d = rank - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  return order;
}

StridedLayout denseLayout(Sizes sizes, std::span<const size_t> order) {
  StridedLayout layout{sizes, Sizes(sizes.size(), 1)};
  int64_t stride = 1;
  for (const size_t d : order) {
    layout.strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return layout;
}

/// What TensorIterator does with operands of one shape; nothing where it looks closer.
std::optional<StridedLayout> layoutOfEqual(std::span<const StridedLayout* const> operands) {
  const auto all = [&](const auto& predicate) {
    return std::all_of(
        operands.begin(), operands.end(), [&](const StridedLayout* layout) { return predicate(*layout); });
  };
  const StridedLayout& first = *operands[0];
  if (!all([&](const StridedLayout& layout) { return layout.sizes == first.sizes; })) return std::nullopt;
  const size_t rank = first.sizes.size();
  if (all([&](const StridedLayout& layout) { return isContiguous(layout, rowMajor(rank)); }))
    return contiguousLayout(first.sizes);
  if (rank == 4 && all([&](const StridedLayout& layout) { return isContiguous(layout, channelsLast(rank)); }))
    return denseLayout(first.sizes, channelsLast(rank));
  if (all([&](const StridedLayout& layout) { return layout.strides == first.strides; }) &&
      isNonOverlappingAndDense(first))
    return first;
  return std::nullopt;
}

/// Whether dimension `a` belongs further in than `b` (negative) or further out (positive), as the first operand says
/// that is not broadcast along one of them; 0 if none does.
int compareDimensions(size_t a, size_t b, const Sizes& sizes, std::span<const Sizes> strides) {
  for (const Sizes& operand : strides) {
    if (operand[a] == 0 || operand[b] == 0) continue;
    if (operand[a] != operand[b]) return operand[a] < operand[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

/// Dimensions from the innermost outwards: an insertion sort that passes by those that can't be compared.
std::vector<size_t> orderOfDimensions(const Sizes& sizes, std::span<const Sizes> strides) {
  std::vector<size_t> order = rowMajor(sizes.size());
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t k = i; k-- > 0;) {
      const int comparison = compareDimensions(order[k], order[at], sizes, strides);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[k], order[at]);
      at = k;
    }
  }
  return order;
}

}  // namespace

StridedLayout layoutOf(const at::Tensor& tensor) {
  return {Sizes(tensor.sizes().begin(), tensor.sizes().end()), Sizes(tensor.strides().begin(), tensor.strides().end())};
}

StridedLayout contiguousLayout(Sizes sizes) {
  const std::vector<size_t> order = rowMajor(sizes.size());
  return denseLayout(std::move(sizes), order);
}

std::optional<StridedLayout> layoutOfResult(std::span<const StridedLayout* const> operands) {
  auto sizes = broadcastSizes(operands);
  if (!sizes) return std::nullopt;
  if (operands.empty()) return contiguousLayout(*sizes);
  if (auto equal = layoutOfEqual(operands)) return equal;
  std::vector<Sizes> strides;
  for (const StridedLayout* operand : operands) strides.push_back(broadcastStrides(*operand, *sizes));
  const std::vector<size_t> order = orderOfDimensions(*sizes, strides);
  return denseLayout(std::move(*sizes), order);
}

StridedLayout layoutOfLike(const StridedLayout& layout) {
  return isNonOverlappingAndDense(layout) ? layout : *layoutOfResult(std::vector{&layout});
}

/// Whether it is contiguous, or so with channels last.
static bool isInFormat(const StridedLayout& layout) {
  const size_t rank = layout.sizes.size();
  return layout == contiguousLayout(layout.sizes) ||
         ((rank == 4 || rank == 5) && layout == denseLayout(layout.sizes, channelsLast(rank)));
}

std::optional<StridedLayout> layoutOfResult(std::span<const StridedLayout> operands, const ResultRule& rule) {
  static const StridedLayout kNumber;
  std::vector<const StridedLayout*> pointers;
  for (const StridedLayout& operand : operands) pointers.push_back(&operand);
  if (rule.has_number) pointers.push_back(&kNumber);
  auto layout = layoutOfResult(pointers);
  if (!layout) return std::nullopt;
  if (rule.keeps_layout) {
    if (operands[0].sizes != layout->sizes) return std::nullopt;
    if (rule.is_first && !isNonOverlappingAndDense(operands[0])) return std::nullopt;
    layout = layoutOfLike(operands[0]);
  }
  if (rule.keeps_format) {
    if (!isInFormat(operands[0])) return std::nullopt;
    layout = operands[0];
  }
  if (rule.makes_contiguous) layout = contiguousLayout(layout->sizes);
  return layout;
}

namespace {

/// Dimensions that all buffers go through as if they were one become one.
std::vector<LoopDim> merged(const std::vector<LoopDim>& dims) {
  std::vector<LoopDim> result;
  for (const LoopDim& dim : dims) {
    if (dim.size == 1) continue;
    const auto continues = [&](const LoopDim& outer) {
      for (size_t i = 0; i < dim.strides.size(); ++i) {
        if (outer.strides[i] != dim.strides[i] * dim.size) return false;
      }
      return true;
    };
    if (!result.empty() && continues(result.back())) {
      result.back() = {result.back().size * dim.size, dim.strides};
    } else {
      result.push_back(dim);
    }
  }
  return result;
}

/// How many buffers go from element to element along it.
size_t countNext(const LoopDim& dim, std::span<const at::ScalarType> dtypes) {
  size_t count = 0;
  for (size_t i = 0; i < dtypes.size(); ++i)
    count += dim.strides[i] == static_cast<int64_t>(c10::elementSize(dtypes[i])) ? 1 : 0;
  return count;
}

/// Fewer elements than this are reduced side by side, many reductions at once, whatever lies next to what.
constexpr int64_t kFew = 16;

/// The dimension along which vectors go while others are reduced: its index.
size_t bestForVectors(
    const std::vector<LoopDim>& outer, std::span<const at::ScalarType> dtypes, std::optional<size_t> bounds) {
  const auto worth = [&](const LoopDim& dim) {
    const bool is_one = bounds && dim.strides[*bounds] != 0;
    return std::tuple(!is_one, dim.size >= kFew, dim.size >= kFew ? countNext(dim, dtypes) : 0);
  };
  size_t best = outer.size() - 1;
  for (size_t d = outer.size(); d-- > 0;) {
    if (worth(outer[d]) > worth(outer[best])) best = d;
  }
  return best;
}

/// Of the inputs, whether there is one that goes to the next element along `dim` and farther along `other`.
bool hasTransposed(
    const LoopDim& dim, const LoopDim& other, std::span<const at::ScalarType> dtypes, size_t num_inputs) {
  for (size_t i = 0; i < num_inputs; ++i) {
    if (isTransposed(dim.strides[i], other.strides[i], static_cast<int64_t>(c10::elementSize(dtypes[i])))) return true;
  }
  return false;
}

/// Whether vectors hold elements that are reduced to one, rather than elements of several reductions. Inputs count
/// more: they may be read in several loops. Vectors of several reductions take inputs that lie either way: those whose
/// elements lie apart in tiles.
bool reducesVectors(
    const LoopDim& reduced, const LoopDim& other, std::span<const at::ScalarType> dtypes, size_t num_inputs) {
  if (other.size < kFew) return true;
  if (reduced.size >= kFew && hasTransposed(reduced, other, dtypes, num_inputs) &&
      hasTransposed(other, reduced, dtypes, num_inputs))
    return false;
  const auto worth = [&](const LoopDim& dim) {
    return std::pair(countNext(dim, dtypes.first(num_inputs)), countNext(dim, dtypes));
  };
  return reduced.size >= kFew && worth(reduced) >= worth(other);
}

LoopDim oneIteration(std::span<const at::ScalarType> dtypes, bool moves) {
  LoopDim one{1, {}};
  for (const at::ScalarType dtype : dtypes)
    one.strides.push_back(moves ? static_cast<int64_t>(c10::elementSize(dtype)) : 0);
  return one;
}

/// Of loops that reduce nothing: the one whose iterations make tiles with the innermost one, as buffers go to the next
/// element along it and not along that. It becomes the second.
bool moveTiledDim(std::vector<LoopDim>& dims, std::span<const at::ScalarType> dtypes) {
  if (dims.back().size < kFew) return false;
  const auto countTransposed = [&](const LoopDim& dim) {
    size_t count = 0;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      const auto element = static_cast<int64_t>(c10::elementSize(dtypes[i]));
      count += isTransposed(dim.strides[i], dims.back().strides[i], element) ? 1 : 0;
    }
    return count;
  };
  size_t best = dims.size(), most = 0;
  for (size_t d = dims.size() - 1; d-- > 0;) {
    const size_t count = dims[d].size < kFew ? 0 : countTransposed(dims[d]);
    if (count > most) best = d, most = count;
  }
  if (most == 0) return false;
  const auto first = dims.begin() + static_cast<std::ptrdiff_t>(best);
  std::rotate(first, first + 1, dims.end() - 1);
  return true;
}

}  // namespace

std::optional<LoopNest> makeLoopNest(
    const std::vector<LoopDim>& outer, std::span<const ReducedDims> reduced, bool contracts,
    std::span<const at::ScalarType> dtypes, size_t num_inputs, std::optional<size_t> bounds, bool scans) {
  LoopNest nest;
  std::vector<LoopDim> dims = merged(outer);
  if (dims.empty()) dims.push_back(oneIteration(dtypes, reduced.empty() || contracts));
  const size_t num_outer = dims.size();
  nest.vector_dim = num_outer - 1;
  nest.num_reduced = reduced.size();
  if (!reduced.empty()) {
    for (const ReducedDims& together : reduced) {
      std::vector<LoopDim> inner = merged(together);
      if (inner.size() > 1) return std::nullopt;
      dims.push_back(inner.empty() ? oneIteration(dtypes, false) : std::move(inner[0]));
    }
    const std::vector<LoopDim> not_reduced(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(num_outer));
    const size_t best = bestForVectors(not_reduced, dtypes, bounds);
    const bool has_other = !bounds || (dims[best].size > 1 && dims[best].strides[*bounds] == 0);
    if (!has_other || (!contracts && !(scans && dims[best].size >= kFewScans) &&
                       reducesVectors(dims[num_outer], dims[best], dtypes, num_inputs))) {
      nest.vector_dim = num_outer;
    } else {
      const auto first = dims.begin() + static_cast<std::ptrdiff_t>(best);
      std::rotate(first, first + 1, dims.begin() + static_cast<std::ptrdiff_t>(num_outer));
    }
  }
  const bool has_tiles = reduced.empty() && moveTiledDim(dims, dtypes);
  nest.strides.resize(dtypes.size());
  nest.steps.resize(dtypes.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    nest.sizes.push_back(dims[d].size);
    const bool may_be_vectors = d == nest.vector_dim || d >= num_outer;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      const int64_t stride = dims[d].strides[i];
      const auto element = static_cast<int64_t>(c10::elementSize(dtypes[i]));
      const bool is_in_tiles =
          has_tiles && d + 2 == dims.size() && isTransposed(stride, dims.back().strides[i], element);
      const bool is_next = is_in_tiles || (may_be_vectors && stride == element);
      nest.strides[i].push_back(stride);
      nest.steps[i].push_back(stride == 0 ? Step::None : is_next ? Step::Next : Step::Any);
    }
  }
  return nest;
}

}  // namespace cresset::codegen
