// Checks of indices, lengths and classes. See argument_checks_impl.h.
#include "cresset/ops/argument_checks_impl.h"

#include <c10/core/GradMode.h>
#include <algorithm>
#include <utility>
#include <vector>

namespace cresset::checks {

namespace {

bool isDifferentiated(const Tensor& tensor) {
  return tensor.requires_grad() && c10::GradMode::is_enabled();
}

}  // namespace

/// (weight, indices, padding_idx, scale_grad_by_freq, sparse): a sparse gradient has the indices themselves as its own.
void checkEmbedding(IValue* arguments) {
  const Tensor weight = optionalTensor(arguments[0]), indices = optionalTensor(arguments[1]);
  if (arguments[4].toBool() && indices.defined() && isDifferentiated(weight)) arguments[1] = indices.clone();
}

/// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights?, include_last_offset, …)
void checkEmbeddingBag(IValue* arguments) {
  constexpr const char* op = "embedding_bag";
  const Tensor weight = optionalTensor(arguments[0]), samples = optionalTensor(arguments[6]);
  requireStrided(op, "the weight", weight);
  TORCH_CHECK(weight.dim() == 2, op, ": the weight must be a matrix, not of ", weight.dim(), " dimensions");
  if (!weight.is_cpu()) return;  // other devices check by themselves, or have nothing to check
  const Tensor indices = integers(op, "the indices", optionalTensor(arguments[1]));
  const Tensor offsets = integers(op, "the offsets", optionalTensor(arguments[2]));
  TORCH_CHECK(indices.dim() == 1, op, ": the indices must be a vector");
  TORCH_CHECK(offsets.dim() == 1, op, ": the offsets must be a vector");
  const bool with_end = arguments[7].toBool();
  TORCH_CHECK(!with_end || offsets.numel() > 0, op, ": the offsets must end with the number of indices");
  const int64_t rows = weight.size(0), count = indices.numel();
  const int64_t* at = indices.const_data_ptr<int64_t>();
  const int64_t* wrong = std::find_if(at, at + count, [&](int64_t i) { return i < 0 || i >= rows; });
  TORCH_CHECK(wrong == at + count, op, ": index ", *wrong, " is out of range for a weight of ", rows, " rows");
  const int64_t* bags = offsets.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < offsets.numel(); ++i) {
    TORCH_CHECK(
        bags[i] >= (i > 0 ? bags[i - 1] : 0) && bags[i] <= count, op, ": offset ", bags[i], " at ", i,
        " is out of order or beyond the ", count, " indices");
  }
  const int64_t num_bags = offsets.numel();
  TORCH_CHECK(num_bags == 0 || bags[0] == 0, op, ": the first offset must be 0, not ", num_bags > 0 ? bags[0] : 0);
  TORCH_CHECK(num_bags > 0 || count == 0, op, ": there are indices and no offsets");
  TORCH_CHECK(!with_end || bags[num_bags - 1] == count, op, ": the last offset must be the number of indices, ", count);
  if (samples.defined()) requireSizes(op, "per_sample_weights", samples, indices.sizes());
  if (isDifferentiated(weight) || (samples.defined() && isDifferentiated(samples))) {
    arguments[1] = arguments[1].toTensor().clone();
    arguments[2] = arguments[2].toTensor().clone();
  }
}

namespace {

/// The kernel believes that the sum, which is the number of elements of the result, fits in 64 bits.
void checkSumOfRepeats(const Tensor& repeats) {
  if (!isStrided(repeats) || !repeats.is_cpu()) return;
  if (repeats.scalar_type() != at::kLong && repeats.scalar_type() != at::kInt) return;
  const Tensor counts = integers("repeat_interleave", "the repeats", repeats);
  const int64_t* at = counts.const_data_ptr<int64_t>();
  int64_t sum = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    TORCH_CHECK(at[i] >= 0, "repeats can not be negative");
    TORCH_CHECK(
        !__builtin_add_overflow(sum, at[i], &sum), "repeat_interleave: the sum of the repeats does not fit in 64 bits");
  }
}

}  // namespace

/// (repeats, output_size?, …)
void checkRepeats(IValue* arguments) {
  checkSumOfRepeats(optionalTensor(arguments[0]));
}

/// (self, repeats, dim?, output_size?): repeats of one element stand for all elements of the dimension.
void checkRepeatsOf(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]), repeats = optionalTensor(arguments[1]);
  if (!self.defined() || !isStrided(repeats) || !repeats.is_cpu()) return;
  int64_t length = self.numel();
  if (!arguments[2].isNone() && self.dim() > 0) {
    const int64_t dim = arguments[2].toInt() < 0 ? arguments[2].toInt() + self.dim() : arguments[2].toInt();
    if (dim < 0 || dim >= self.dim()) return;  // an error, which is the operator's to tell
    length = self.size(dim);
  }
  if (repeats.numel() != 1 || !at::isIntegralType(repeats.scalar_type(), /*includeBool=*/false))
    return checkSumOfRepeats(repeats);
  int64_t sum = 0;
  TORCH_CHECK(
      !__builtin_mul_overflow(repeats.item<int64_t>(), length, &sum),
      "repeat_interleave: the sum of the repeats does not fit in 64 bits");
}

/// (log_probs, targets, input_lengths, target_lengths, …): the kernel believes lengths and classes.
void checkCtc(IValue* arguments) {
  const char* op = "ctc_loss";
  const Tensor log_probs = optionalTensor(arguments[0]), targets = optionalTensor(arguments[1]);
  requireStrided(op, "log_probs", log_probs);
  requireStrided(op, "targets", targets);
  TORCH_CHECK(log_probs.dim() == 2 || log_probs.dim() == 3, op, ": log_probs must have 2 or 3 dimensions");
  const int64_t batch = log_probs.dim() == 3 ? log_probs.size(1) : 1, classes = log_probs.size(-1);
  const auto lengths = [&](size_t i) {
    if (!arguments[i].isTensor()) return arguments[i].toIntVector();
    TORCH_CHECK(at::isIntegralType(arguments[i].toTensor().scalar_type(), false), op, ": lengths must be integers");
    const Tensor ints = arguments[i].toTensor().to(at::kCPU, at::kLong).contiguous();
    return std::vector<int64_t>(ints.const_data_ptr<int64_t>(), ints.const_data_ptr<int64_t>() + ints.numel());
  };
  const std::vector<int64_t> of_inputs = lengths(2), of_targets = lengths(3);
  TORCH_CHECK(
      std::cmp_equal(of_inputs.size(), batch) && std::cmp_equal(of_targets.size(), batch), op,
      ": there must be a length of an input and of a target for each of ", batch, " sequences");
  for (const int64_t length : of_inputs)
    TORCH_CHECK(
        length >= 0 && length <= log_probs.size(0), op, ": the length ", length, " of an input is out of range");
  const Tensor flat = integers(op, "targets", targets);
  const bool is_padded = targets.dim() == 2;
  TORCH_CHECK(is_padded ? targets.size(0) == batch : targets.dim() == 1, op, ": targets don't fit log_probs");
  int64_t first = 0;
  for (size_t i = 0; i < of_targets.size(); ++i) {
    const int64_t length = of_targets[i], end = is_padded ? targets.size(1) : flat.numel() - first;
    TORCH_CHECK(length >= 0 && length <= end, op, ": the length ", length, " of a target is out of range");
    for (int64_t k = first; k < first + length; ++k) {
      const int64_t label = flat.const_data_ptr<int64_t>()[k];
      TORCH_CHECK(label >= 0 && label < classes, op, ": the class ", label, " is out of range of ", classes);
    }
    first += is_padded ? targets.size(1) : length;
  }
}

}  // namespace cresset::checks
