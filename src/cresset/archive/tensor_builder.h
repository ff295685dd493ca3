// The calls that rebuild tensors in pickles: reads their arguments from nodes and asks the TensorReader.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/archive/pickle_machine.h"
#include "cresset/archive/pickle_names.h"
#include "cresset/archive/tensor_reader.h"

namespace cresset {

class TensorBuilder {
 public:
  /// Storages are records under `prefix` ("data/").
  TensorBuilder(TensorReader& reader, const Pickle& pickle, std::string prefix)
      : reader_(reader), pickle_(pickle), prefix_(std::move(prefix)) {}

  /// The tensor that Call node `n` rebuilds. A node that was built before stands for the same tensor.
  at::Tensor build(uint32_t n) { return build(n, 0); }

 private:
  using Args = std::vector<uint32_t>;
  at::Tensor build(uint32_t n, int depth);
  at::Tensor rebuildTensor(uint32_t n, const Args& args);
  at::Tensor rebuildQuantized(uint32_t n, const Args& args, int depth);
  at::Tensor rebuildSparse(uint32_t n, const Args& args, int depth);
  at::Tensor rebuildParameter(uint32_t n, const Args& args, int depth);
  TensorReader::StorageView storage(uint32_t n);
  TensorReader::Geometry geometry(uint32_t offset, uint32_t sizes, uint32_t strides);
  void setRequiresGrad(at::Tensor& tensor, uint32_t flag);
  void setMathBits(at::Tensor& tensor, uint32_t metadata);
  at::Tensor tensorArgument(uint32_t n, int depth);

  const PickleNode& at(uint32_t n) const { return pickle_[n]; }
  ArchiveSite site(uint32_t n) const { return pickle_.site(pickle_[n]); }
  [[noreturn]] void refuse(uint32_t n, const char* what, const char* wanted) const;
  Args tuple(uint32_t n, const char* what);
  Args few(uint32_t n, const char* what);
  int64_t integer(uint32_t n, const char* what);
  std::vector<int64_t> integers(uint32_t n, const char* what);

  TensorReader& reader_;
  const Pickle& pickle_;
  std::string prefix_;
  std::unordered_map<uint32_t, at::Tensor> built_;  // of nodes in the memo
};

}  // namespace cresset
