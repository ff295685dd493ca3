#include "cresset/ops/new_tensor.h"

#include <ATen/ExpandUtils.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/alignment.h>

#include <cstdint>
#include <cstdlib>

#include "cresset/ops/tensor_memory.h"

namespace cresset {

namespace {

/// What malloc keeps per thread (glibc's tcache goes up to 1032 bytes), less what alignment takes.
constexpr size_t kMostSmall = 960;

at::DataPtr smallBlock(size_t bytes) {
  void* block = std::malloc(bytes + c10::gAlignment - alignof(std::max_align_t));
  if (!block) return {};
  const uintptr_t misalignment = reinterpret_cast<uintptr_t>(block) & (c10::gAlignment - 1);
  return {static_cast<char*>(block) + (misalignment ? c10::gAlignment - misalignment : 0), block, std::free, at::kCPU};
}

at::DataPtr memoryFor(size_t bytes, c10::Allocator& allocator) {
  // Whoever counts memory, a profiler or a limit of memory, must see all of it.
  if (bytes > 0 && bytes <= kMostSmall && isUncounted(allocator)) {
    if (at::DataPtr small = smallBlock(bytes)) return small;
  }
  return allocator.allocate(bytes);
}

}  // namespace

at::Tensor newTensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype, size_t bytes) {
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, memoryFor(bytes, allocator), &allocator, /*resizable=*/true);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

std::vector<int64_t> preservedStrides(const at::Tensor& like) {
  return like.is_non_overlapping_and_dense() ? like.strides().vec()
                                             : at::infer_dense_strides(like.sizes(), like.strides());
}

void makeRoom(const at::Tensor& tensor, size_t bytes) {
  const c10::Storage& storage = tensor.storage();
  if (storage.nbytes() >= bytes) return;
  storage.set_data_ptr_noswap(c10::GetCPUAllocator()->allocate(bytes));
  storage.set_nbytes(bytes);
}

}  // namespace cresset
