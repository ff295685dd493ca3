// Checks of quantized weights, and of what packs them: operators, and the classes of packed weights in archives. See
// argument_checks_impl.h, class_state_checks.h.
#include <c10/core/QScheme.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "cresset/ops/argument_checks_impl.h"
#include "cresset/ops/class_state_checks.h"
#include "cresset/ops/limits.h"

#include <ATen/native/quantized/PackedParams.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/q_per_channel_scales_ops.h>
#include <ATen/ops/q_per_channel_zero_points_ops.h>
#include <ATen/ops/qscheme_ops.h>

namespace cresset {

namespace checks {

namespace {

/// Packed weights are saved with numbers of 16 bits.
constexpr int64_t kLargest = std::numeric_limits<int16_t>::max();

/// How a convolution's weight is packed; lists have an element for each dimension.
struct Packing {
  Tensor weight, bias;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
};

/// Kernels read a scale and a zero point for each of `channels`, whatever the axis is.
void checkScales(const char* op, const Tensor& weight, int64_t channels) {
  const c10::QScheme scheme = at::_ops::qscheme::call(weight);
  if (scheme == c10::kPerTensorAffine || scheme == c10::kPerTensorSymmetric) return;
  for (const Tensor& each :
       {at::_ops::q_per_channel_scales::call(weight), at::_ops::q_per_channel_zero_points::call(weight)})
    TORCH_CHECK(each.numel() == channels, op, ": the weight must have a scale for each of ", channels, " channels");
}

void checkBias(const char* op, const Tensor& bias, int64_t channels) {
  if (bias.defined()) requireSizes(op, "the bias", bias, {channels});
}

void checkNumbers(const char* op, const char* name, const std::vector<int64_t>& values, size_t count, int64_t least) {
  TORCH_CHECK(values.size() == count, op, ": ", name, " must have ", count, " elements, not ", values.size());
  for (const int64_t value : values)
    TORCH_CHECK(value >= least && value <= kLargest, op, ": ", name, " ", value, " is out of range");
}

// ---- what fbgemm packs into ----
//
// Blocks of rows and columns, whose elements it counts with 32 bits. What of a block no element falls on is allocated
// but not touched, which matters for convolutions of many groups: each has blocks of its own.

constexpr int64_t kBlockRows = 512;

int64_t roundedUp(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

/// Columns of the blocks' sizes on any processor: 8, 16, 32 or 48.
int64_t blockColumns(int64_t columns) {
  return std::max(roundedUp(columns, 32), roundedUp(columns, 48));
}

/// Throws if fbgemm's count of the elements would overflow; the bytes that packing takes. `rows` is the inner size of
/// the product, for each group; there are no more elements than a tensor may have, so that sums don't overflow.
int64_t packedBytes(const char* op, int64_t groups, int64_t rows, int64_t columns, int64_t item_size) {
  int64_t whole = 0;
  const bool is_huge = rows > INT32_MAX || columns > INT32_MAX ||
                       __builtin_mul_overflow(roundedUp(rows, kBlockRows) * blockColumns(columns), groups, &whole) ||
                       whole > INT32_MAX;
  TORCH_CHECK(
      !is_huge, op, ": a weight of ", groups, " groups, ", rows, " rows and ", columns,
      " columns is too large to be packed");
  constexpr int64_t kPage = 4096, kInterleaved = 4;
  return std::min(
      groups * (roundedUp(rows, kInterleaved) * blockColumns(columns) * item_size + kPage), whole * item_size);
}

/// Depthwise convolutions have kernels of their own in fbgemm, which pack without blocks.
bool isDepthwise(const Packing& packing) {
  const Tensor& weight = packing.weight;
  const int64_t kernel = weight.size(-1);
  if (packing.transposed || packing.groups != weight.size(0) || weight.size(1) != 1 || packing.groups % 8 != 0 ||
      weight.dim() < 4 || (kernel != 3 && (kernel != 5 || weight.dim() > 4)))
    return false;
  for (size_t d = 0; d < packing.stride.size(); ++d) {
    if (weight.size(static_cast<int64_t>(d) + 2) != kernel || packing.padding[d] != kernel / 2 ||
        packing.dilation[d] != 1 || packing.stride[d] != packing.stride.back() || packing.stride[d] > 2)
      return false;
  }
  return true;
}

/// The elements that a packed weight is made of must be in the file: an expanded tensor could have any number of them.
void requireStored(const char* op, const Tensor& tensor) {
  TORCH_CHECK(
      !tensor.defined() || static_cast<size_t>(tensor.numel()) * tensor.itemsize() <= tensor.storage().nbytes(), op,
      ": a tensor has more elements than its storage");
}

/// Memory that the allocator of tensors doesn't see. It counts until the run ends, whatever becomes of the weight.
void takeMemory(int64_t bytes) {
  RunBudget* budget = RunBudget::current();
  if (!budget || !budget->limitsMemory()) return;
  budget->require(static_cast<size_t>(bytes));
  budget->addContainers(bytes);
  if (budget->isOver(false)) budget->throwOverMemory(static_cast<size_t>(bytes));
}

/// The bytes that packing takes. The weight has two more dimensions than the images. Kernels divide by strides and
/// groups as numbers of 32 bits.
int64_t checkPacking(const char* op, size_t dimensions, const Packing& packing) {
  const Tensor& weight = packing.weight;
  TORCH_CHECK(
      weight.defined() && weight.is_cpu() && weight.layout() == at::kStrided && weight.scalar_type() == at::kQInt8, op,
      ": the weight must be a tensor of qint8");
  TORCH_CHECK(
      weight.dim() == static_cast<int64_t>(dimensions) + 2 && weight.numel() > 0, op, ": the weight must have ",
      dimensions + 2, " dimensions and not be empty");
  checkNumbers(op, "the stride", packing.stride, dimensions, 1);
  checkNumbers(op, "the padding", packing.padding, dimensions, 0);
  checkNumbers(op, "the dilation", packing.dilation, dimensions, 1);
  if (packing.transposed) checkNumbers(op, "the output padding", packing.output_padding, dimensions, 0);
  TORCH_CHECK(
      packing.groups > 0 && weight.size(0) % packing.groups == 0, op, ": ", packing.groups, " groups don't divide the ",
      weight.size(0), " channels of the weight");
  const int64_t channels = packing.transposed ? weight.size(1) * packing.groups : weight.size(0);
  checkScales(op, weight, channels);
  checkBias(op, packing.bias, channels);
  const int64_t rows = weight.numel() / (packing.transposed ? weight.size(1) * packing.groups : weight.size(0));
  const int64_t packed = packedBytes(op, packing.groups, rows, channels / packing.groups, 1);
  return isDepthwise(packing) ? 2 * weight.numel() : packed;
}

/// The bytes that packing takes. A matrix, of qint8 or (for products in half precision) float32.
int64_t checkLinearWeight(const char* op, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(
      weight.defined() && weight.is_cpu() && weight.layout() == at::kStrided &&
          (weight.scalar_type() == at::kQInt8 || weight.scalar_type() == at::kFloat),
      op, ": the weight must be a tensor of qint8 or float32");
  TORCH_CHECK(weight.dim() == 2 && weight.numel() > 0, op, ": the weight must be a matrix that is not empty");
  if (weight.is_quantized()) checkScales(op, weight, weight.size(0));
  checkBias(op, bias, weight.size(0));
  return packedBytes(op, 1, weight.size(1), weight.size(0), weight.is_quantized() ? 1 : 2);
}

}  // namespace

/// (weight, bias?, stride, padding, [output_padding,] dilation, groups)
template <size_t dimensions, bool transposed>
void checkPackedConvolution(IValue* arguments) {
  const IValue* rest = arguments + (transposed ? 5 : 4);
  Packing packing{
      .weight = optionalTensor(arguments[0]),
      .bias = optionalTensor(arguments[1]),
      .stride = arguments[2].toIntVector(),
      .padding = arguments[3].toIntVector(),
      .dilation = rest[0].toIntVector(),
      .output_padding = transposed ? arguments[4].toIntVector() : std::vector<int64_t>(),
      .groups = rest[1].toInt(),
      .transposed = transposed};
  takeMemory(checkPacking(transposed ? "conv_transpose_prepack" : "conv_prepack", dimensions, packing));
}

template void checkPackedConvolution<1, false>(IValue*);
template void checkPackedConvolution<2, false>(IValue*);
template void checkPackedConvolution<3, false>(IValue*);
template void checkPackedConvolution<1, true>(IValue*);
template void checkPackedConvolution<2, true>(IValue*);
template void checkPackedConvolution<3, true>(IValue*);

/// (weight, bias?)
void checkPackedLinear(IValue* arguments) {
  takeMemory(checkLinearWeight("linear_prepack", optionalTensor(arguments[0]), optionalTensor(arguments[1])));
}

/// (self, mat2, qGroupSize, qScaleAndZeros): the kernel takes it that there are scales for each group, and blocks of 16
/// rows.
void checkGroupsOfWeight(IValue* arguments) {
  constexpr const char* op = "int4mm_packed_weight_cpu";
  const Tensor self = optionalTensor(arguments[0]), weight = optionalTensor(arguments[1]);
  const Tensor size = integers(op, "qGroupSize", optionalTensor(arguments[2])), scales = optionalTensor(arguments[3]);
  requireStrided(op, "the first argument", self);
  requireStrided(op, "the weight", weight);
  requireStrided(op, "qScaleAndZeros", scales);
  TORCH_CHECK(self.dim() == 2 && weight.dim() == 2, op, ": the first argument and the weight must be matrices");
  TORCH_CHECK(size.numel() == 1, op, ": qGroupSize must be one number");
  const int64_t group = *size.const_data_ptr<int64_t>(), rows = weight.size(0), inner = self.size(1);
  TORCH_CHECK(group > 0 && inner > 0 && inner % group == 0, op, ": groups of ", group, " don't divide ", inner);
  requireSizes(op, "the weight", weight, {rows, inner / 2});
  TORCH_CHECK(rows > 0 && rows % 16 == 0, op, ": the weight must have a multiple of 16 rows, not ", rows);
  requireSizes(op, "qScaleAndZeros", scales, {inner / group, rows, 2});
  TORCH_CHECK(
      scales.scalar_type() == self.scalar_type() && weight.scalar_type() == at::kByte, op,
      ": qScaleAndZeros must be of the first argument's dtype, and the weight of uint8");
  TORCH_CHECK(
      self.is_contiguous() && weight.is_contiguous() && scales.is_contiguous(), op,
      ": the arguments must be contiguous");
}

namespace {

/// Cells cut the product of `input` and the packed weight into parts of its second dimension, and take it that there
/// are as many as gates.
void requireGates(const char* op, const char* argument, const Tensor& input, const IValue& packed, int64_t gates) {
  TORCH_CHECK(input.dim() == 2, op, ": ", argument, " must be a matrix, not have ", input.dim(), " dimensions");
  // Only a product tells a packed weight's rows without unpacking it. This one computes nothing.
  const Tensor none = at::empty({0, input.size(1)}, at::kFloat);
  const int64_t rows = packed.toCustomClass<LinearPackedParamsBase>()->apply_dynamic(none).size(1);
  TORCH_CHECK(
      rows % gates == 0, op, ": the weight for ", argument, " must have a multiple of ", gates, " rows, not ", rows);
}

}  // namespace

/// (x, state, weight of x, weight of the state, …)
void checkLstmCell(IValue* arguments) {
  constexpr const char* op = "quantized_lstm_cell_dynamic";
  const std::vector<Tensor> state = arguments[1].toTensorVector();
  TORCH_CHECK(state.size() == 2, op, ": the state must be of two tensors, not ", state.size());
  requireGates(op, "the state", state[0], arguments[3], 4);  // to which the product of x is added
}

/// (x, state, weight of x, weight of the state, …)
void checkGruCell(IValue* arguments) {
  constexpr const char* op = "quantized_gru_cell_dynamic";
  requireGates(op, "x", arguments[0].toTensor(), arguments[2], 3);
  requireGates(op, "the state", arguments[1].toTensor(), arguments[3], 3);
}

namespace {

// ---- states of classes ----

std::vector<int64_t> integersOf(const Tensor& tensor) {
  const Tensor flat = integers("a packed convolution", "its numbers", tensor.to(at::kLong)).reshape({-1});
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

/// From one list: how many dimensions; stride, padding, dilation and output padding, a number for each; groups, flags.
Packing packingOf(const std::vector<int64_t>& numbers, size_t dimensions) {
  TORCH_CHECK(
      numbers.size() == 4 * dimensions + 3 && numbers[0] == static_cast<int64_t>(dimensions),
      "the state of a packed convolution has ", numbers.size(), " numbers");
  const auto part = [&](size_t i) {
    const auto begin = numbers.begin() + 1 + static_cast<std::ptrdiff_t>(i * dimensions);
    return std::vector<int64_t>(begin, begin + static_cast<std::ptrdiff_t>(dimensions));
  };
  return {
      .stride = part(0),
      .padding = part(1),
      .dilation = part(2),
      .output_padding = part(3),
      .groups = numbers[numbers.size() - 2],
      .transposed = (numbers.back() & 1) != 0};
}

/// The three layouts that PyTorch reads: (weight, bias?, numbers as tensors of one element…); ("2", [numbers, weight],
/// [bias?]); (3, numbers, [None, weight, bias?]).
Packing packingOf(const IValue& state, size_t dimensions) {
  constexpr const char* wrong = "the state of a packed convolution has an unknown layout";
  TORCH_CHECK(state.isTuple() && !state.toTupleRef().elements().empty(), wrong);
  const auto& parts = state.toTupleRef().elements();
  Packing packing;
  if (parts[0].isTensor()) {
    TORCH_CHECK(parts.size() == 3 * dimensions + 3 || parts.size() == 4 * dimensions + 4, wrong);
    std::vector<int64_t> numbers{static_cast<int64_t>(dimensions)};
    for (size_t i = 2; i < parts.size(); ++i) {
      const std::vector<int64_t> number = integersOf(parts[i].toTensor());
      TORCH_CHECK(number.size() == 1, wrong);
      numbers.push_back(number[0]);
    }
    if (parts.size() == 3 * dimensions + 3) {  // neither output padding nor transposed
      const auto groups = numbers.end() - 1;
      numbers.insert(groups, dimensions, 0);
      numbers.push_back(0);
    }
    packing = packingOf(numbers, dimensions);
    packing.weight = parts[0].toTensor();
    packing.bias = optionalTensor(parts[1]);
    return packing;
  }
  TORCH_CHECK(parts.size() == 3, wrong);
  const auto optional = parts[2].toListRef();
  if (parts[0].isString()) {
    const std::vector<Tensor> tensors = parts[1].toTensorVector();
    TORCH_CHECK(tensors.size() >= 2 && !optional.empty() && parts[0].toStringRef() == "2", wrong);
    packing = packingOf(integersOf(tensors[0]), dimensions);
    packing.weight = tensors[1];
    packing.bias = optionalTensor(optional[0]);
  } else {
    TORCH_CHECK(optional.size() >= 3 && parts[0].toInt() == 3, wrong);
    packing = packingOf(parts[1].toIntVector(), dimensions);
    packing.weight = optionalTensor(optional[1]);
    packing.bias = optionalTensor(optional[2]);
  }
  return packing;
}

template <size_t dimensions>
int64_t checkConvolutionState(const IValue& state) {
  constexpr const char* op = "the state of a packed convolution";
  const Packing packing = packingOf(state, dimensions);
  for (const Tensor& part : {packing.weight, packing.bias}) requireStored(op, part);
  return checkPacking(op, dimensions, packing);
}

/// (weight, bias?)
int64_t checkLinearState(const IValue& state) {
  TORCH_CHECK(state.isTuple() && state.toTupleRef().elements().size() == 2, "the state of a packed product is no pair");
  const auto& parts = state.toTupleRef().elements();
  constexpr const char* op = "the state of a packed product";
  const Tensor weight = optionalTensor(parts[0]), bias = optionalTensor(parts[1]);
  for (const Tensor& part : {weight, bias}) requireStored(op, part);
  return checkLinearWeight(op, weight, bias);
}

/// (version, [weight], [numbers], [bits]): rows of a table with a scale each.
int64_t checkEmbeddingState(const IValue& state) {
  constexpr const char* op = "the state of packed embeddings";
  TORCH_CHECK(state.isTuple() && state.toTupleRef().elements().size() == 4, op, " has an unknown layout");
  const std::vector<Tensor> tensors = state.toTupleRef().elements()[1].toTensorVector();
  TORCH_CHECK(!tensors.empty() && tensors[0].defined() && tensors[0].is_quantized(), op, " has no quantized table");
  TORCH_CHECK(
      tensors[0].is_cpu() && tensors[0].dim() == 2 && tensors[0].numel() > 0, op,
      ": the table must be a matrix that is not empty");
  requireStored(op, tensors[0]);
  checkScales(op, tensors[0], tensors[0].size(0));
  constexpr int64_t kScale = 8;  // with the zero point, at the end of each row
  return tensors[0].numel() + kScale * tensors[0].size(0);
}

struct ClassState {
  std::string_view name;
  int64_t (*check)(const IValue& state);
};

constexpr ClassState kClassStates[] = {
    {"__torch__.torch.classes.quantized.Conv2dPackedParamsBase", checkConvolutionState<2>},
    {"__torch__.torch.classes.quantized.Conv3dPackedParamsBase", checkConvolutionState<3>},
    {"__torch__.torch.classes.quantized.EmbeddingPackedParamsBase", checkEmbeddingState},
    {"__torch__.torch.classes.quantized.LinearPackedParamsBase", checkLinearState},
};

}  // namespace

}  // namespace checks

size_t checkClassState(std::string_view class_name, const c10::IValue& state) {
  for (const auto& [name, check] : checks::kClassStates) {
    if (name == class_name) return static_cast<size_t>(check(state));
  }
  return 0;
}

}  // namespace cresset
