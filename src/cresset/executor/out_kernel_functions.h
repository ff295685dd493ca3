// The functions that the column OUT names, by files: out_kernels.cpp (arithmetic, products, embeddings, joins),
// out_kernels_copies.cpp (what copies elements, or makes them), out_kernels_layers.cpp (batch norms, pooling) and
// out_kernels_norms.cpp (other normalizations, convolutions).
//
// Each computes what its operator does, with the same bits, strides and exceptions, into `arguments.output(i)`, by the
// ATen kernels that the operator itself calls, or a loop of its own. False, and nothing has happened, if it is not for
// these arguments: where it would have to copy one, where the operator returns an argument or a view, and where it
// raises, unless the same kernel does. Tensors among the arguments are dense ones of the CPU; nothing else is checked
// before. Results that nothing uses are undefined tensors, and not computed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/DimVector.h>

#include "cresset/interpreter/out_variant.h"

namespace cresset::out {

inline const at::Tensor& tensor(const OutArguments& arguments, size_t i) {
  return arguments.input(i).toTensor();
}

/// Undefined for None.
inline at::Tensor optionalTensor(const OutArguments& arguments, size_t i) {
  return arguments.input(i).isTensor() ? tensor(arguments, i) : at::Tensor();
}

inline c10::DimVector intsOf(const c10::IValue& list) {
  c10::DimVector numbers;
  for (const c10::IValue& number : list.toListRef()) numbers.push_back(number.toInt());
  return numbers;
}

/// Whether an argument of type ScalarType, or None for `without`, is the dtype of the result.
inline bool isOfResult(const OutArguments& arguments, const c10::IValue& dtype, at::ScalarType without) {
  const at::ScalarType of_result = arguments.rawOutput(0).scalar_type();
  return dtype.isNone() ? of_result == without : dtype.toInt() == static_cast<int64_t>(of_result);
}

#define CRESSET_OUT_FUNCTION(name) bool name(const OutArguments& arguments)
CRESSET_OUT_FUNCTION(clone);
CRESSET_OUT_FUNCTION(contiguous);
CRESSET_OUT_FUNCTION(reshape);
CRESSET_OUT_FUNCTION(reshape_as);
CRESSET_OUT_FUNCTION(flatten);
CRESSET_OUT_FUNCTION(to_dtype);
CRESSET_OUT_FUNCTION(to_device);
CRESSET_OUT_FUNCTION(to_dtype_layout);
CRESSET_OUT_FUNCTION(to_other);
CRESSET_OUT_FUNCTION(to_copy);
CRESSET_OUT_FUNCTION(type_as);
CRESSET_OUT_FUNCTION(repeat);
CRESSET_OUT_FUNCTION(masked_fill);
CRESSET_OUT_FUNCTION(zeros);
CRESSET_OUT_FUNCTION(ones);
CRESSET_OUT_FUNCTION(full);
CRESSET_OUT_FUNCTION(zeros_like);
CRESSET_OUT_FUNCTION(ones_like);
CRESSET_OUT_FUNCTION(full_like);
CRESSET_OUT_FUNCTION(new_zeros);
CRESSET_OUT_FUNCTION(new_ones);
CRESSET_OUT_FUNCTION(new_full);
CRESSET_OUT_FUNCTION(arange);
CRESSET_OUT_FUNCTION(arange_start);
CRESSET_OUT_FUNCTION(arange_start_step);
CRESSET_OUT_FUNCTION(batch_norm);
CRESSET_OUT_FUNCTION(layer_norm);
CRESSET_OUT_FUNCTION(group_norm);
CRESSET_OUT_FUNCTION(native_group_norm);
CRESSET_OUT_FUNCTION(conv2d);
CRESSET_OUT_FUNCTION(log_softmax);
CRESSET_OUT_FUNCTION(sum);
CRESSET_OUT_FUNCTION(mean);
CRESSET_OUT_FUNCTION(adaptive_avg_pool2d);
CRESSET_OUT_FUNCTION(max_pool2d);
CRESSET_OUT_FUNCTION(embedding_bag);
#undef CRESSET_OUT_FUNCTION

}  // namespace cresset::out
