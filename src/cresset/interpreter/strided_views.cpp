#include "cresset/interpreter/strided_views.h"

#include <ATen/TensorUtils.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/DimVector.h>

#include <limits>
#include <optional>

#include "cresset/interpreter/plain_tensor.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/view_sizes.h"

namespace cresset {

namespace {

using Arguments = std::span<const c10::IValue* const>;

bool isUsual(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  // Without gradients, too, views of what requires one say that they do: matmul asks, and computes by other functions
  // then.
  const bool asks = isAboveAutograd() || c10::InferenceMode::is_enabled();
  const bool requires_grad = asks && tensor.unsafeGetTensorImpl()->autograd_meta() != nullptr && tensor.requires_grad();
  return hasPlainMemory(tensor) && !requires_grad && !carriesTangent(tensor) && callsReachKernels();
}

/// Sizes and strides of a tensor in the memory of another.
struct Strided {
  explicit Strided(const at::Tensor& of)
      : tensor(of), sizes(of.sizes()), strides(of.strides()), offset(of.storage_offset()) {}

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  /// A dimension counted from either end; false if there is none such.
  bool wrap(int64_t& dim) const {
    if (dim < 0) dim += rank();
    return dim >= 0 && dim < rank();
  }
  void erase(int64_t dim) {
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
  }
  at::Tensor view() const {
    const c10::TensorImpl& of = *tensor.unsafeGetTensorImpl();
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(of.storage()), of.key_set(), of.dtype());
    impl->set_sizes_and_strides(sizes, strides, offset);
    impl->set_version_counter(of.version_counter());
    return at::Tensor(std::move(impl));
  }

  const at::Tensor& tensor;
  c10::DimVector sizes, strides;
  int64_t offset;
};

/// The numbers of a list of ints.
c10::DimVector intsOf(const c10::IValue& list) {
  c10::DimVector numbers;
  for (const c10::IValue& number : list.toListRef()) numbers.push_back(number.toInt());
  return numbers;
}

bool isNonNegative(c10::IntArrayRef numbers) {
  for (const int64_t number : numbers) {
    if (number < 0) return false;
  }
  return true;
}

// ---- By column STRIDED

namespace strided {

bool done(c10::IValue& result, const Strided& layout) {
  result = layout.view();
  return true;
}

bool swapped(c10::IValue& result, Strided layout, int64_t a, int64_t b) {
  if (!layout.wrap(a) || !layout.wrap(b)) return false;
  std::swap(layout.sizes[static_cast<size_t>(a)], layout.sizes[static_cast<size_t>(b)]);
  std::swap(layout.strides[static_cast<size_t>(a)], layout.strides[static_cast<size_t>(b)]);
  return done(result, layout);
}

bool transpose(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  return swapped(result, Strided(self), arguments[1]->toInt(), arguments[2]->toInt());
}

bool t(const at::Tensor& self, Arguments /*arguments*/, c10::IValue& result) {
  return self.dim() <= 2 && swapped(result, Strided(self), 0, self.dim() < 2 ? 0 : 1);
}

bool last_swapped(const at::Tensor& self, Arguments /*arguments*/, c10::IValue& result) {
  return self.dim() >= 2 && swapped(result, Strided(self), -2, -1);
}

bool permute(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const Strided from(self);
  Strided to(self);
  const c10::DimVector dims = intsOf(*arguments[1]);
  if (static_cast<int64_t>(dims.size()) != from.rank() || from.rank() > 64) return false;
  uint64_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t dim = dims[i];
    if (!from.wrap(dim) || (seen >> dim & 1)) return false;
    seen |= uint64_t{1} << dim;
    to.sizes[i] = from.sizes[static_cast<size_t>(dim)];
    to.strides[i] = from.strides[static_cast<size_t>(dim)];
  }
  return done(result, to);
}

bool unsqueeze(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  Strided layout(self);
  int64_t dim = arguments[1]->toInt();
  if (dim < 0) dim += layout.rank() + 1;
  if (dim < 0 || dim > layout.rank()) return false;
  const auto at = static_cast<size_t>(dim);
  const int64_t stride = dim == layout.rank() ? 1 : layout.sizes[at] * layout.strides[at];
  layout.sizes.insert(layout.sizes.begin() + dim, 1);
  layout.strides.insert(layout.strides.begin() + dim, stride);
  return done(result, layout);
}

bool squeeze(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  Strided layout(self);
  int64_t dim = arguments[1]->toInt();
  if (!layout.wrap(dim)) return false;
  if (layout.sizes[static_cast<size_t>(dim)] == 1) layout.erase(dim);
  return done(result, layout);
}

bool select(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  Strided layout(self);
  int64_t dim = arguments[1]->toInt(), index = arguments[2]->toInt();
  if (!layout.wrap(dim)) return false;
  const int64_t size = layout.sizes[static_cast<size_t>(dim)];
  if (index < -size || index >= size) return false;
  layout.offset += (index < 0 ? index + size : index) * layout.strides[static_cast<size_t>(dim)];
  layout.erase(dim);
  return done(result, layout);
}

bool sliced(c10::IValue& result, Strided layout, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (!layout.wrap(dim) || step <= 0) return false;
  int64_t &size = layout.sizes[static_cast<size_t>(dim)], &stride = layout.strides[static_cast<size_t>(dim)];
  const auto within = [&](int64_t place) {
    if (place < 0) place += size;
    return std::min(std::max<int64_t>(place, 0), size);
  };
  start = within(start);
  end = std::max(start, within(end));
  layout.offset += start * stride;
  size = (end - start) / step + ((end - start) % step != 0);
  if (__builtin_mul_overflow(stride, step, &stride)) return false;
  return done(result, layout);
}

bool slice(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const int64_t start = arguments[2]->isNone() ? 0 : arguments[2]->toInt();
  const int64_t end = arguments[3]->isNone() ? std::numeric_limits<int64_t>::max() : arguments[3]->toInt();
  return sliced(result, Strided(self), arguments[1]->toInt(), start, end, arguments[4]->toInt());
}

bool narrow(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const Strided layout(self);
  int64_t dim = arguments[1]->toInt(), start = arguments[2]->toInt();
  const int64_t length = arguments[3]->toInt();
  if (!layout.wrap(dim) || length < 0) return false;
  const int64_t size = layout.sizes[static_cast<size_t>(dim)];
  if (start < 0) start += size;
  if (start < 0 || start > size || length > size - start) return false;
  return sliced(result, layout, dim, start, start + length, 1);
}

/// Of the same elements in the same order; false if no strides do it, or there are others.
bool reshaped(const at::Tensor& self, c10::DimVector sizes, c10::IValue& result) {
  std::optional<size_t> open;
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && !open) {
      open = i;
    } else if (sizes[i] < 0 || __builtin_mul_overflow(count, sizes[i], &count)) {
      return false;
    }
  }
  if (open) {
    if (count == 0 || self.numel() % count != 0) return false;
    sizes[*open] = self.numel() / count;
  } else if (count != self.numel()) {
    return false;
  }
  const auto strides = at::detail::computeStride(self.sizes(), self.strides(), sizes);
  if (!strides) return false;
  Strided layout(self);
  layout.sizes = std::move(sizes);
  layout.strides = *strides;
  return done(result, layout);
}

bool view(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  return reshaped(self, intsOf(*arguments[1]), result);
}

bool view_as(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const at::Tensor& other = arguments[1]->toTensor();
  return other.defined() && hasPlainMemory(other) && reshaped(self, c10::DimVector(other.sizes()), result);
}

bool flatten(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const Strided layout(self);
  int64_t first = arguments[1]->toInt(), last = arguments[2]->toInt();
  if (!layout.wrap(first) || !layout.wrap(last) || first > last) return false;
  if (first == last) {
    result = self;
    return true;
  }
  return reshaped(self, flattenedSizes(layout.sizes, first, last), result);
}

bool expanded(const at::Tensor& self, const c10::DimVector& sizes, c10::IValue& result) {
  const Strided from(self);
  Strided to(self);
  const auto added = static_cast<int64_t>(sizes.size()) - from.rank();
  if (added < 0) return false;
  to.sizes.resize(sizes.size());
  to.strides.resize(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    const int64_t dim = static_cast<int64_t>(i) - added;
    const auto at = static_cast<size_t>(dim);
    int64_t size = dim >= 0 ? from.sizes[at] : 1;
    int64_t stride = dim >= 0 ? from.strides[at] : to.sizes[i + 1] * to.strides[i + 1];
    const int64_t wanted = sizes[i] == -1 && dim >= 0 ? size : sizes[i];
    if (wanted < 0 || (size != wanted && size != 1)) return false;
    if (size != wanted) stride = 0;
    to.sizes[i] = wanted;
    to.strides[i] = stride;
  }
  return done(result, to);
}

bool expand(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  return self.dim() > 0 && expanded(self, intsOf(*arguments[1]), result);
}

bool expand_as(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const at::Tensor& other = arguments[1]->toTensor();
  return self.dim() > 0 && other.defined() && hasPlainMemory(other) &&
         expanded(self, c10::DimVector(other.sizes()), result);
}

bool alias(const at::Tensor& self, Arguments /*arguments*/, c10::IValue& result) {
  return done(result, Strided(self));
}

bool contiguous(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const auto format = static_cast<at::MemoryFormat>(arguments[1]->toInt());
  if (format != at::MemoryFormat::Contiguous || !self.is_contiguous()) return false;
  result = self;
  return true;
}

/// Parts of these lengths along a dimension.
bool cut(const at::Tensor& self, int64_t dim, const c10::DimVector& lengths, c10::IValue& result) {
  Strided layout(self);
  if (!layout.wrap(dim) || !isNonNegative(lengths)) return false;
  const auto at = static_cast<size_t>(dim);
  int64_t rest = layout.sizes[at];
  for (const int64_t length : lengths) {
    if (length > rest) return false;
    rest -= length;
  }
  if (rest != 0) return false;
  c10::List<at::Tensor> parts;
  parts.reserve(lengths.size());
  for (const int64_t length : lengths) {
    layout.sizes[at] = length;
    parts.push_back(layout.view());
    layout.offset += length * layout.strides[at];
  }
  result = std::move(parts);
  return true;
}

/// Parts of one length, of which the last may be shorter.
bool cutEvenly(const at::Tensor& self, int64_t dim, int64_t length, c10::IValue& result) {
  if (!Strided(self).wrap(dim) || length <= 0 || self.size(dim) == 0) return false;
  c10::DimVector lengths(static_cast<size_t>((self.size(dim) - 1) / length + 1), length);
  lengths.back() = self.size(dim) - length * static_cast<int64_t>(lengths.size() - 1);
  return cut(self, dim, lengths, result);
}

bool chunk(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  const int64_t chunks = arguments[1]->toInt();
  int64_t dim = arguments[2]->toInt();
  if (!Strided(self).wrap(dim) || chunks <= 0 || self.size(dim) == 0) return false;
  return cutEvenly(self, dim, (self.size(dim) - 1) / chunks + 1, result);
}

bool split(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  return cutEvenly(self, arguments[2]->toInt(), arguments[1]->toInt(), result);
}

bool split_with_sizes(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  return cut(self, arguments[2]->toInt(), intsOf(*arguments[1]), result);
}

bool unbind(const at::Tensor& self, Arguments arguments, c10::IValue& result) {
  Strided layout(self);
  int64_t dim = arguments[1]->toInt();
  if (!layout.wrap(dim)) return false;
  const int64_t size = self.size(dim), stride = self.stride(dim);
  layout.erase(dim);
  c10::List<at::Tensor> parts;
  parts.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    parts.push_back(layout.view());
    layout.offset += stride;
  }
  result = std::move(parts);
  return true;
}

}  // namespace strided

using ViewOf = bool (*)(const at::Tensor& self, Arguments arguments, c10::IValue& result);

template <ViewOf view>
bool ofUsual(Arguments arguments, c10::IValue& result) {
  if (!arguments[0]->isTensor()) return false;
  const at::Tensor& self = arguments[0]->toTensor();
  return isUsual(self) && view(self, arguments, result);
}

bool sizeOfDimension(Arguments arguments, c10::IValue& result) {
  if (!arguments[0]->isTensor()) return false;
  const at::Tensor& self = arguments[0]->toTensor();
  if (!self.defined() || !hasPlainMemory(self) || !callsReachKernels()) return false;
  const c10::IntArrayRef sizes = self.sizes();
  int64_t dim = arguments[1]->toInt();
  if (dim < 0) dim += static_cast<int64_t>(sizes.size());
  if (dim < 0 || dim >= static_cast<int64_t>(sizes.size())) return false;
  result = sizes[static_cast<size_t>(dim)];
  return true;
}

constexpr ColumnCell<StridedView> kCells[] = {
#define OPERATOR(name) {name, {}},
#define STRIDED(function) {{}, ofUsual<strided::function>},
#include "cresset/ops/table/table.def"
};

}  // namespace

StridedView stridedViewOf(const Operator& op) {
  static const auto* columns = new auto(byOperator(kCells));
  const auto found = columns->find(op.fullName());
  return found == columns->end() ? nullptr : found->second;
}

StridedView directCallOf(const Node& node, const InnerViews& inner_views) {
  if (isBasic(node, Basic::Size)) return sizeOfDimension;
  return inner_views.contains(&node) ? stridedViewOf(*operatorOf(node)) : nullptr;
}

}  // namespace cresset
