// Functions of the column OUT: batch norms, pooling, bags of embeddings (out_kernel_functions.h).
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_log_softmax_cpu_dispatch.h>
#include <ATen/ops/max_pool2d_with_indices_cpu_dispatch.h>
#include <ATen/ops/mean_cpu_dispatch.h>
#include <ATen/ops/native_batch_norm_cpu_dispatch.h>
#include <ATen/ops/sum_cpu_dispatch.h>

#include <algorithm>
#include <cstring>

#include "cresset/executor/out_kernel_functions.h"
#include "cresset/interpreter/plain_tensor.h"

namespace cresset::out {

namespace {

bool isRealFloat(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

/// Modes of aten::embedding_bag.
constexpr int64_t kSumOfBag = 0, kMeanOfBag = 1;

/// Bags are rows of the result: sums, or means, of rows of the weight by index.
template <class Number, class Index>
struct Bags {
  static constexpr size_t kVectorBytes = 16, kColumns = 4 * kVectorBytes / sizeof(Number);
  using Vector [[gnu::vector_size(kVectorBytes)]] = Number;

  const Number* weight;
  int64_t num_rows, stride, width;
  const Index *indices, *offsets;
  int64_t num_indices, num_offsets;
  int64_t count;     // of bags
  int64_t left_out;  // an index that counts for nothing; -1 if there is none
  bool is_mean;

  /// Whether indices are rows, and offsets are in order: compute reads and writes where they say. `with_end`: the last
  /// offset is the number of indices.
  bool areWithin(bool with_end) const {
    if (num_offsets == 0) return num_indices == 0 && !with_end;
    if (offsets[0] != 0 || (with_end && offsets[num_offsets - 1] != num_indices)) return false;
    return std::is_sorted(offsets, offsets + num_offsets) && offsets[num_offsets - 1] <= num_indices &&
           std::all_of(indices, indices + num_indices, [&](Index i) { return i >= 0 && i < num_rows; });
  }

  /// Calls `add` with each row of a bag in the order of the indices, as ATen's kernels add them; how many there are.
  template <class Add>
  int64_t forEachRow(int64_t bag, int64_t column, const Add& add) const {
    const int64_t end = bag + 1 < num_offsets ? offsets[bag + 1] : num_indices;
    int64_t added = 0;
    for (int64_t i = offsets[bag]; i < end; ++i) {
      if (indices[i] == left_out) continue;
      add(weight + column + indices[i] * stride);
      ++added;
    }
    return added;
  }

  /// kColumns columns, whose sums stay in registers.
  void computeColumns(int64_t bag, int64_t column, Number* to) const {
    Vector a{}, b{}, c{}, d{};
    const int64_t added = forEachRow(bag, column, [&](const Number* row) {
      Vector more[4];
      std::memcpy(more, row, sizeof more);
      a += more[0];
      b += more[1];
      c += more[2];
      d += more[3];
    });
    const Vector sums[4] = {a, b, c, d};
    std::memcpy(to, sums, sizeof sums);
    if (is_mean) divide(to, kColumns, added);
  }

  void computeColumn(int64_t bag, int64_t column, Number* to) const {
    Number sum = 0;
    const int64_t added = forEachRow(bag, column, [&](const Number* row) { sum += *row; });
    *to = sum;
    if (is_mean) divide(to, 1, added);
  }

  static void divide(Number* numbers, size_t count, int64_t added) {
    const auto divisor = static_cast<Number>(std::max<int64_t>(added, 1));
    for (size_t k = 0; k < count; ++k) numbers[k] /= divisor;
  }

  void compute(Number* result) const {
    constexpr auto columns = static_cast<int64_t>(kColumns);
    const int64_t per_bag = std::max<int64_t>(1, width * (num_indices / std::max<int64_t>(count, 1)));
    at::parallel_for(0, count, std::max<int64_t>(1, kElementsPerThread / per_bag), [&](int64_t begin, int64_t end) {
      for (int64_t bag = begin; bag < end; ++bag) {
        Number* row = result + bag * width;
        int64_t column = 0;
        for (; column + columns <= width; column += columns) computeColumns(bag, column, row + column);
        for (; column < width; ++column) computeColumn(bag, column, row + column);
      }
    });
  }
};

/// `left_out`: an index that counts for nothing; -1 if there is none.
template <class Number, class Index>
bool computeBags(const OutArguments& arguments, int64_t left_out) {
  const at::Tensor &weight = tensor(arguments, 0), &indices = tensor(arguments, 1), &offsets = tensor(arguments, 2);
  const bool with_end = arguments.input(7).toBool();
  if (with_end && offsets.numel() == 0) return false;
  const Bags<Number, Index> bags{
      .weight = weight.const_data_ptr<Number>(),
      .num_rows = weight.size(0),
      .stride = weight.stride(0),
      .width = weight.size(1),
      .indices = indices.const_data_ptr<Index>(),
      .offsets = offsets.const_data_ptr<Index>(),
      .num_indices = indices.numel(),
      .num_offsets = offsets.numel(),
      .count = offsets.numel() - (with_end ? 1 : 0),
      .left_out = left_out,
      .is_mean = arguments.input(4).toInt() == kMeanOfBag};
  if (!bags.areWithin(with_end)) return false;
  at::Tensor& result = arguments.output(0);
  at::native::resize_impl_cpu_(result.unsafeGetTensorImpl(), {bags.count, bags.width}, std::nullopt);
  bags.compute(result.mutable_data_ptr<Number>());
  return true;
}

}  // namespace

bool batch_norm(const OutArguments& arguments) {
  const at::Tensor& input = tensor(arguments, 0);
  const bool is_training = arguments.input(5).toBool();
  if (is_training || !isRealFloat(input) || input.dim() < 2 || input.numel() == 0 || !input.is_contiguous() ||
      input.suggest_memory_format() != at::MemoryFormat::Contiguous)
    return false;
  const at::Tensor weight = optionalTensor(arguments, 1), bias = optionalTensor(arguments, 2),
                   mean = optionalTensor(arguments, 3), variance = optionalTensor(arguments, 4);
  if (!mean.defined() || !variance.defined()) return false;
  for (const at::Tensor& each : {weight, bias, mean, variance}) {
    if (each.defined() && (each.dim() != 1 || each.size(0) != input.size(1) || !each.is_contiguous() ||
                           each.scalar_type() != input.scalar_type()))
      return false;
  }
  at::Tensor no_mean, no_deviation;  // of the input, which only training computes
  at::cpu::native_batch_norm_out(
      arguments.output(0), no_mean, no_deviation, input, weight, bias, mean, variance, is_training,
      arguments.input(6).toDouble(), arguments.input(7).toDouble());
  return true;
}

bool log_softmax(const OutArguments& arguments) {
  if (!arguments.input(2).isNone() || !tensor(arguments, 0).is_floating_point()) return false;
  at::cpu::_log_softmax_out(arguments.output(0), tensor(arguments, 0), arguments.input(1).toInt(), false);
  return true;
}

namespace {

/// All elements as one, by a kernel that takes dimensions.
template <
    at::Tensor& (*kernel)(at::Tensor&, const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>)>
bool reduceAll(const OutArguments& arguments) {
  const c10::IValue& dtype = arguments.input(1);
  const at::ScalarType of_result = arguments.rawOutput(0).scalar_type();
  if (!isOfResult(arguments, dtype, of_result)) return false;
  kernel(
      arguments.output(0), tensor(arguments, 0), c10::IntArrayRef(), false,
      dtype.isNone() ? std::nullopt : std::optional(of_result));
  return true;
}

}  // namespace

bool sum(const OutArguments& arguments) {
  return reduceAll<at::cpu::sum_out>(arguments);
}

bool mean(const OutArguments& arguments) {
  return reduceAll<at::cpu::mean_out>(arguments);
}

/// To one element per channel, which is a mean; for other sizes PyTorch has no kernel that computes into a tensor.
bool adaptive_avg_pool2d(const OutArguments& arguments) {
  const at::Tensor& self = tensor(arguments, 0);
  const c10::DimVector sizes = intsOf(arguments.input(1));
  if (sizes.size() != 2 || sizes[0] != 1 || sizes[1] != 1 || !isRealFloat(self) || self.numel() == 0 ||
      (self.dim() != 3 && self.dim() != 4) || self.suggest_memory_format() != at::MemoryFormat::Contiguous)
    return false;
  at::cpu::mean_out(arguments.output(0), self, c10::IntArrayRef({-1, -2}), /*keepdim=*/true, std::nullopt);
  return true;
}

bool max_pool2d(const OutArguments& arguments) {
  at::Tensor indices = at::detail::empty_cpu({0}, at::kLong, false);
  at::cpu::max_pool2d_with_indices_out(
      arguments.output(0), indices, tensor(arguments, 0), intsOf(arguments.input(1)), intsOf(arguments.input(2)),
      intsOf(arguments.input(3)), intsOf(arguments.input(4)), arguments.input(5).toBool());
  return true;
}

/// A loop of Cresset's own: PyTorch has none that computes into a tensor. It computes the first result only.
bool embedding_bag(const OutArguments& arguments) {
  for (size_t i = 1; i < arguments.numOutputs(); ++i) {
    if (arguments.rawOutput(i).defined()) return false;
  }
  const at::Tensor &weight = tensor(arguments, 0), &indices = tensor(arguments, 1), &offsets = tensor(arguments, 2);
  const int64_t mode = arguments.input(4).toInt();
  if ((mode != kSumOfBag && mode != kMeanOfBag) || arguments.input(6).isTensor() || !isRealFloat(weight) ||
      weight.dim() != 2 || weight.stride(1) != 1 || indices.dim() != 1 || offsets.dim() != 1 ||
      !indices.is_contiguous() || !offsets.is_contiguous() || indices.scalar_type() != offsets.scalar_type())
    return false;
  int64_t left_out = -1;
  if (arguments.numInputs() > 8 && !arguments.input(8).isNone()) {
    left_out = arguments.input(8).toInt();
    if (left_out < -weight.size(0) || left_out >= weight.size(0)) return false;
    if (left_out < 0) left_out += weight.size(0);
  }
  const bool is_float = weight.scalar_type() == at::kFloat;
  if (indices.scalar_type() == at::kLong)
    return is_float ? computeBags<float, int64_t>(arguments, left_out)
                    : computeBags<double, int64_t>(arguments, left_out);
  if (indices.scalar_type() != at::kInt) return false;
  return is_float ? computeBags<float, int32_t>(arguments, left_out)
                  : computeBags<double, int32_t>(arguments, left_out);
}

}  // namespace cresset::out
