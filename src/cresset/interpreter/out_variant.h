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
  /// The same for a result that is contiguous and has these sizes: it has them, unless its memory is too small.
  at::Tensor& output(size_t i, c10::IntArrayRef sizes) const {
    at::Tensor& tensor = *outputs_[i];
    if (tensor.defined() && isContiguousOf(tensor, sizes)) [[likely]]
      return tensor;
    return resized(i, sizes);
  }
  /// The same as it was left by the call before; undefined if the result is to be in memory of its own.
  at::Tensor& rawOutput(size_t i) const { return *outputs_[i]; }

  /// Whether a tensor has these sizes, and the strides that a new one has.
  [[gnu::always_inline]] static inline bool isContiguousOf(const at::Tensor& tensor, c10::IntArrayRef sizes) {
    const c10::IntArrayRef own = tensor.unsafeGetTensorImpl()->sizes();
    const c10::IntArrayRef strides = tensor.unsafeGetTensorImpl()->strides();
    if (own.size() != sizes.size()) return false;
    int64_t count = 1;
    for (size_t d = sizes.size(); d-- > 0; count *= sizes[d]) {
      if (own[d] != sizes[d] || strides[d] != count) return false;
    }
    return true;
  }

 private:
  at::Tensor& resized(size_t i, c10::IntArrayRef sizes) const;

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
  bool has_own = false;         // whether some result has memory of its own
  bool turns = false;           // whether some result is to be in memory that nothing needs (RunMemory::turn)
  std::vector<bool> keeps;      // per result: whether its slot keeps it until the run ends
};

/// The sites of a graph; those of subgraphs have no variant before they are compiled.
using OutSites = std::unordered_map<const Node*, OutSite>;

/// Tensors that a run computes results into, numbered as the sites of its code say. Belongs to one run at a time.
class RunMemory {
 public:
  virtual ~RunMemory() = default;
  at::Tensor& slot(uint32_t i) { return slots_[i]; }

  /// What code finds by an index without owning it: results in slots, by the number of the slot, and elements of lists
  /// and tuples that the code holds. It belongs to the memory, or to a register.
  const c10::IValue& borrowed(uint32_t i) const { return *borrowed_[i]; }
  void borrow(uint32_t i, const c10::IValue& element) { borrowed_[i] = &element; }
  /// Room for so many, for a run.
  void requireBorrowed(uint32_t count) {
    if (borrowed_.size() < count) borrowed_.resize(count);
  }
  /// The result of the slot's site is a value of its own until restore.
  void replace(uint32_t slot, c10::IValue value) {
    restore(slot);
    values_[slot] = std::move(value);
    num_replaced_ += isReplaced(slot) ? 1 : 0;
  }
  /// Nothing needs the result any more.
  void restore(uint32_t slot) {
    if (num_replaced_ > 0) [[unlikely]]
      restoreSlot(slot);
  }
  /// Gives the slot a tensor in memory that nothing else refers to, before each call that computes into it.
  virtual void turn(uint32_t /*slot*/) {}
  bool isWatched() const { return is_watched_; }
  /// Before each call of an out variant, if isWatched().
  virtual void beforeCall(uint32_t /*site*/) {}

 protected:
  /// Once slots_ is complete; those that code does not borrow are undefined then.
  void keepSlots() {
    values_.assign(slots_.begin(), slots_.end());
    for (const c10::IValue& value : values_) borrowed_.push_back(&value);
  }
  bool isReplaced(uint32_t slot) const {
    const c10::IValue& value = values_[slot];
    return !value.isTensor() || !value.toTensor().is_same(slots_[slot]);
  }
  void restoreSlot(uint32_t slot) {
    if (!isReplaced(slot)) return;
    values_[slot] = slots_[slot];
    --num_replaced_;
  }

  std::vector<at::Tensor> slots_;
  bool is_watched_ = false;

 private:
  std::vector<c10::IValue> values_;  // per slot: its tensor, unless it is replaced
  std::vector<const c10::IValue*> borrowed_;
  size_t num_replaced_ = 0;
};

/// As runCode (interpreter.h), for code that calls out variants, on behalf of who has asked about profilers and limits:
/// neither counts.
void runCodeInMemory(const Code& code, std::vector<c10::IValue>& stack, RunMemory& memory);

}  // namespace cresset
