// Out variants: operators that compute their results into tensors that are there, and the memory of a run in which
// those tensors lie. Which nodes have one is decided when a plan is made (executor/out_variants.h); code calls each by
// one instruction, which borrows its operands: they stay in their registers, without another reference.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cresset {

class Code;
class Node;

/// The operands and results of one call. Both belong to the caller, and are valid for the call only.
class OutArguments {
 public:
  OutArguments(std::span<const c10::IValue* const> inputs, std::span<at::Tensor* const> outputs)
      : inputs_(inputs), outputs_(outputs) {}

  std::span<const c10::IValue* const> inputs() const { return inputs_; }
  size_t numInputs() const { return inputs_.size(); }
  /// In the order of the operator's schema; defaults are filled in.
  const c10::IValue& input(size_t i) const { return *inputs_[i]; }
  size_t numOutputs() const { return outputs_.size(); }
  /// The tensor for a result, of the result's dtype, without elements. To be given its sizes by what computes into it,
  /// as `out=` arguments are: memory that suffices is kept, other memory is replaced.
  at::Tensor& output(size_t i) const {
    at::Tensor& tensor = *outputs_[i];
    if (tensor.defined()) tensor.unsafeGetTensorImpl()->set_sizes_contiguous({0});
    return tensor;
  }
  /// The same for a result that is contiguous and has these sizes. One that is as the call before left it stays so.
  at::Tensor& output(size_t i, c10::IntArrayRef sizes) const {
    at::Tensor& tensor = *outputs_[i];
    return tensor.defined() && isReady(*tensor.unsafeGetTensorImpl(), sizes) ? tensor : output(i);
  }
  /// The same as it was left by the call before; undefined if the result is to be in memory of its own.
  at::Tensor& rawOutput(size_t i) const { return *outputs_[i]; }

 private:
  static bool isReady(const c10::TensorImpl& tensor, c10::IntArrayRef sizes) {
    if (static_cast<size_t>(tensor.dim()) != sizes.size()) return false;
    int64_t count = 1;
    for (size_t d = sizes.size(); d-- > 0; count *= sizes[d]) {
      if (tensor.sizes()[d] != sizes[d] || tensor.strides()[d] != count) return false;
    }
    return tensor.unsafe_storage().nbytes() >= static_cast<size_t>(count) * tensor.itemsize();
  }

  std::span<const c10::IValue* const> inputs_;
  std::span<at::Tensor* const> outputs_;
};

class OutVariant {
 public:
  virtual ~OutVariant() = default;
  /// True: the results are in the outputs. False: they had to be computed otherwise, and are on the stack, which was
  /// empty. Called from any thread.
  virtual bool call(const OutArguments& arguments, std::vector<c10::IValue>& stack) const = 0;
  /// Whether single results may be in memory of their own, those whose outputs are undefined.
  virtual bool allowsOwnMemory() const { return false; }
  /// Whether results that nothing uses have tensors, too. Without, their outputs are undefined and stay so.
  virtual bool computesUnused() const { return true; }
  /// Whether it finds out what dtypes results have when it is called, and gives their tensors those.
  virtual bool learnsDtypes() const { return false; }
  /// Whether the result may have the memory of this operand, of the same dtype, sizes and strides.
  virtual bool mayOverwrite(size_t /*operand*/) const { return false; }
};

/// A call of an out variant in code.
struct OutSite {
  static constexpr uint32_t kNoSlot = ~0u;
  std::shared_ptr<const OutVariant> variant;
  std::vector<uint32_t> slots;  // per result: which tensor of the run's memory; kNoSlot for memory of its own
  uint32_t index = 0;           // among the sites that the memory was laid out for
};

/// The sites of a graph; those of subgraphs have no variant before they are compiled.
using OutSites = std::unordered_map<const Node*, OutSite>;

/// Tensors that a run computes results into, numbered as the sites of its code say. Belongs to one run at a time.
class RunMemory {
 public:
  virtual ~RunMemory() = default;
  at::Tensor& slot(uint32_t i) { return slots_[i]; }
  bool isWatched() const { return is_watched_; }
  /// Before each call of an out variant, if isWatched().
  virtual void beforeCall(uint32_t /*site*/) {}

 protected:
  std::vector<at::Tensor> slots_;
  bool is_watched_ = false;
};

/// As runCode (interpreter.h), for code that calls out variants, on behalf of who has asked about profilers and limits:
/// neither counts.
void runCodeInMemory(const Code& code, std::vector<c10::IValue>& stack, RunMemory& memory);

}  // namespace cresset
