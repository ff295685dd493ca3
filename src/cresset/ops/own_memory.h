// Whose memory a tensor's is.
#pragma once

#include <ATen/core/Tensor.h>

namespace cresset {

/// Whether the tensor may be written to without that being noticed: it is the only reference to its memory.
bool isOwn(const at::Tensor& tensor);
/// Whether the tensor is strided, and its elements lie side by side in some order of its dimensions.
bool isDense(const at::Tensor& tensor);

}  // namespace cresset
