// Storages and tensors. See tensor_reader.h.
#include "cresset/archive/tensor_reader.h"

#include <ATen/ops/_empty_affine_quantized_ops.h>
#include <ATen/ops/_empty_per_channel_affine_quantized_ops.h>
#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/_validate_sparse_compressed_tensor_args_ops.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <ATen/ops/set_ops.h>
#include <ATen/ops/sparse_compressed_tensor_ops.h>
#include <ATen/ops/sparse_coo_tensor_ops.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <cstring>

#include "cresset/support/error.h"

namespace cresset {

namespace {

// ATen's kernels assume at least the alignment of an element and use vector loads that tolerate less than a line.
constexpr const char* kNotQuantized = "a quantized tensor has a storage that is not quantized";

constexpr const char* kCopiedIndices = "copying the indices of a sparse tensor";

constexpr size_t kAlignment = 16;
// What c10 takes for a tensor beside its elements, for what autograd knows of it, and for a storage.
constexpr size_t kTensorBytes = 512, kStorageBytes = 320;

void unmapStorage(void* context) {
  delete static_cast<std::shared_ptr<ArchiveBytes>*>(context);
}

void swapBytes(uint8_t* data, size_t size, size_t unit) {
  for (size_t i = 0; i + unit <= size; i += unit) std::reverse(data + i, data + i + unit);
}

// What is swapped as a whole: a complex number is two numbers.
size_t swapUnit(c10::ScalarType dtype) {
  size_t size = c10::elementSize(dtype);
  return c10::isComplexType(dtype) ? size / 2 : size;
}

// Runs libtorch code on numbers that come from the file: its complaints are about the file.
template <typename F>
auto guarded(const ArchiveSite& site, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    site.fail(error.what_without_backtrace());
  }
}

// Operators that read every element run on these: an expanded tensor (strides of 0) could have any number of them.
void requireStored(const at::Tensor& tensor, const ArchiveSite& site) {
  if (tensor.layout() != c10::kStrided || tensor.is_meta() ||
      static_cast<uint64_t>(tensor.numel()) * tensor.itemsize() > tensor.storage().nbytes())
    site.fail("a part of a sparse or quantized tensor has more elements than its storage");
}

void requireFewDims(size_t dims, const ArchiveSite& site) {
  if (dims > TensorReader::kMaxDims) site.fail("a tensor of " + std::to_string(dims) + " dimensions is not possible");
}

void requireSize(int64_t size, const ArchiveSite& site) {
  if (size < 0) site.fail("a tensor has the negative size " + std::to_string(size));
}

// ATen doesn't ask about sizes that no index reaches.
void checkSparseSizes(const std::vector<int64_t>& sizes, const ArchiveSite& site) {
  requireFewDims(sizes.size(), site);
  for (int64_t size : sizes) requireSize(size, site);
}

at::Tensor overStorage(c10::Storage storage, c10::ScalarType dtype, const TensorReader::Geometry& g) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(g.sizes, g.strides, g.offset);
  return tensor;
}

}  // namespace

TensorReader::StorageView TensorReader::storage(
    const std::string& record, c10::ScalarType dtype, std::string_view location, int64_t numel,
    const ArchiveSite& site) {
  if (dtype == c10::ScalarType::QUInt4x2 || dtype == c10::ScalarType::QUInt2x4)
    site.fail(
        std::string("tensors of type ") + c10::toString(dtype) +
        ", which pack several elements into a byte, are not supported");
  uint64_t bytes;
  if (numel < 0 || __builtin_mul_overflow(static_cast<uint64_t>(numel), c10::elementSize(dtype), &bytes) ||
      bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    site.fail("a storage of " + std::to_string(numel) + " elements is not possible");
  // A meta tensor stays one wherever the others go: there are no bytes to move.
  const bool moves = device_ && location != "meta";
  c10::Device target = guarded(site, [&] { return moves ? *device_ : c10::Device(std::string(location)); });
  // A CPU has no number in torch.jit's archives, but Python writes one ("cpu:0") at times.
  if (target.is_cpu()) target = c10::Device(c10::kCPU);

  auto it = storages_.find(record);
  if (it == storages_.end()) {
    budget_.charge(kStorageBytes + record.size(), site, "the storages of this archive");
    it = storages_.emplace(record, load(record, dtype, target, bytes, site)).first;
  }
  const Loaded& loaded = it->second;
  if (bytes > loaded.bytes)
    site.fail(
        "a storage of " + std::to_string(bytes) + " bytes is claimed, but record '" + record + "' has " +
        std::to_string(loaded.bytes));
  if (loaded.swapped_unit != 0 && loaded.swapped_unit != swapUnit(dtype))
    site.fail("record '" + record + "' of the other byte order is used with element sizes that differ");
  return {loaded.storage, dtype, loaded.device, bytes, loaded.sharers};
}

TensorReader::Loaded TensorReader::load(
    const std::string& record, c10::ScalarType dtype, c10::Device target, uint64_t bytes, const ArchiveSite& site) {
  // A meta tensor has no bytes in the file, however large it is.
  if (target.is_meta()) {
    auto whole = guarded(site, [&] {
      return at::_ops::empty_strided::call(
          {c10::SymInt(static_cast<int64_t>(bytes))}, {c10::SymInt(1)}, c10::kByte, c10::kStrided, target,
          std::nullopt);
    });
    return {whole.storage(), target, bytes, 0};
  }
  const ZipEntry* entry = zip_.find(record);
  if (!entry) site.fail("the archive has no record '" + record + "', which a tensor needs");
  size_t unit = swap_bytes_ && swapUnit(dtype) > 1 ? swapUnit(dtype) : 0;
  c10::Storage cpu = onCpu(*entry, unit, site);
  if (target.is_cpu()) return {std::move(cpu), target, entry->size, unit};
  auto moved = guarded(site, [&] {
    TensorReader::Geometry g{{static_cast<int64_t>(entry->size)}, {1}, 0};
    // torch.jit's error if there is no such device: ATen's own, about empty_strided.
    return at::_ops::_to_copy::call(
        overStorage(std::move(cpu), c10::kByte, g), std::nullopt, std::nullopt, target, std::nullopt, false,
        std::nullopt);
  });
  return {moved.storage(), moved.device(), entry->size, unit};
}

c10::Storage TensorReader::onCpu(const ZipEntry& entry, size_t unit, const ArchiveSite& site) {
  size_t offset = zip_.dataOffset(entry);
  const auto& bytes = zip_.bytes();
  uint8_t* mapped = bytes->privateData();
  auto make = [&](c10::DataPtr data) {
    return c10::Storage(
        c10::Storage::use_byte_size_t(), entry.size, std::move(data), c10::GetCPUAllocator(), /*resizable=*/true);
  };
  bool aligned = mapped && reinterpret_cast<uintptr_t>(mapped + offset) % kAlignment == 0;
  if (aligned && !entry.compressed() && unit == 0) {
    if (entry.size == 0) return make(c10::GetCPUAllocator()->allocate(0));
    return make(
        c10::DataPtr(mapped + offset, new std::shared_ptr<ArchiveBytes>(bytes), &unmapStorage, c10::Device(c10::kCPU)));
  }
  budget_.charge(entry.size, site, "copying record '" + std::string(zip_.recordName(entry)) + "'");
  c10::DataPtr data = guarded(site, [&] { return c10::GetCPUAllocator()->allocate(entry.size); });
  if (entry.compressed())
    zip_.inflateTo(entry, data.get());
  else if (entry.size != 0)
    std::memcpy(data.get(), bytes->data() + offset, entry.size);
  if (unit != 0) swapBytes(static_cast<uint8_t*>(data.get()), entry.size, unit);
  return make(std::move(data));
}

void TensorReader::chargeTensors(size_t count, size_t dims, const ArchiveSite& site) {
  // Sizes and strides of few dimensions lie in the tensor.
  budget_.charge(count * (kTensorBytes + 2 * sizeof(int64_t) * dims), site, "the tensors of this archive");
}

void TensorReader::check(const StorageView& storage, const Geometry& g, const ArchiveSite& site) {
  if (g.sizes.size() != g.strides.size())
    site.fail(
        "a tensor has " + std::to_string(g.sizes.size()) + " sizes and " + std::to_string(g.strides.size()) +
        " strides");
  requireFewDims(g.sizes.size(), site);
  if (g.offset < 0) site.fail("a tensor starts at element " + std::to_string(g.offset) + " of its storage");
  int64_t last = g.offset, numel = 1;
  bool empty = false, overflow = false;
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    requireSize(g.sizes[d], site);
    if (g.strides[d] < 0) site.fail("a tensor has the negative stride " + std::to_string(g.strides[d]));
    empty |= g.sizes[d] == 0;
  }
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    // The product of the other sizes must not overflow even if one is 0: ATen multiplies in any order.
    overflow |= __builtin_mul_overflow(numel, std::max<int64_t>(g.sizes[d], 1), &numel);
    int64_t reach;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(g.sizes[d] - 1, 0), g.strides[d], &reach);
    if (!overflow && g.sizes[d] > 0) overflow |= __builtin_add_overflow(last, reach, &last);
  }
  int64_t item = static_cast<int64_t>(c10::elementSize(storage.dtype)), end, total;
  overflow |= __builtin_mul_overflow(numel, item, &total);
  // A tensor without elements touches nothing, whatever its strides; it may start at the storage's end.
  if (empty) last = g.offset;
  overflow |= __builtin_add_overflow(last, empty ? 0 : 1, &end) || __builtin_mul_overflow(end, item, &end);
  if (overflow) site.fail("the sizes and strides of a tensor overflow");
  if (static_cast<uint64_t>(end) > storage.bytes)
    site.fail(
        "a tensor reaches to byte " + std::to_string(end) + " of a storage that has " + std::to_string(storage.bytes));
}

at::Tensor TensorReader::strided(const StorageView& storage, const Geometry& g, const ArchiveSite& site) {
  const at::Tensor tensor = view(storage, g, site);
  note(*storage.sharers, tensor.scalar_type(), site);
  const bool is_integer = c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true);
  if (is_integer && !tensor.is_inference()) tensor.unsafeGetTensorImpl()->set_version_counter(storage.sharers->version);
  return tensor;
}

void TensorReader::note(Sharers& sharers, c10::ScalarType dtype, const ArchiveSite& site) const {
  const bool is_integer = c10::isIntegralType(dtype, /*includeBool=*/true);
  (is_integer ? sharers.hold_integers : sharers.hold_others) = true;
  if (sharers.hold_integers && sharers.hold_others && !trusted_)
    site.fail(
        "a storage is used for integers and for other numbers, so that indices could be changed unseen; only a trusted "
        "archive may do that");
}

at::Tensor TensorReader::view(const StorageView& storage, const Geometry& g, const ArchiveSite& site) {
  check(storage, g, site);
  chargeTensors(1, g.sizes.size(), site);
  if (storage.device.is_cpu() && !c10::isQIntType(storage.dtype)) return overStorage(storage.storage, storage.dtype, g);
  if (c10::isQIntType(storage.dtype)) site.fail("a quantized storage is used for a tensor that is not quantized");
  return guarded(site, [&] {
    auto tensor = at::_ops::empty_strided::call(
        {c10::SymInt(0)}, {c10::SymInt(1)}, storage.dtype, c10::kStrided, storage.device, std::nullopt);
    at::_ops::set__source_Storage_storage_offset::call(
        tensor, storage.storage, g.offset, c10::fromIntArrayRefSlow(g.sizes), c10::fromIntArrayRefSlow(g.strides));
    return tensor;
  });
}

at::Tensor TensorReader::perTensorQuantized(
    const StorageView& storage, const Geometry& g, double scale, int64_t zero_point, const ArchiveSite& site) {
  check(storage, g, site);
  chargeTensors(2, g.sizes.size(), site);  // one is its quantizer
  if (!c10::isQIntType(storage.dtype)) site.fail(kNotQuantized);
  note(*storage.sharers, storage.dtype, site);
  return guarded(site, [&] {
    auto tensor = at::_ops::_empty_affine_quantized::call(
        {c10::SymInt(0)}, storage.dtype, c10::kStrided, storage.device, std::nullopt, scale, zero_point, std::nullopt);
    at::_ops::set__source_Storage_storage_offset::call(
        tensor, storage.storage, g.offset, c10::fromIntArrayRefSlow(g.sizes), c10::fromIntArrayRefSlow(g.strides));
    return tensor;
  });
}

at::Tensor TensorReader::perChannelQuantized(
    const StorageView& storage, const Geometry& g, const at::Tensor& scales, const at::Tensor& zero_points,
    int64_t axis, const ArchiveSite& site) {
  check(storage, g, site);
  if (!c10::isQIntType(storage.dtype)) site.fail(kNotQuantized);
  note(*storage.sharers, storage.dtype, site);
  if (axis < 0 || static_cast<size_t>(axis) >= g.sizes.size() || scales.dim() != 1 || zero_points.dim() != 1 ||
      scales.numel() != g.sizes[static_cast<size_t>(axis)] || zero_points.numel() != scales.numel())
    site.fail("a tensor that is quantized per channel has scales or zero points that do not fit its sizes");
  requireStored(scales, site);
  requireStored(zero_points, site);
  chargeTensors(4, g.sizes.size(), site);
  // ATen's quantizer keeps what it is given, or converts it.
  const bool floats = c10::isFloatingType(zero_points.scalar_type());
  auto charge_conversion = [&](const at::Tensor& part, c10::ScalarType wanted) {
    if (part.scalar_type() == wanted && part.is_contiguous() && part.device() == storage.device) return;
    budget_.charge(
        static_cast<size_t>(part.numel()) * c10::elementSize(wanted), site,
        "converting a tensor's scales or zero points");
  };
  charge_conversion(scales, floats ? c10::kFloat : c10::kDouble);
  charge_conversion(zero_points, floats ? c10::kFloat : c10::kLong);
  return guarded(site, [&] {
    // Empty first, so that nothing is allocated for sizes that strides of 0 make huge.
    std::vector<int64_t> none(g.sizes.size(), 0);
    auto tensor = at::_ops::_empty_per_channel_affine_quantized::call(
        c10::fromIntArrayRefSlow(none), scales, zero_points, axis, storage.dtype, c10::kStrided, storage.device,
        std::nullopt, std::nullopt);
    at::_ops::set__source_Storage_storage_offset::call(
        tensor, storage.storage, g.offset, c10::fromIntArrayRefSlow(g.sizes), c10::fromIntArrayRefSlow(g.strides));
    return tensor;
  });
}

at::Tensor TensorReader::sparseCoo(
    const std::vector<int64_t>& sizes, const at::Tensor& indices, const at::Tensor& values, const ArchiveSite& site) {
  checkSparseSizes(sizes, site);
  for (const at::Tensor& part : {indices, values}) requireStored(part, site);
  chargeTensors(3, sizes.size(), site);
  budget_.charge(indices.nbytes(), site, kCopiedIndices);
  return guarded(site, [&] {
    const at::Tensor own_indices = indices.clone();
    at::_ops::_validate_sparse_coo_tensor_args::call(own_indices, values, sizes, /*is_coalesced=*/false, std::nullopt);
    return at::_ops::sparse_coo_tensor_indices_size::call(
        own_indices, values, sizes, values.scalar_type(), c10::kSparse, values.device(), std::nullopt, std::nullopt);
  });
}

at::Tensor TensorReader::sparseCompressed(
    c10::Layout layout, const std::vector<int64_t>& sizes, const at::Tensor& compressed, const at::Tensor& plain,
    const at::Tensor& values, const ArchiveSite& site) {
  checkSparseSizes(sizes, site);
  for (const at::Tensor& part : {compressed, plain, values}) requireStored(part, site);
  chargeTensors(4, sizes.size(), site);
  // The check makes a table of batches, of which each has some of the compressed indices.
  budget_.charge(2 * compressed.nbytes() + plain.nbytes(), site, kCopiedIndices);
  return guarded(site, [&] {
    const at::Tensor own_compressed = compressed.clone(), own_plain = plain.clone();
    at::_ops::_validate_sparse_compressed_tensor_args::call(
        own_compressed, own_plain, values, sizes, layout, std::nullopt);
    return at::_ops::sparse_compressed_tensor_comp_plain_value_size::call(
        own_compressed, own_plain, values, c10::fromIntArrayRefSlow(sizes), values.scalar_type(), layout,
        values.device(), std::nullopt);
  });
}

}  // namespace cresset
