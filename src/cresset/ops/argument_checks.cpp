// The checks. See argument_checks.h; tests/fuzz/wild_arguments.py finds the operators that need one.
#include "cresset/ops/argument_checks.h"

#include <ATen/Functions.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cresset/ops/operator_rows.h"

namespace cresset {

namespace {

using at::Tensor;
using c10::IValue;

/// The tensor, or an undefined one for None.
Tensor optionalTensor(const IValue& value) {
  return value.isNone() ? Tensor() : value.toTensor();
}

bool isStrided(const Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized();
}

void requireStrided(const char* op, const char* argument, const Tensor& tensor) {
  TORCH_CHECK(tensor.defined(), op, ": ", argument, " is no tensor");
  TORCH_CHECK(isStrided(tensor), op, ": ", argument, " must be a dense tensor, not a ", tensor.toString());
}

void requireSizes(const char* op, const char* argument, const Tensor& tensor, at::IntArrayRef expected) {
  requireStrided(op, argument, tensor);
  TORCH_CHECK(
      tensor.sizes() == expected, op, ": ", argument, " must have the sizes ", expected, ", not ", tensor.sizes());
}

// ---- batch norm ----

/// input, then weight, bias and what it runs on, each None or one number for each channel.
void checkChannels(const char* op, const Tensor& input, const std::pair<const char*, Tensor> (&stats)[4]) {
  requireStrided(op, "the input", input);
  TORCH_CHECK(input.dim() >= 2, op, ": the input must have at least 2 dimensions, not ", input.dim());
  TORCH_CHECK(input.is_floating_point(), op, ": the input must be of floats, not of ", input.scalar_type());
  for (const auto& [name, tensor] : stats) {
    if (tensor.defined()) requireSizes(op, name, tensor, {input.size(1)});
  }
}

/// (input, weight?, bias?, running_mean?, running_var?, …)
void checkRunningStats(IValue* arguments) {
  checkChannels(
      "batch norm", optionalTensor(arguments[0]),
      {{"the weight", optionalTensor(arguments[1])},
       {"the bias", optionalTensor(arguments[2])},
       {"running_mean", optionalTensor(arguments[3])},
       {"running_var", optionalTensor(arguments[4])}});
}

/// (input, weight?, bias?, running_mean?, running_var?, training, …)
void checkBatchNorm(IValue* arguments) {
  const Tensor mean = optionalTensor(arguments[3]), variance = optionalTensor(arguments[4]);
  checkRunningStats(arguments);
  TORCH_CHECK(mean.defined() == variance.defined(), "batch norm: running_mean and running_var go together");
  TORCH_CHECK(
      arguments[5].toBool() || mean.defined(), "batch norm: running_mean and running_var must be given in evaluation");
}

/// (input, weight?, bias?, training, …)
void checkBatchNormWithoutStats(IValue* arguments) {
  checkChannels(
      "batch norm", optionalTensor(arguments[0]),
      {{"the weight", optionalTensor(arguments[1])}, {"the bias", optionalTensor(arguments[2])}, {"", {}}, {"", {}}});
  TORCH_CHECK(arguments[3].toBool(), "batch norm: there are no running statistics to evaluate with");
}

/// (input, weight?, bias?, running_mean, running_var, momentum, eps, …)
void checkBatchNormWithUpdate(IValue* arguments) {
  const Tensor mean = optionalTensor(arguments[3]), variance = optionalTensor(arguments[4]);
  TORCH_CHECK(
      mean.defined() && variance.defined(), "batch norm: running_mean and running_var must be given to be updated");
  checkRunningStats(arguments);
}

/// (grad_out, input, weight?, running_mean?, running_var?, save_mean?, save_invstd?, train, …): the kernel divides by
/// the number of elements of a channel.
void checkBatchNormBackward(IValue* arguments) {
  const char* op = "the gradient of batch norm";
  const Tensor input = optionalTensor(arguments[1]);
  const bool train = arguments[7].toBool();
  const Tensor mean = optionalTensor(arguments[train ? 5 : 3]), variance = optionalTensor(arguments[train ? 6 : 4]);
  checkChannels(
      op, input,
      {{"the weight", optionalTensor(arguments[2])},
       {train ? "save_mean" : "running_mean", mean},
       {train ? "save_invstd" : "running_var", variance},
       {"", {}}});
  requireSizes(op, "grad_out", optionalTensor(arguments[0]), input.sizes());
  TORCH_CHECK(mean.defined() && variance.defined(), op, ": the mean and the deviation must be given");
  TORCH_CHECK(input.numel() > 0, op, ": the input must not be empty");
}

/// (v, g, dim): the kernel for the first and last dimension takes a number of `g` for each slice of `v`.
void checkWeightNorm(IValue* arguments) {
  const Tensor v = optionalTensor(arguments[0]), g = optionalTensor(arguments[1]);
  requireStrided("_weight_norm", "v", v);
  requireStrided("_weight_norm", "g", g);
  TORCH_CHECK(v.scalar_type() == g.scalar_type(), "_weight_norm: v and g must be of one dtype");
  TORCH_CHECK(v.dim() > 0, "_weight_norm: v must have a dimension");
  const int64_t dim = arguments[2].toInt();
  TORCH_CHECK(dim >= -1 && dim < v.dim(), "_weight_norm: v has no dimension ", dim);
  const int64_t count = dim == -1 ? 1 : v.size(dim);
  TORCH_CHECK(
      g.numel() == count, "_weight_norm: g must have ", count, " elements, one for each slice of v, not ", g.numel());
}

/// (grad_output, output, …): the kernel takes the sizes from one of them.
void checkSoftmaxBackward(IValue* arguments) {
  const Tensor output = optionalTensor(arguments[1]);
  if (isStrided(output))
    requireSizes("the gradient of softmax", "grad_output", optionalTensor(arguments[0]), output.sizes());
}

/// (query, key, value, attn_mask?, dropout_p, is_causal, scale?, enable_gqa): heads are repeated by a quotient of
/// counts.
void checkAttention(IValue* arguments) {
  if (!arguments[7].toBool()) return;
  for (const size_t i : {1, 2}) {
    const Tensor tensor = optionalTensor(arguments[i]);
    if (isStrided(tensor) && tensor.dim() >= 3)
      TORCH_CHECK(tensor.size(-3) > 0, "scaled_dot_product_attention: there are no heads to repeat for enable_gqa");
  }
}

// ---- recurrent networks ----

struct Recurrent {
  int64_t gates;
  bool has_cell;
};

struct Layers {
  int64_t layers, directions;
  bool has_biases;
};

/// The batch sizes of a packed sequence: how many sequences go on at each step.
int64_t checkBatchSizes(const Tensor& sizes, int64_t rows) {
  requireStrided("batch_sizes", "it", sizes);
  TORCH_CHECK(
      sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.is_cpu() && sizes.numel() > 0,
      "batch_sizes must be a vector of int64 on the CPU that is not empty");
  const Tensor dense = sizes.contiguous();
  const int64_t* at = dense.const_data_ptr<int64_t>();
  int64_t left = rows;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    TORCH_CHECK(at[i] > 0 && at[i] <= left && (i == 0 || at[i] <= at[i - 1]), "batch_sizes don't fit the data");
    left -= at[i];
  }
  TORCH_CHECK(left == 0, "batch_sizes don't fit the data");
  return at[0];
}

void checkParameters(
    const char* op, const std::vector<Tensor>& params, const Recurrent& kind, const Layers& net, int64_t input,
    int64_t hidden, int64_t output) {
  const size_t each = (net.has_biases ? 4 : 2) + (kind.has_cell && output != hidden ? 1 : 0);
  const int64_t networks = net.layers * net.directions;
  TORCH_CHECK(
      net.layers > 0 && net.layers <= static_cast<int64_t>(params.size()) &&
          params.size() == each * static_cast<size_t>(networks),
      op, ": ", params.size(), " weights don't make ", net.layers, " layers");
  const int64_t rows = kind.gates * hidden;
  for (int64_t i = 0; i < networks; ++i) {
    const Tensor* weights = &params[static_cast<size_t>(i) * each];
    const int64_t width = i < net.directions ? input : output * net.directions;
    requireSizes(op, "a weight for the input", weights[0], {rows, width});
    requireSizes(op, "a weight for the hidden state", weights[1], {rows, output});
    if (net.has_biases) {
      requireSizes(op, "a bias", weights[2], {rows});
      requireSizes(op, "a bias", weights[3], {rows});
    }
    if (output != hidden) requireSizes(op, "a projection", weights[each - 1], {output, hidden});
  }
}

/// `state`: the hidden state, for an LSTM with the cell's. `rest`: params, has_biases, num_layers, dropout, train,
/// bidirectional.
void checkRecurrent(
    const char* op, Recurrent kind, const IValue& state, const IValue* rest, int64_t batch, int64_t input) {
  const Layers net{rest[2].toInt(), rest[5].toBool() ? 2 : 1, rest[1].toBool()};
  const std::vector<Tensor> states =
      kind.has_cell ? state.toTensorVector() : std::vector<Tensor>{optionalTensor(state)};
  TORCH_CHECK(states.size() == (kind.has_cell ? 2 : 1), op, ": the state must be of two tensors, not ", states.size());
  for (const Tensor& each : states) {
    requireStrided(op, "the state", each);
    TORCH_CHECK(each.dim() == 3, op, ": the state must have 3 dimensions, not ", each.dim());
  }
  const int64_t output = states[0].size(2), hidden = states.back().size(2);
  checkParameters(op, rest[0].toTensorVector(), kind, net, input, hidden, output);
  requireSizes(op, "the hidden state", states[0], {net.layers * net.directions, batch, output});
  requireSizes(op, "the state", states.back(), {net.layers * net.directions, batch, hidden});
}

/// (input, state, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
template <int64_t gates, bool has_cell>
void checkSequence(IValue* arguments) {
  const char* op = has_cell ? "lstm" : gates == 3 ? "gru" : "rnn";
  const Tensor input = optionalTensor(arguments[0]);
  requireStrided(op, "the input", input);
  TORCH_CHECK(input.dim() == 3, op, ": the input must have 3 dimensions, not ", input.dim());
  const bool batch_first = arguments[8].toBool();
  TORCH_CHECK(input.size(batch_first ? 1 : 0) > 0, op, ": the input has no steps");
  checkRecurrent(op, {gates, has_cell}, arguments[1], arguments + 2, input.size(batch_first ? 0 : 1), input.size(2));
}

/// (data, batch_sizes, state, params, …): a packed sequence.
template <int64_t gates, bool has_cell>
void checkPacked(IValue* arguments) {
  const char* op = has_cell ? "lstm" : gates == 3 ? "gru" : "rnn";
  const Tensor data = optionalTensor(arguments[0]);
  requireStrided(op, "the data", data);
  TORCH_CHECK(data.dim() == 2, op, ": the data must have 2 dimensions, not ", data.dim());
  const int64_t batch = checkBatchSizes(optionalTensor(arguments[1]), data.size(0));
  checkRecurrent(op, {gates, has_cell}, arguments[2], arguments + 3, batch, data.size(1));
}

/// (data, batch_sizes, batch_first, padding_value, total_length)
void checkPadPacked(IValue* arguments) {
  const Tensor data = optionalTensor(arguments[0]);
  requireStrided("_pad_packed_sequence", "the data", data);
  TORCH_CHECK(data.dim() >= 1, "_pad_packed_sequence: the data must have a dimension");
  checkBatchSizes(optionalTensor(arguments[1]), data.size(0));
}

// ---- indices ----

/// The integers of a tensor, as int64.
Tensor integers(const char* op, const char* argument, const Tensor& tensor) {
  requireStrided(op, argument, tensor);
  TORCH_CHECK(
      tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt, op, ": ", argument,
      " must be of int64 or int32, not of ", tensor.scalar_type());
  return tensor.to(at::kCPU, at::kLong).contiguous();
}

bool isDifferentiated(const Tensor& tensor) {
  return tensor.requires_grad() && c10::GradMode::is_enabled();
}

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

// ---- linear algebra ----

/// (self, …): LAPACK does not end well with numbers that are none.
void checkFinite(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  requireStrided("eigvals", "the matrix", self);
  if (self.is_meta() || !(self.is_floating_point() || self.is_complex())) return;
  TORCH_CHECK(at::isfinite(self).all().item<bool>(), "linalg.eigvals: the input must not contain infs or NaNs");
}

/// (self, n, …): the smallest integer has no opposite, and the kernel looks for it forever.
void checkPower(IValue* arguments) {
  TORCH_CHECK(
      arguments[1].toInt() != std::numeric_limits<int64_t>::min(), "matrix_power: the exponent ", arguments[1].toInt(),
      " is out of range");
}

/// (self, vec, out): the kernel for sparse matrices believes the size of `out`.
void checkProductInto(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (!self.defined() || self.layout() == at::kStrided) return;
  TORCH_CHECK(self.dim() == 2, "mv: the first argument must be a matrix");
  requireSizes("mv", "out", optionalTensor(arguments[2]), {self.size(0)});
}

/// (x, state, …)
void checkCell(IValue* arguments) {
  const size_t count = arguments[1].toListRef().size();
  TORCH_CHECK(count == 2, "quantized_lstm_cell_dynamic: the state must be of two tensors, not ", count);
}

/// (self, p): the kernel of the gradient takes it that there is a row.
void checkDistances(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  TORCH_CHECK(
      !self.defined() || !self.requires_grad() || self.dim() == 0 || self.size(0) > 0,
      "pdist: there is no gradient for a tensor without rows");
}

/// (grad, self, p, pdist)
void checkDistancesBackward(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[1]);
  TORCH_CHECK(
      !self.defined() || self.dim() == 0 || self.size(0) > 0, "pdist: there is no gradient for a tensor without rows");
}

// ---- views and pooling ----

/// (self, size, stride, storage_offset?, …), or these after the source: what PyTorch adds up to see whether the view is
/// inside of its memory overflows in place; and beside a size of 0, negative ones pass.
template <size_t first>
void checkStrided(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (!self.defined() || !self.has_storage()) return;
  const std::vector<int64_t> sizes = arguments[first].toIntVector(), strides = arguments[first + 1].toIntVector();
  int64_t last = arguments[first + 2].isNone() ? self.storage_offset() : arguments[first + 2].toInt();
  TORCH_CHECK(last >= 0, "as_strided: the storage offset must not be negative, as ", last, " is");
  for (const int64_t size : sizes) TORCH_CHECK(size >= 0, "as_strided: sizes must not be negative, as ", size, " is");
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  bool overflows = false;
  for (size_t i = 0; i < std::min(sizes.size(), strides.size()); ++i) {
    int64_t distance = 0;
    overflows |=
        __builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) || __builtin_add_overflow(last, distance, &last);
  }
  int64_t bytes = 0;
  overflows |= __builtin_add_overflow(last, 1, &last) ||
               __builtin_mul_overflow(last, static_cast<int64_t>(self.itemsize()), &bytes);
  TORCH_CHECK(
      !overflows, "Storage size calculation overflowed with sizes=", at::IntArrayRef(sizes),
      " and strides=", at::IntArrayRef(strides));
}

/// (self, kernel_size, stride, padding, dilation, …): sizes of windows whose sums overflow.
void checkWindows(IValue* arguments) {
  for (size_t i = 1; i <= 4; ++i) {
    for (const int64_t size : arguments[i].toIntVector()) {
      TORCH_CHECK(
          size <= std::numeric_limits<int32_t>::max(), "the size of a window or step, ", size, ", is out of range");
    }
  }
}

/// (self, noise, lower, upper, training, generator, out): the kernel for training believes the size of `out`.
void checkNoiseInto(IValue* arguments) {
  const Tensor self = optionalTensor(arguments[0]);
  if (arguments[4].toBool() && self.defined())
    requireSizes("rrelu_with_noise", "out", optionalTensor(arguments[6]), self.sizes());
}

/// (input, output_size): a negative size passes where the input has no elements, and kernels for quantized tensors
/// believe the length of the list.
template <size_t count>
void checkPooledSize(IValue* arguments) {
  const std::vector<int64_t> sizes = arguments[1].toIntVector();
  TORCH_CHECK(
      sizes.size() == count, "adaptive_avg_pool: output_size must have ", count, " elements, not ", sizes.size());
  for (const int64_t size : sizes)
    TORCH_CHECK(size >= 0, "adaptive_avg_pool: elements of output_size must not be negative, as ", size, " is");
}

/// (input, weight?, bias?, …)
void checkGroupNorm(IValue* arguments) {
  requireStrided("group norm", "the input", optionalTensor(arguments[0]));
  for (const size_t i : {1, 2}) {
    const Tensor tensor = optionalTensor(arguments[i]);
    if (tensor.defined()) requireStrided("group norm", i == 1 ? "the weight" : "the bias", tensor);
  }
}

/// (input, weight, …): the kernel takes the channels from the weight.
void checkChannelsOfConvolution(IValue* arguments) {
  const Tensor input = optionalTensor(arguments[0]), weight = optionalTensor(arguments[1]);
  requireStrided("thnn_conv2d", "the input", input);
  requireStrided("thnn_conv2d", "the weight", weight);
  TORCH_CHECK(
      (input.dim() == 3 || input.dim() == 4) && (weight.dim() == 2 || weight.dim() == 4),
      "thnn_conv2d: the input must have 3 or 4 dimensions, and the weight 2 or 4");
  TORCH_CHECK(
      weight.dim() == 2 || weight.size(1) == input.size(-3), "thnn_conv2d: the weight is for ", weight.size(1),
      " channels, and the input has ", input.size(-3));
}

/// (start, end, step, dtype, …): the kernel divides by the step as a number of the dtype.
void checkStep(IValue* arguments) {
  if (arguments[3].isNone()) return;
  const auto dtype = static_cast<at::ScalarType>(arguments[3].toInt());
  if (c10::isIntegralType(dtype, /*includeBool=*/true) && arguments[2].isDouble())
    TORCH_CHECK(
        std::abs(arguments[2].toDouble()) >= 1, "range: the step ", arguments[2].toDouble(), " is 0 as an integer");
}

// ---- sequences ----

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

constexpr ColumnCell<ArgumentCheck> kChecks[] = {
#define OPERATOR(name) {name, nullptr},
#define ARGUMENT_CHECK(...) {{}, __VA_ARGS__},
#include "cresset/ops/table/table.def"
};

}  // namespace

ArgumentCheck argumentCheckOf(std::string_view full_name) {
  static const auto* checks = new auto(byOperator(kChecks));
  const auto found = checks->find(full_name);
  return found == checks->end() ? nullptr : found->second;
}

}  // namespace cresset
