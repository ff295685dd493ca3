// Which tensors are of one memory: plain ones, for which wrappers can stand, and others, whose parts are tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include "cresset/functionalization/wrapper.h"

namespace cresset::live {

/// Whether a wrapper can stand for it: it is neither sparse, quantized, nested, nor zero without memory.
bool isPlain(const at::Tensor& tensor);

/// Whether both are, or have, parts of one storage. A wrapper's can't be asked for its address.
bool shareStorage(const at::Tensor& a, const at::Tensor& b);

/// Notes that a tensor without a wrapper has parts in the memory: it would not see a write.
void noteHolder(Memory& memory, const at::Tensor& holder);
/// Notes that the memory is that of a part of a tensor without a wrapper, which would never see a write.
void noteContainer(Memory& memory, const at::Tensor& container);
/// Raises if the memory has such a holder that lives, or such a container.
void requireUnheld(const Memory& memory);

}  // namespace cresset::live
