#include "cresset/executor/kernels.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include "cresset/codegen/group.h"
#include "cresset/codegen/layout.h"
#include "cresset/executor/kernel_cache.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/passes/fuse.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

using codegen::Sizes;
using codegen::StridedLayout;

std::atomic<size_t> num_launches{0}, num_unfused{0};

/// Of scratch, in bytes.
constexpr int64_t kAlignment = 64;

/// Layouts of several tensors in a row: of each the rank, then size and stride of each dimension. Few words compare
/// faster than a call of memcmp takes.
class LayoutWords {
 public:
  LayoutWords() = default;
  explicit LayoutWords(std::span<const StridedLayout> layouts) {
    for (const StridedLayout& layout : layouts) {
      words_.push_back(static_cast<int64_t>(layout.sizes.size()));
      for (size_t d = 0; d < layout.sizes.size(); ++d) {
        words_.push_back(layout.sizes[d]);
        words_.push_back(layout.strides[d]);
      }
    }
  }
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

 private:
  std::vector<int64_t> words_;
};

/// How to call a kernel for inputs of given layouts. Immutable but for the kernel, which may come later.
struct Launch {
  struct Output : StridedLayout {
    size_t bytes;
  };
  LayoutWords inputs;
  std::vector<Output> outputs;
  Sizes sizes;
  std::vector<int64_t> strides;  // per buffer and dimension
  int64_t elements = 1;
  std::vector<codegen::BufferLayout> buffers;  // that the kernel reads
  std::vector<bool> packed;                    // those that are made contiguous first
  std::vector<int64_t> scratch_ends;           // in the memory that a thread has for scratch
  std::shared_ptr<SharedKernel> kernel;        // null if no kernel fits: outputs of several sizes, say
};

class FusedGroup : public CompiledSubgraph {
 public:
  explicit FusedGroup(const Graph& subgraph) : program_(Program::make()), group_(codegen::makeGroup(subgraph)) {
    const std::shared_ptr<Graph> unfused = subgraph.copy();
    if (group_.contracts) formFusionGroupsWithoutProducts(*unfused);
    const auto compile = [](const Node& node) { return compileFused(*node.g(attr::Subgraph)); };
    unfused_ = interpretSubgraph(*unfused, program_->weak_from_this(), compile);
    const auto nodes = subgraph.nodes();
    const auto num_operators = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
      return node->kind() != prim::Constant && !codegen::makesKnownViews(*node);
    });
    if (options::kernels() != KernelMode::Check || num_operators == 1) return;
    const std::shared_ptr<Graph> separate = subgraph.copy();
    outlineEachOperator(*separate);
    separate_ = interpretSubgraph(*separate, program_->weak_from_this(), compile);
  }

  ~FusedGroup() override {
    for (auto& launch : launches_) delete launch.load(std::memory_order_relaxed);
  }

  void call(std::vector<c10::IValue>& stack, size_t num_inputs) const override {
    std::shared_ptr<const Launch> held;
    const Launch* launch = findLaunch(stack.data() + (stack.size() - num_inputs), held);
    const codegen::KernelFunction function = launch && launch->kernel ? launch->kernel->function() : nullptr;
    if (!function) {
      num_unfused.fetch_add(1, std::memory_order_relaxed);
      return unfused_->call(stack, num_inputs);
    }
    num_launches.fetch_add(1, std::memory_order_relaxed);
    if (options::kernels() == KernelMode::Check) return runChecked(*launch, function, stack, num_inputs);
    run(*launch, function, stack, num_inputs);
  }

 private:
  /// Layouts that are found without a lock, and others.
  static constexpr size_t kMaxLaunches = 16, kMaxRecent = 64;

  /// Null for inputs that no kernel takes.
  const Launch* findLaunch(const c10::IValue* inputs, std::shared_ptr<const Launch>& held) const {
    for (size_t i = 0; i < group_.tensors.size(); ++i) {
      const at::Tensor& tensor = inputs[group_.tensors[i]].toTensor();
      if (!tensor.defined() || !hasPlainMemory(tensor) || tensor.scalar_type() != group_.tensor_dtypes[i] ||
          isRecorded(tensor) || carriesTangent(tensor))
        return nullptr;
    }
    for (const auto& slot : launches_) {
      const Launch* launch = slot.load(std::memory_order_acquire);
      if (!launch) break;
      if (fits(*launch, inputs)) return launch;
    }
    return addLaunch(inputs, held);
  }

  bool fits(const Launch& launch, const c10::IValue* inputs) const {
    size_t position = 0;
    return std::all_of(group_.tensors.begin(), group_.tensors.end(), [&](size_t input) {
      return launch.inputs.match(inputs[input].toTensor(), position);
    });
  }

  /// Remembers the layout. Once there are many of them the oldest is forgotten; `held` keeps the launch until then.
  const Launch* addLaunch(const c10::IValue* inputs, std::shared_ptr<const Launch>& held) const {
    const std::lock_guard lock(mutex_);
    for (auto& slot : launches_) {
      const Launch* launch = slot.load(std::memory_order_relaxed);
      if (launch && fits(*launch, inputs)) return launch;
      if (launch) continue;
      launch = new Launch(prepare(inputs));
      slot.store(launch, std::memory_order_release);
      return launch;
    }
    const auto found =
        std::find_if(recent_.begin(), recent_.end(), [&](const auto& launch) { return fits(*launch, inputs); });
    if (found != recent_.end()) {
      std::rotate(recent_.begin(), found, found + 1);
    } else {
      if (recent_.size() == kMaxRecent) recent_.pop_back();
      recent_.insert(recent_.begin(), std::make_shared<const Launch>(prepare(inputs)));
    }
    held = recent_.front();
    return held.get();
  }

  Launch prepare(const c10::IValue* inputs) const {
    Launch launch;
    std::vector<at::Tensor> tensors;
    std::vector<StridedLayout> layouts;
    for (const size_t input : group_.tensors) {
      const at::Tensor& tensor = tensors.emplace_back(inputs[input].toTensor());
      layouts.push_back(
          {Sizes(tensor.sizes().begin(), tensor.sizes().end()),
           Sizes(tensor.strides().begin(), tensor.strides().end())});
    }
    launch.inputs = LayoutWords(layouts);
    auto buffers = codegen::layoutsOfBuffers(group_, tensors);
    auto schedule = buffers ? codegen::scheduleGroup(group_, *buffers) : std::nullopt;
    if (!schedule) return launch;
    launch.buffers = std::move(*buffers);
    for (size_t i = 0; i < schedule->outputs.size(); ++i) {
      StridedLayout& layout = schedule->outputs[i];
      const size_t element = c10::elementSize(group_.body.outputs[i]);
      const size_t bytes = at::detail::computeStorageNbytes(layout.sizes, layout.strides, element);
      launch.outputs.push_back({std::move(layout), bytes});
    }
    launch.packed = std::move(schedule->packed);
    launch.sizes = schedule->nest.sizes;
    for (const int64_t size : launch.sizes) launch.elements *= size;
    for (const Sizes& strides : schedule->nest.strides)
      launch.strides.insert(launch.strides.end(), strides.begin(), strides.end());
    int64_t end = 0;
    for (const codegen::Buffer& scratch : schedule->kernel.scratch) {
      const int64_t size = codegen::scratchSize(schedule->kernel, scratch, launch.sizes.back());
      launch.scratch_ends.push_back(end += (size + kAlignment - 1) / kAlignment * kAlignment);
    }
    launch.kernel = sharedKernel(std::move(schedule->kernel), options::kernels() != KernelMode::Background);
    return launch;
  }

  void run(const Launch& launch, codegen::KernelFunction function, std::vector<c10::IValue>& stack, size_t num_inputs)
      const {
    const size_t first = stack.size() - num_inputs;
    c10::SmallVector<void*, 16> buffers;
    c10::SmallVector<uint64_t, 8> numbers;
    c10::SmallVector<at::Tensor, 2> packed;
    for (size_t i = 0; i < group_.buffers.size(); ++i) {
      const at::Tensor& tensor = stack[first + group_.tensors[group_.buffers[i].tensor]].toTensor();
      const codegen::BufferLayout& layout = launch.buffers[i];
      if (launch.packed[i]) {
        packed.push_back(packedCopy(tensor, layout));
        buffers.push_back(packed.back().mutable_data_ptr());
      } else {
        buffers.push_back(static_cast<std::byte*>(const_cast<void*>(tensor.const_data_ptr())) + layout.offset);
      }
    }
    for (const size_t input : group_.numbers) numbers.push_back(wordOf(stack[first + input]));
    c10::SmallVector<at::Tensor, 4> outputs;
    for (size_t i = 0; i < launch.outputs.size(); ++i) {
      const Launch::Output& output = launch.outputs[i];
      outputs.push_back(newTensor(output.sizes, output.strides, group_.body.outputs[i], output.bytes));
      buffers.push_back(outputs.back().mutable_data_ptr());
    }
    const auto runPart = [&](int64_t begin, int64_t end) {
      if (!launch.scratch_ends.empty()) {
        std::vector<void*> own(buffers.begin(), buffers.end());
        addScratch(launch, own);
        return function(own.data(), launch.sizes.data(), launch.strides.data(), numbers.data(), begin, end);
      }
      function(buffers.data(), launch.sizes.data(), launch.strides.data(), numbers.data(), begin, end);
    };
    if (launch.elements < kElementsPerThread || at::in_parallel_region() || at::get_num_threads() == 1) {
      runPart(0, launch.sizes[0]);
    } else {
      const int64_t inner = launch.elements / launch.sizes[0];
      at::parallel_for(0, launch.sizes[0], std::max<int64_t>(1, kElementsPerThread / inner), runPart);
    }
    stack.resize(first);
    for (at::Tensor& output : outputs) stack.emplace_back(std::move(output));
  }

  static at::Tensor packedCopy(const at::Tensor& tensor, const codegen::BufferLayout& layout) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const int64_t offset = tensor.storage_offset() + layout.offset / tensor.itemsize();
    return tensor.as_strided(layout.sizes, layout.strides, offset).contiguous();
  }

  /// Memory of the calling thread.
  static void addScratch(const Launch& launch, std::vector<void*>& buffers) {
    thread_local c10::DataPtr memory;
    thread_local int64_t capacity = 0;
    if (capacity < launch.scratch_ends.back()) {
      memory = c10::GetCPUAllocator()->allocate(static_cast<size_t>(launch.scratch_ends.back()));
      capacity = launch.scratch_ends.back();
    }
    int64_t begin = 0;
    for (const int64_t end : launch.scratch_ends)
      buffers.push_back(static_cast<std::byte*>(memory.get()) + std::exchange(begin, end));
  }

  static uint64_t wordOf(const c10::IValue& number) {
    if (number.isDouble()) return std::bit_cast<uint64_t>(number.toDouble());
    return number.isBool() ? uint64_t{number.toBool()} : static_cast<uint64_t>(number.toInt());
  }

  void runChecked(
      const Launch& launch, codegen::KernelFunction function, std::vector<c10::IValue>& stack,
      size_t num_inputs) const {
    const std::vector<c10::IValue> inputs(stack.end() - static_cast<std::ptrdiff_t>(num_inputs), stack.end());
    std::vector<c10::IValue> expected = inputs;
    if (separate_) {
      separate_->call(expected, num_inputs);
    } else {
      const WithoutOperatorKernels by_aten;
      unfused_->call(expected, num_inputs);
    }
    run(launch, function, stack, num_inputs);
    const size_t first = stack.size() - expected.size();
    for (size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor &a = stack[first + i].toTensor(), &b = expected[i].toTensor();
      const bool same_kind = a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides();
      const std::string difference = same_kind ? firstDifference(a, b, toleranceOf(a, inputs)) : "layout";
      CRESSET_CHECK(
          difference.empty(), "a kernel differs from its operators (output " + std::to_string(i) + ", " + difference +
                                  "):\n" + launch.kernel->kernel().toString());
    }
  }

  /// By how much an output may differ from what the operators compute.
  struct Tolerance {
    int64_t ulps = 0;
    double absolute = 0;
  };

  /// None but for an operator whose kernel has not ATen's bits, and is compared with ATen.
  Tolerance toleranceOf(const at::Tensor& output, const std::vector<c10::IValue>& inputs) const {
    if (separate_ || group_.is_exact || !output.is_floating_point()) return {};
    constexpr int64_t kUlps = 4;
    // ATen's functions give 0 for some values that are not normal numbers.
    if (!group_.reduces) {
      return {kUlps, output.scalar_type() == at::kDouble ? std::numeric_limits<double>::min() : 0x1p-126};
    }
    // Sums of squares are the largest of what reductions add up; errors of adding n numbers grow with n.
    double largest = 1;
    int64_t count = 1;
    for (const size_t input : group_.tensors) {
      const at::Tensor finite = inputs[input].toTensor().to(at::kDouble).nan_to_num(0, 0, 0).abs();
      if (finite.numel() > 0) largest = std::max(largest, finite.max().item<double>());
      count = std::max(count, finite.numel());
    }
    const at::ScalarType dtype = codegen::registerType(output.scalar_type());
    const double epsilon = dtype == at::kFloat ? 0x1p-23 : 0x1p-52;
    const double rounding = dtype == output.scalar_type() ? 0 : output.scalar_type() == at::kHalf ? 0x1p-10 : 0x1p-7;
    // Products of half precision are rounded to it again and again by ATen.
    const bool multiplies = std::any_of(group_.body.code.begin(), group_.body.code.end(), [](const auto& instruction) {
      return instruction.opcode == codegen::Opcode::Prod;
    });
    if (multiplies && rounding > 0) return {kUlps, std::numeric_limits<double>::infinity()};
    const double magnitude = std::max(output.to(at::kDouble).nan_to_num(0, 0, 0).abs().max().item<double>(), 1e-300);
    return {
        kUlps, epsilon * (1024 + 8 * static_cast<double>(count)) * std::max(largest * largest, magnitude) +
                   rounding * magnitude};
  }

  /// Empty if the values are the same, or near enough. NaNs count as equal.
  static std::string firstDifference(const at::Tensor& a, const at::Tensor& b, const Tolerance& tolerance) {
    at::Tensor differing = bitsOf(a).ne(bitsOf(b)).logical_and_(a.eq(a).logical_or_(b.eq(b)));
    if (tolerance.ulps > 0) {
      differing.logical_and_(bitsOf(a).sub(bitsOf(b)).abs_().gt(tolerance.ulps))
          .logical_and_(a.eq(0).logical_and_(b.eq(0)).logical_not_());
    }
    if (tolerance.absolute > 0)
      differing.logical_and_(a.to(at::kDouble).sub(b.to(at::kDouble)).abs().le(tolerance.absolute).logical_not());
    const at::Tensor differs = differing.nonzero();
    if (differs.size(0) == 0) return "";
    std::vector<int64_t> index;
    at::Tensor found = a, expected = b;
    for (int64_t d = 0; d < a.dim(); ++d) {
      index.push_back(differs.select(0, 0)[d].item<int64_t>());
      found = found.select(0, index.back()), expected = expected.select(0, index.back());
    }
    std::ostringstream text;
    text.precision(17);
    text << differs.size(0) << " values; at " << c10::IntArrayRef(index) << ' ' << found.item<double>() << ", not "
         << expected.item<double>();
    return text.str();
  }

  static at::Tensor bitsOf(const at::Tensor& tensor) {
    if (!tensor.is_floating_point()) return tensor;
    return tensor.contiguous().view(
        tensor.element_size() == 8   ? at::kLong
        : tensor.element_size() == 4 ? at::kInt
                                     : at::kShort);
  }

  const std::shared_ptr<Program> program_;
  const codegen::Group group_;
  std::shared_ptr<const CompiledSubgraph> unfused_;
  std::shared_ptr<const CompiledSubgraph> separate_;  // a kernel per operator; if they are checked
  mutable std::mutex mutex_;                          // of writers
  mutable std::array<std::atomic<const Launch*>, kMaxLaunches> launches_{};
  mutable std::vector<std::shared_ptr<const Launch>> recent_;  // the last that was asked for first
};

}  // namespace

void waitForCompilation() {
  waitForKernels();
}

KernelCounts kernelCounts() {
  return {
      numCompiledKernels(), num_launches.load(std::memory_order_relaxed), num_unfused.load(std::memory_order_relaxed),
      numOperatorKernelCalls()};
}

std::shared_ptr<const CompiledSubgraph> compileFused(const Graph& subgraph) {
  return std::make_shared<FusedGroup>(subgraph);
}

}  // namespace cresset
