#include "cresset/ops/packed_convolution.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/convolution_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>

namespace cresset {

namespace {

using at::Tensor;

/// An operator that libtorch has where it was built with oneDNN; nothing elsewhere.
std::optional<c10::OperatorHandle> oneDnnOperator(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""});
}

struct Operators {
  std::optional<c10::OperatorHandle> pack = oneDnnOperator("mkldnn::_reorder_convolution_weight"),
                                     pack_transposed = oneDnnOperator("mkldnn::_reorder_convolution_transpose_weight"),
                                     run = oneDnnOperator("mkldnn::_convolution_pointwise"),
                                     run_transposed = oneDnnOperator("mkldnn::_convolution_transpose_pointwise"),
                                     has_bfloat16 = oneDnnOperator("mkldnn::_is_mkldnn_bf16_supported");

  static const Operators& get() {
    static const Operators operators;
    return operators;
  }
};

/// oneDNN's kernels know two and three spatial dimensions; one is two, the first of which has one element.
std::vector<int64_t> padded(const std::vector<int64_t>& numbers, int64_t first) {
  if (numbers.size() != 1) return numbers;
  return {first, numbers[0]};
}

constexpr int64_t kMaxRank = 5;

Tensor withTwoDimensions(const Tensor& tensor) {
  return tensor.dim() == 3 ? tensor.unsqueeze(2) : tensor;
}

bool isSupported(const Tensor& weight, const ConvolutionShape& shape) {
  const Operators& operators = Operators::get();
  if (!operators.pack || !operators.run ||
      (shape.transposed && (!operators.pack_transposed || !operators.run_transposed)))
    return false;
  const bool dtype = weight.scalar_type() == at::kFloat ||
                     (weight.scalar_type() == at::kBFloat16 && operators.has_bfloat16 && !shape.transposed && [&] {
                       torch::jit::Stack stack;
                       operators.has_bfloat16->callBoxed(&stack);
                       return stack.back().toBool();
                     }());
  const auto spatial = static_cast<size_t>(weight.dim() - 2);
  const auto all = [&](const std::vector<int64_t>& numbers, int64_t least) {
    return numbers.size() == spatial &&
           std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) { return number >= least; });
  };
  if (!dtype || weight.dim() < 3 || weight.dim() > kMaxRank || weight.numel() == 0 || !weight.device().is_cpu() ||
      weight.layout() != at::kStrided || shape.groups < 1 || weight.size(0) % shape.groups != 0 ||
      !all(shape.stride, 1) || !all(shape.padding, 0) || !all(shape.dilation, 1))
    return false;
  if (!shape.transposed) return true;
  if (!all(shape.output_padding, 0)) return false;
  for (size_t i = 0; i < spatial; ++i) {
    if (shape.output_padding[i] >= std::max(shape.stride[i], shape.dilation[i])) return false;
  }
  return true;
}

/// The form that oneDNN wants depends on the sizes of what comes in; others have to be rearranged at each call.
Tensor packFor(const Tensor& input, const Tensor& weight, const ConvolutionShape& shape) {
  const at::NoGradGuard no_grad;
  torch::jit::Stack stack{withTwoDimensions(weight.detach()).contiguous(), padded(shape.padding, 0)};
  if (shape.transposed) stack.emplace_back(padded(shape.output_padding, 0));
  stack.emplace_back(padded(shape.stride, 1));
  stack.emplace_back(padded(shape.dilation, 1));
  stack.emplace_back(shape.groups);
  stack.emplace_back(withTwoDimensions(input).sizes().vec());
  (shape.transposed ? Operators::get().pack_transposed : Operators::get().pack)->callBoxed(&stack);
  return stack.back().toTensor();
}

/// A weight's packed form. Graphs hold it as a constant tensor, whose storage owns it; the tensor's eight bytes are a
/// number that no other has, so that it is equal to no other constant.
class PackedWeight {
 public:
  static Tensor make(const ConvolutionShape& shape) {
    auto* made = new PackedWeight(shape);
    Tensor handle =
        at::_ops::empty_memory_format::call({0}, at::kByte, std::nullopt, at::kCPU, std::nullopt, std::nullopt);
    c10::Storage storage(
        c10::Storage::use_byte_size_t(), sizeof(made->number_),
        at::DataPtr(&made->number_, made, &PackedWeight::destroy, at::kCPU));
    handle.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(storage));
    handle.unsafeGetTensorImpl()->set_sizes_contiguous({sizeof(made->number_)});
    return handle;
  }

  /// Null if the tensor is another one.
  static PackedWeight* of(const Tensor& handle) {
    if (!handle.has_storage() || handle.storage().data_ptr().get_deleter() != &PackedWeight::destroy) return nullptr;
    return static_cast<PackedWeight*>(handle.storage().data_ptr().get_context());
  }

  const ConvolutionShape& shape() const { return shape_; }

  /// Made at the first call, for its sizes, and again after a write to the weight.
  Tensor get(const Tensor& input, const Tensor& weight) {
    const int64_t version = weight.is_inference() ? 0 : weight._version();
    const std::lock_guard lock(mutex_);
    if (!packed_.defined() || version != version_) {
      packed_ = packFor(input, weight, shape_);
      version_ = version;
    }
    return packed_;
  }

 private:
  explicit PackedWeight(const ConvolutionShape& shape) : shape_(shape) {
    static std::atomic<uint64_t> count{0};
    number_ = ++count;
  }
  static void destroy(void* packed) { delete static_cast<PackedWeight*>(packed); }

  uint64_t number_;
  const ConvolutionShape shape_;
  std::mutex mutex_;
  Tensor packed_;  // under mutex_, as is the weight's version that it was made of
  int64_t version_ = 0;
};

/// Packed weights that are still referenced, by the tensor that they were made from.
class PackedWeights {
 public:
  Tensor find(const Tensor& weight, const ConvolutionShape& shape) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.packed.expired() || entry.weight.expired(); });
    for (const Entry& entry : entries_) {
      if (entry.weight._unsafe_get_target() != weight.unsafeGetTensorImpl()) continue;
      auto packed = entry.packed.lock();
      if (packed && PackedWeight::of(Tensor(packed))->shape() == shape) return Tensor(std::move(packed));
    }
    Tensor packed = PackedWeight::make(shape);
    entries_.push_back({WeakTensor(weight.getIntrusivePtr()), WeakTensor(packed.getIntrusivePtr())});
    return packed;
  }

 private:
  using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Entry {
    WeakTensor weight, packed;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Whether PyTorch accepts the sizes, and the result has elements.
bool fits(const Tensor& input, const Tensor& weight, const ConvolutionShape& shape) {
  if (input.dim() != weight.dim() || input.numel() == 0 || input.scalar_type() != weight.scalar_type()) return false;
  if (input.size(1) != (shape.transposed ? weight.size(0) : weight.size(1) * shape.groups)) return false;
  for (size_t i = 0; i < shape.stride.size(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t kernel = shape.dilation[i] * (weight.size(dim) - 1) + 1;
    const int64_t room = shape.transposed ? (input.size(dim) - 1) * shape.stride[i] - 2 * shape.padding[i] + kernel +
                                                shape.output_padding[i] - 1
                                          : input.size(dim) + 2 * shape.padding[i] - kernel;
    if (room < 0) return false;
  }
  return true;
}

/// Whether PyTorch's kernel would return a result in channels-last layout: then the packed weight saves it work, too.
bool returnsChannelsLast(const Tensor& input, const Tensor& weight, const ConvolutionShape& shape) {
  return input.dim() == 4 && !shape.transposed &&
         (input.suggest_memory_format() == at::MemoryFormat::ChannelsLast ||
          weight.suggest_memory_format() == at::MemoryFormat::ChannelsLast);
}

/// [rows, columns] to [columns, rows], for elements of one size. Whole cache lines are read and written, whatever the
/// sizes.
template <typename T>
void transpose(const T* from, T* to, int64_t images, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t strips = (columns + kTile - 1) / kTile;
  at::parallel_for(0, images * strips, std::max<int64_t>(1, 32768 / (rows * kTile)), [&](int64_t begin, int64_t end) {
    std::array<std::array<T, kTile>, kTile> tile;
    for (int64_t strip = begin; strip < end; ++strip) {
      const T* source = from + (strip / strips) * rows * columns;
      T* target = to + (strip / strips) * rows * columns;
      const int64_t first = strip % strips * kTile, width = std::min(kTile, columns - first);
      for (int64_t row = 0; row < rows; row += kTile) {
        const int64_t height = std::min(kTile, rows - row);
        for (int64_t i = 0; i < height; ++i)
          std::memcpy(
              tile[static_cast<size_t>(i)].data(), source + (row + i) * columns + first,
              static_cast<size_t>(width) * sizeof(T));
        for (int64_t j = 0; j < width; ++j) {
          T* line = target + (first + j) * rows + row;
          for (int64_t i = 0; i < height; ++i) line[i] = tile[static_cast<size_t>(i)][static_cast<size_t>(j)];
        }
      }
    }
  });
}

/// Whether elements can be moved as numbers of their size.
bool isMovable(const Tensor& tensor) {
  return tensor.device().is_cpu() && (tensor.element_size() == 4 || tensor.element_size() == 2) && tensor.numel() > 0 &&
         !tensor.is_conj() && !tensor.is_neg();
}

void transposeElements(const Tensor& from, const Tensor& to, int64_t rows, int64_t columns) {
  const int64_t images = from.size(0);
  if (from.element_size() == 4) {
    transpose(
        static_cast<const uint32_t*>(from.const_data_ptr()), static_cast<uint32_t*>(to.mutable_data_ptr()), images,
        rows, columns);
  } else {
    transpose(
        static_cast<const uint16_t*>(from.const_data_ptr()), static_cast<uint16_t*>(to.mutable_data_ptr()), images,
        rows, columns);
  }
}

using Strides = c10::SmallVector<int64_t, kMaxRank>;

Strides contiguousStrides(const Tensor& tensor) {
  Strides strides(static_cast<size_t>(tensor.dim()), 1);
  for (size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(tensor.size(static_cast<int64_t>(i)), 1);
  return strides;
}

Strides channelsLastStrides(const Tensor& tensor) {
  Strides strides(static_cast<size_t>(tensor.dim()), 1);
  int64_t next = tensor.size(1);
  for (size_t i = strides.size(); i-- > 2;) {
    strides[i] = next;
    next *= std::max<int64_t>(tensor.size(static_cast<int64_t>(i)), 1);
  }
  strides[0] = next;
  return strides;
}

/// Whether the elements lie where these strides put them: strides of dimensions of one element do not matter.
bool lies(const Tensor& tensor, const Strides& strides) {
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) != 1 && tensor.stride(i) != strides[static_cast<size_t>(i)]) return false;
  }
  return true;
}

Tensor emptyWithStrides(const Tensor& like, const Strides& strides) {
  return at::_ops::empty_strided::call(
      like.sym_sizes(), c10::fromIntArrayRefSlow(strides), like.scalar_type(), std::nullopt, like.device(),
      std::nullopt);
}

}  // namespace

std::optional<Tensor> packedWeightOf(const Tensor& weight, const ConvolutionShape& shape) {
  if (!isSupported(weight, shape)) return std::nullopt;
  static auto* const weights = new PackedWeights;
  return weights->find(weight, shape);
}

Tensor packedConvolution(
    const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& packed,
    bool channels_last) {
  PackedWeight* const known = PackedWeight::of(packed);
  if (!known) throw std::runtime_error("cresset::convolution was given a weight that is not packed");
  const ConvolutionShape& shape = known->shape();
  const bool usable = (channels_last || returnsChannelsLast(input, weight, shape)) && fits(input, weight, shape) &&
                      at::globalContext().userEnabledMkldnn() &&
                      !(c10::GradMode::is_enabled() && input.requires_grad());
  if (!usable) {
    return at::_ops::convolution::call(
        input, weight, bias, c10::fromIntArrayRefSlow(shape.stride), c10::fromIntArrayRefSlow(shape.padding),
        c10::fromIntArrayRefSlow(shape.dilation), shape.transposed, c10::fromIntArrayRefSlow(shape.output_padding),
        shape.groups);
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  torch::jit::Stack stack{withTwoDimensions(input), known->get(input, weight), bias, padded(shape.padding, 0)};
  if (shape.transposed) stack.emplace_back(padded(shape.output_padding, 0));
  stack.emplace_back(padded(shape.stride, 1));
  stack.emplace_back(padded(shape.dilation, 1));
  stack.emplace_back(shape.groups);
  stack.emplace_back("none");  // nothing is computed with the result on the way
  stack.emplace_back(c10::List<std::optional<at::Scalar>>());
  stack.emplace_back();
  (shape.transposed ? Operators::get().run_transposed : Operators::get().run)->callBoxed(&stack);
  Tensor result = std::move(stack.back()).toTensor();
  return input.dim() == 3 ? result.squeeze(2) : result;
}

Tensor withChannelsLast(const Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const Strides strides = channelsLastStrides(tensor);
  if (lies(tensor, strides)) return tensor;
  Tensor moved = emptyWithStrides(tensor, strides);
  if (isMovable(tensor) && lies(tensor, contiguousStrides(tensor))) {
    const int64_t channels = tensor.size(1);
    transposeElements(tensor, moved, channels, tensor.numel() / tensor.size(0) / channels);
  } else {
    at::_ops::copy_::call(moved, tensor, false);
  }
  return moved;
}

Tensor withContiguousStrides(const Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const Strides strides = contiguousStrides(tensor);
  if (tensor.strides() == c10::IntArrayRef(strides)) return tensor;
  if (lies(tensor, strides)) {
    // A new tensor over the same memory, which is referenced nowhere else: no view, as far as autograd can tell.
    const at::AutoDispatchBelowADInplaceOrView guard;
    return at::_ops::as_strided::call(
        tensor, tensor.sym_sizes(), c10::fromIntArrayRefSlow(strides), tensor.sym_storage_offset());
  }
  Tensor moved = emptyWithStrides(tensor, strides);
  if (tensor.dim() > 2 && isMovable(tensor) && lies(tensor, channelsLastStrides(tensor))) {
    const int64_t channels = tensor.size(1);
    transposeElements(tensor, moved, tensor.numel() / tensor.size(0) / channels, channels);
  } else {
    at::_ops::copy_::call(moved, tensor, false);
  }
  return moved;
}

bool hasContiguousStrides(const Tensor& tensor) {
  return tensor.numel() > 0 && tensor.strides() == c10::IntArrayRef(contiguousStrides(tensor));
}

}  // namespace cresset
