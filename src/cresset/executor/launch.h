// Calls of kernels for inputs of given layouts.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cresset/codegen/sequence.h"
#include "cresset/executor/kernel_cache.h"
#include "cresset/executor/memory_planner.h"
#include "cresset/executor/roofline.h"
#include "cresset/interpreter/compiled_subgraph.h"
#include "cresset/support/poison.h"

namespace cresset {

/// Layouts of several tensors in a row: of each the rank, then size and stride of each dimension. Few words compare
/// faster than a call of memcmp takes.
class LayoutWords {
 public:
  LayoutWords() = default;
  explicit LayoutWords(std::span<const at::Tensor> tensors);

  /// Whether `tensor` has the layout at `position`, which then moves on to the next.
  bool match(const at::Tensor& tensor, size_t& position) const {
    const c10::IntArrayRef sizes = tensor.sizes(), strides = tensor.strides();
    const int64_t* words = words_.data() + position;
    if (static_cast<int64_t>(sizes.size()) != *words) return false;
    position += 1 + 2 * sizes.size();
    int64_t difference = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      difference |= (sizes[d] ^ words[1 + 2 * d]) | (strides[d] ^ words[2 + 2 * d]);
    return difference == 0;
  }

  /// "64x1024, 1024, scalar"
  std::string sizesToString() const;

 private:
  std::vector<int64_t> words_;
};

/// Kernels to run one after another, and the memory for it. Immutable but for the kernels, which may come later.
class Launch {
 public:
  /// `tensors`: those of the sequence. `now`: kernels are compiled before it returns.
  Launch(const codegen::Sequence& sequence, std::span<const at::Tensor> tensors, bool now);

  const LayoutWords& layouts() const { return layouts_; }
  /// Whether there are kernels for these layouts, and all are compiled.
  bool isReady() const;
  /// Items for which there are none.
  const std::vector<size_t>& refused() const { return refused_; }
  /// What runs instead if there are items without kernels: kernels around their operators.
  struct Split {
    std::shared_ptr<const CompiledSubgraph> whole;
    std::vector<size_t> items;  // of its groups and joins in kernels, in order, the item that each was
  };
  /// Null: all of the sequence unfused. Set before other threads see the launch.
  const std::shared_ptr<const Split>& split() const { return split_; }
  void setSplit(std::shared_ptr<const Split> split) { split_ = std::move(split); }
  /// Replaces the inputs, the last `num_inputs` values of the stack, by the outputs. Only if it is ready. False if an
  /// index is out of range: the stack is as it was then, and the operators raise what they raise.
  /// `are_new`: per input, whether it is memory that the program has made. Outputs take the place of such inputs to
  /// which the stack has the only reference.
  bool run(
      const codegen::Sequence& sequence, std::vector<c10::IValue>& stack, size_t num_inputs,
      const std::vector<bool>& are_new) const;
  /// The same into given tensors of the outputs' dtypes, which get the outputs' layouts; those that are undefined
  /// become new tensors. One may have the memory of an input, if nothing needs that afterwards. If it returns false
  /// they hold anything, but no input has changed.
  bool runInto(
      const codegen::Sequence& sequence, const c10::IValue* inputs, std::span<at::Tensor* const> outputs) const;
  /// The kernels' text.
  std::string toString() const;

  /// What the kernels of one item did: added up, of one call.
  struct ItemReport {
    KernelWork work;
    double limit = 0;        // in nanoseconds: what the processor takes at least (roofline.h); 0 if it is not known
    bool by_memory = false;  // what sets most of it
    double nanoseconds = 0;  // the least of the calls that were timed; 0 if there was none
  };
  struct Report {
    std::string layouts;  // sizes of the inputs: "64x1024, 1024"
    uint64_t calls = 0;
    std::vector<ItemReport> items;  // of the sequence
  };
  Report report(const codegen::Sequence& sequence) const;

 private:
  struct Output : codegen::StridedLayout {
    at::ScalarType dtype;
    size_t bytes;
  };
  /// The beginning of a tensor, an output, or the temporaries, in this order, and the distance from it in bytes.
  struct Buffer {
    size_t base;
    int64_t offset;
  };
  struct Step {
    std::shared_ptr<SharedKernel> kernel;
    codegen::Sizes sizes;
    std::vector<int64_t> strides;  // per buffer and dimension
    std::vector<Buffer> buffers;
    std::vector<size_t> numbers;        // of the inputs
    std::vector<int64_t> more_numbers;  // those that the layouts say
    std::vector<MemoryPiece> scratch;   // in the memory that a thread has for it
    size_t scratch_bytes = 0;
    std::vector<MemoryPiece> temporaries;  // that are needed then; of builds that poison the others
    int64_t elements;
    bool is_divisible;  // among threads
    size_t item;        // of the sequence
  };

  static void giveLayout(const Output& output, at::Tensor& tensor);
  /// Whether elements of the output may be written where those of the tensor are: all that reads one has done so then.
  bool mayOverwrite(size_t tensor, size_t output, size_t num_tensors) const;
  void takePlaces(
      const codegen::Sequence& sequence, const c10::IValue* inputs, const std::vector<bool>& are_new,
      std::span<at::Tensor> outputs) const;
  static bool readsBeforeItWrites(const Step& step, size_t tensor, size_t output);
  bool overwritesOnlyWhatItMay(std::span<std::byte* const> bases) const;
  void addStep(codegen::KernelCall call, std::span<const size_t> bases, bool now);
  /// Of each, which calls need it.
  std::vector<Temporary> planTemporaries(const std::vector<codegen::KernelCall>& calls, std::span<const size_t> bytes);
  bool runSteps(std::span<std::byte* const> bases, const c10::IValue* inputs) const;
  bool runStep(const Step& step, std::span<std::byte* const> bases, const c10::IValue* inputs) const;

  LayoutWords layouts_;
  std::vector<Output> outputs_;
  std::vector<Step> steps_;          // none if no kernels fit
  std::vector<bool> may_overwrite_;  // by tensor and output
  std::vector<size_t> refused_;
  std::shared_ptr<const Split> split_;
  std::vector<size_t> offsets_;  // of temporaries
  size_t temporary_bytes_ = 0;
  /// Calls so far, and of each step the least time in nanoseconds, 0 before one was timed. One call in many is.
  mutable std::atomic<uint64_t> num_calls_{0};
  mutable std::vector<std::atomic<int64_t>> least_times_;
};

}  // namespace cresset
