// Which elements two tensors have in common, as far as their sizes and strides tell.
#pragma once

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>

namespace cresset {

/// What an operator raises that reads a part of what it writes.
inline constexpr const char* kOverlapError =
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation.";

/// Whether two tensors with storages lie in the same memory. One of a live functionalized program has a storage without
/// memory, which all have that are of its memory.
inline bool shareMemory(const at::Tensor& a, const at::Tensor& b) {
  const c10::Storage &one = a.storage(), &other = b.storage();
  if (one.unsafeGetStorageImpl() == other.unsafeGetStorageImpl()) return true;
  const auto hasMemory = [](const at::Tensor& tensor) { return !tensor.key_set().has(c10::DispatchKey::Fake); };
  return hasMemory(a) && hasMemory(b) && one.is_alias_of(other);
}

/// As at::get_overlap_status, by places in the storage: a tensor of a live functionalized program has no other memory.
inline at::MemOverlapStatus overlapInMemory(const at::Tensor& a, const at::Tensor& b) {
  using enum at::MemOverlapStatus;
  if (a.is_same(b)) return Full;
  const auto isPlain = [](const at::Tensor& tensor) {
    return tensor.has_storage() && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  };
  if (!isPlain(a) || !isPlain(b) || !shareMemory(a, b) || a.numel() == 0 || b.numel() == 0) return No;
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return TooHard;
  const auto placeOf = [](const at::Tensor& tensor) {
    const auto size = static_cast<int64_t>(tensor.itemsize());
    return std::pair(tensor.storage_offset() * size, (tensor.storage_offset() + tensor.numel()) * size);
  };
  const auto [begin, end] = placeOf(a);
  const auto [other_begin, other_end] = placeOf(b);
  if (begin == other_begin && end == other_end) return a.strides() == b.strides() ? Full : Partial;
  return begin < other_end && other_begin < end ? Partial : No;
}

/// Whether an operator that writes one tensor may not read the other: `may_be_same` if it may read what it writes
/// itself, as pointwise operators do.
inline bool isOverlapRefused(const at::Tensor& written, const at::Tensor& read, bool may_be_same) {
  const at::MemOverlapStatus status = overlapInMemory(written, read);
  return status == at::MemOverlapStatus::Partial || (!may_be_same && status == at::MemOverlapStatus::Full);
}

}  // namespace cresset
