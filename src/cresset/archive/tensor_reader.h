// Tensors of an archive: storages that live in the mapped file, and views of them.
//
// Sizes, strides and offsets are checked against the storage before a tensor exists, so no later access can leave it.
// A storage named twice is one storage; its bytes are not read here, so a mapped archive costs memory only as its
// tensors are touched. Copies are made where the file's bytes can't serve: compressed or misaligned records, the other
// byte order, a caller's buffer (writes must not reach it), another device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/archive/zip_reader.h"

namespace cresset {

class TensorReader {
 public:
  /// `device`: where all tensors go; by default where they were saved.
  /// `trusted`: whether integers may lie in the memory of other numbers, whose `.data` autograd does not watch.
  TensorReader(
      const ZipReader& zip, LoadBudget& budget, std::optional<c10::Device> device, bool swap_bytes, bool trusted)
      : zip_(zip), budget_(budget), device_(device), swap_bytes_(swap_bytes), trusted_(trusted) {}

  /// Tensors over one storage. Those of integers have one version counter: autograd keeps integers as indices, and its
  /// kernels believe them, so it has to see a write through any of the tensors.
  struct Sharers {
    c10::VariableVersion version{0};
    bool hold_integers = false, hold_others = false;
  };
  struct StorageView {
    c10::Storage storage;
    c10::ScalarType dtype;
    c10::Device device = c10::Device(c10::kCPU);  // where it is now
    uint64_t bytes = 0;                           // what a tensor may use
    std::shared_ptr<Sharers> sharers;
  };
  struct Geometry {
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
  };

  /// The storage in record `record` ("data/3"), which holds `numel` elements of `dtype`, saved from `location`.
  StorageView storage(
      const std::string& record, c10::ScalarType dtype, std::string_view location, int64_t numel,
      const ArchiveSite& site);
  static constexpr size_t kMaxDims = 64;  // ATen's own limit
  /// Charges the budget for `count` tensors beside their elements, of so many dimensions.
  void chargeTensors(size_t count, size_t dims, const ArchiveSite& site);
  /// Throws ArchiveError unless every element lies in the storage.
  static void check(const StorageView& storage, const Geometry& geometry, const ArchiveSite& site);
  at::Tensor strided(const StorageView& storage, const Geometry& geometry, const ArchiveSite& site);
  at::Tensor perTensorQuantized(
      const StorageView& storage, const Geometry& geometry, double scale, int64_t zero_point, const ArchiveSite& site);
  at::Tensor perChannelQuantized(
      const StorageView& storage, const Geometry& geometry, const at::Tensor& scales, const at::Tensor& zero_points,
      int64_t axis, const ArchiveSite& site);
  /// The indices are checked (ATen's constructors do so only where `check_sparse_tensor_invariants` says it), so that a
  /// hostile archive can't make a sparse tensor that points outside itself; and copied, so that they can't be written
  /// to later through another tensor of their storage.
  at::Tensor sparseCoo(
      const std::vector<int64_t>& sizes, const at::Tensor& indices, const at::Tensor& values, const ArchiveSite& site);
  at::Tensor sparseCompressed(
      c10::Layout layout, const std::vector<int64_t>& sizes, const at::Tensor& compressed, const at::Tensor& plain,
      const at::Tensor& values, const ArchiveSite& site);

 private:
  struct Loaded {
    c10::Storage storage;
    c10::Device device;
    uint64_t bytes;
    size_t swapped_unit;  // 0 if bytes were not swapped
    std::shared_ptr<Sharers> sharers = std::make_shared<Sharers>();
  };
  Loaded load(
      const std::string& record, c10::ScalarType dtype, c10::Device target, uint64_t bytes, const ArchiveSite& site);
  /// That the storage is used for elements of that dtype. Fails if integers and others share it, unless trusted.
  void note(Sharers& sharers, c10::ScalarType dtype, const ArchiveSite& site) const;
  at::Tensor view(const StorageView& storage, const Geometry& geometry, const ArchiveSite& site);
  c10::Storage onCpu(const ZipEntry& entry, size_t unit, const ArchiveSite& site);

  const ZipReader& zip_;
  LoadBudget& budget_;
  std::optional<c10::Device> device_;
  bool swap_bytes_, trusted_;
  std::unordered_map<std::string, Loaded> storages_;
};

}  // namespace cresset
