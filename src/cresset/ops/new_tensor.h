// Tensors for results, made with less than at::empty_strided takes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace cresset {

/// A tensor on the CPU, of plain, uninitialized memory; `bytes` is what sizes and strides need
/// (at::detail::computeStorageNbytes). As at::detail::empty_strided_cpu, but small ones take their memory from malloc:
/// it keeps small pieces at hand for each thread, unlike posix_memalign, which takes longer than all the rest.
at::Tensor newTensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype, size_t bytes);

/// The strides that at::empty_like gives a tensor like this one: those that it has, or, if it is not dense, dense ones
/// in the order of its dimensions in memory.
std::vector<int64_t> preservedStrides(const at::Tensor& like);

/// Makes sure that the storage of a tensor on the CPU has `bytes` at least; if not, it gets new memory, uninitialized.
void makeRoom(const at::Tensor& tensor, size_t bytes);

}  // namespace cresset
