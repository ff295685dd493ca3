#include "cresset/executor/launch.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <utility>

#include "cresset/executor/memory_planner.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/ops/own_memory.h"

namespace cresset {

namespace {

using codegen::Place;

constexpr size_t kAlignment = MemoryPlan::kAlignment;

/// Memory of the calling thread, which it keeps.
class ThreadMemory {
 public:
  std::byte* get(size_t bytes) {
    if (capacity_ < bytes) {
      memory_ = c10::GetCPUAllocator()->allocate(bytes);
      capacity_ = bytes;
    }
    return static_cast<std::byte*>(memory_.get());
  }

 private:
  c10::DataPtr memory_;
  size_t capacity_ = 0;
};

uint64_t wordOf(const c10::IValue& number) {
  if (number.isDouble()) return std::bit_cast<uint64_t>(number.toDouble());
  return number.isBool() ? uint64_t{number.toBool()} : static_cast<uint64_t>(number.toInt());
}

}  // namespace

LayoutWords::LayoutWords(std::span<const at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors) {
    words_.push_back(tensor.dim());
    for (int64_t d = 0; d < tensor.dim(); ++d) {
      words_.push_back(tensor.sizes()[d]);
      words_.push_back(tensor.strides()[d]);
    }
  }
}

std::string LayoutWords::sizesToString() const {
  std::string text;
  for (size_t i = 0; i < words_.size();) {
    const auto rank = static_cast<size_t>(words_[i++]);
    if (!text.empty()) text += ", ";
    if (rank == 0) text += "scalar";
    for (size_t d = 0; d < rank; ++d) text += (d ? "x" : "") + std::to_string(words_[i + 2 * d]);
    i += 2 * rank;
  }
  return text;
}

Launch::Launch(const codegen::Sequence& sequence, std::span<const at::Tensor> tensors, bool now) : layouts_(tensors) {
  codegen::SequenceSchedule schedule = codegen::scheduleSequence(sequence, tensors);
  refused_ = schedule.refused;
  if (schedule.calls.empty()) return;
  for (size_t i = 0; i < schedule.outputs.size(); ++i) {
    codegen::StridedLayout& layout = schedule.outputs[i];
    const at::ScalarType dtype = sequence.dtypes[sequence.outputs[i]];
    const size_t bytes = at::detail::computeStorageNbytes(layout.sizes, layout.strides, c10::elementSize(dtype));
    outputs_.push_back({std::move(layout), dtype, bytes});
  }
  const std::vector<Temporary> temporaries = planTemporaries(schedule.calls, schedule.temporaries);
  const std::array<size_t, 3> bases = {0, tensors.size(), tensors.size() + outputs_.size()};
  for (codegen::KernelCall& call : schedule.calls) addStep(std::move(call), bases, now);
  for (size_t i = 0; kPoisonsMemory && i < temporaries.size(); ++i) {
    const Temporary& one = temporaries[i];
    for (size_t step = one.first; step <= one.last; ++step)
      steps_[step].temporaries.push_back({offsets_[i], schedule.temporaries[i]});
  }
  least_times_ = std::vector<std::atomic<int64_t>>(steps_.size());
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    for (size_t output = 0; output < outputs_.size(); ++output)
      may_overwrite_.push_back(mayOverwrite(tensor, output, tensors.size()));
  }
}

bool Launch::mayOverwrite(size_t tensor, size_t output, size_t num_tensors) const {
  const auto mayFail = [](const Step& step) {
    const auto& code = step.kernel->kernel().code;
    return std::any_of(
        code.begin(), code.end(), [](const auto& instruction) { return instruction.opcode == codegen::Opcode::Index; });
  };
  if (std::any_of(steps_.begin(), steps_.end(), mayFail)) return false;
  const auto uses = [](const Step& step, size_t base) {
    return std::any_of(step.buffers.begin(), step.buffers.end(), [&](const Buffer& b) { return b.base == base; });
  };
  bool is_written = false;
  for (const Step& step : steps_) {
    const bool reads = uses(step, tensor), writes = uses(step, num_tensors + output);
    if (reads && (is_written || (writes && !readsBeforeItWrites(step, tensor, num_tensors + output)))) return false;
    is_written |= writes;
  }
  return true;
}

/// Where both buffers go along in the one nest of loops, an iteration touches the same element of each, or the same few
/// of a vector. Loads come as the kernel's text has them: nothing that compiles it is told that buffers don't overlap.
bool Launch::readsBeforeItWrites(const Step& step, size_t tensor, size_t output) {
  const codegen::Kernel& kernel = step.kernel->kernel();
  const auto is = [](codegen::Opcode opcode) {
    return [opcode](const codegen::Instruction& instruction) { return instruction.opcode == opcode; };
  };
  const auto& code = kernel.code;
  if (kernel.num_reduced > 0 || !kernel.scratch.empty() ||
      std::count_if(code.begin(), code.end(), is(codegen::Opcode::For)) !=
          static_cast<std::ptrdiff_t>(kernel.num_dims) ||
      std::any_of(code.begin(), code.end(), is(codegen::Opcode::Previous)))
    return false;
  const auto goAlong = [&](size_t a, size_t b) {
    const auto strides = [&](size_t i) {
      return step.strides.begin() + static_cast<std::ptrdiff_t>(i * kernel.num_dims);
    };
    return step.buffers[a].offset == step.buffers[b].offset &&
           c10::elementSize(kernel.buffer(a).dtype) == c10::elementSize(kernel.buffer(b).dtype) &&
           std::equal(strides(a), strides(a + 1), strides(b));
  };
  std::vector<bool> is_written(step.buffers.size());
  for (const codegen::Instruction& instruction : code) {
    const auto buffer = static_cast<size_t>(instruction.immediate);
    const bool stores = instruction.opcode == codegen::Opcode::Store;
    const bool loads = instruction.opcode == codegen::Opcode::Load || instruction.opcode == codegen::Opcode::Read ||
                       instruction.opcode == codegen::Opcode::Where;
    if (stores) is_written[buffer] = true;
    if (!loads || step.buffers[buffer].base != tensor) continue;
    for (size_t other = 0; other < step.buffers.size(); ++other) {
      if (step.buffers[other].base != output) continue;
      if (instruction.opcode != codegen::Opcode::Load || is_written[other] || !goAlong(buffer, other)) return false;
    }
  }
  return true;
}

bool Launch::overwritesOnlyWhatItMay(std::span<std::byte* const> bases) const {
  const size_t num_tensors = may_overwrite_.size() / outputs_.size();
  for (size_t tensor = 0; tensor < num_tensors; ++tensor) {
    for (size_t output = 0; output < outputs_.size(); ++output) {
      if (bases[tensor] == bases[num_tensors + output] && !may_overwrite_[tensor * outputs_.size() + output])
        return false;
    }
  }
  return true;
}

std::vector<Temporary> Launch::planTemporaries(
    const std::vector<codegen::KernelCall>& calls, std::span<const size_t> bytes) {
  std::vector<Temporary> temporaries;
  for (const size_t size : bytes) temporaries.push_back({size + kPoisonedBytes, calls.size(), 0});
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const Place& place : calls[i].buffers) {
      if (place.memory != Place::Memory::Temporary) continue;
      Temporary& temporary = temporaries[place.index];
      temporary.first = std::min(temporary.first, i);
      temporary.last = i;
    }
  }
  MemoryPlan plan = planMemory(temporaries);
  offsets_ = std::move(plan.offsets);
  temporary_bytes_ = plan.bytes;
  return temporaries;
}

void Launch::addStep(codegen::KernelCall call, std::span<const size_t> bases, bool now) {
  Step step;
  step.item = call.item;
  step.sizes = call.nest.sizes;
  step.elements = 1;
  for (const int64_t size : step.sizes) step.elements *= size;
  for (const codegen::Sizes& strides : call.nest.strides)
    step.strides.insert(step.strides.end(), strides.begin(), strides.end());
  for (const Place& place : call.buffers) {
    if (place.memory == Place::Memory::Temporary) {
      step.buffers.push_back({bases[2], static_cast<int64_t>(offsets_[place.index]) + place.offset});
    } else {
      step.buffers.push_back({bases[static_cast<size_t>(place.memory)] + place.index, place.offset});
    }
  }
  step.numbers = std::move(call.numbers);
  step.more_numbers = std::move(call.more_numbers);
  for (const codegen::Buffer& scratch : call.kernel.scratch) {
    const auto size = static_cast<size_t>(codegen::scratchSize(call.kernel, scratch, step.sizes.back()));
    step.scratch.push_back({step.scratch_bytes, size});
    step.scratch_bytes += (size + kPoisonedBytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  step.is_divisible = call.kernel.isDivisible();
  step.kernel = sharedKernel(std::move(call.kernel), now);
  steps_.push_back(std::move(step));
}

bool Launch::isReady() const {
  return !steps_.empty() &&
         std::all_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.kernel->function() != nullptr; });
}

/// Whether the output would be in the tensor's place as if it had been made anew. Memory that comes from elsewhere than
/// an allocator (a file, a user's) is not to be written to.
static bool isAs(const at::Tensor& tensor, const codegen::StridedLayout& layout, at::ScalarType dtype, size_t bytes) {
  return tensor.scalar_type() == dtype && tensor.sizes() == c10::IntArrayRef(layout.sizes) &&
         tensor.strides() == c10::IntArrayRef(layout.strides) && tensor.storage_offset() == 0 &&
         tensor.storage().nbytes() == bytes && tensor.storage().resizable() && !tensor.requires_grad() &&
         tensor.is_inference() == c10::InferenceMode::is_enabled();
}

void Launch::takePlaces(
    const codegen::Sequence& sequence, const c10::IValue* inputs, const std::vector<bool>& are_new,
    std::span<at::Tensor> outputs) const {
  for (size_t i = 0; i < sequence.tensors.size(); ++i) {
    if (!are_new[sequence.tensors[i]]) continue;
    const at::Tensor& tensor = inputs[sequence.tensors[i]].toTensor();
    for (size_t output = 0; output < outputs.size(); ++output) {
      const Output& own = outputs_[output];
      if (outputs[output].defined() || !may_overwrite_[i * outputs.size() + output] ||
          !isAs(tensor, own, own.dtype, own.bytes) || !isOwn(tensor))
        continue;
      outputs[output] = tensor;
      break;
    }
  }
}

bool Launch::run(
    const codegen::Sequence& sequence, std::vector<c10::IValue>& stack, size_t num_inputs,
    const std::vector<bool>& are_new) const {
  const size_t first = stack.size() - num_inputs;
  c10::SmallVector<at::Tensor, 4> outputs(outputs_.size());
  takePlaces(sequence, stack.data() + first, are_new, outputs);
  c10::SmallVector<at::Tensor*, 4> places;
  for (at::Tensor& output : outputs) places.push_back(&output);
  if (!runInto(sequence, stack.data() + first, places)) return false;
  stack.resize(first);
  for (at::Tensor& output : outputs) stack.emplace_back(std::move(output));
  return true;
}

void Launch::giveLayout(const Output& output, at::Tensor& tensor) {
  if (!tensor.defined()) {
    tensor = newTensor(output.sizes, output.strides, output.dtype, output.bytes);
    return;
  }
  if (tensor.sizes() != c10::IntArrayRef(output.sizes) || tensor.strides() != c10::IntArrayRef(output.strides))
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(output.sizes, output.strides);
  makeRoom(tensor, output.bytes);
}

bool Launch::runInto(
    const codegen::Sequence& sequence, const c10::IValue* inputs, std::span<at::Tensor* const> outputs) const {
  constexpr size_t kMaxKept = size_t{4} << 20;
  c10::SmallVector<std::byte*, 24> bases;
  for (const size_t input : sequence.tensors)
    bases.push_back(static_cast<std::byte*>(const_cast<void*>(inputs[input].toTensor().const_data_ptr())));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    giveLayout(outputs_[i], *outputs[i]);
    bases.push_back(static_cast<std::byte*>(outputs[i]->mutable_data_ptr()));
  }
  if (!overwritesOnlyWhatItMay(bases)) return false;
  c10::DataPtr memory;
  if (temporary_bytes_ > kMaxKept) {
    memory = c10::GetCPUAllocator()->allocate(temporary_bytes_);
    bases.push_back(static_cast<std::byte*>(memory.get()));
  } else if (temporary_bytes_ > 0) {
    static thread_local ThreadMemory kept;
    bases.push_back(kept.get(temporary_bytes_));
  }
  return runSteps(bases, inputs);
}

bool Launch::runSteps(std::span<std::byte* const> bases, const c10::IValue* inputs) const {
  constexpr uint64_t kTimedOneIn = 32;
  if (num_calls_.fetch_add(1, std::memory_order_relaxed) % kTimedOneIn != kTimedOneIn / 4) {
    return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) { return runStep(step, bases, inputs); });
  }
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const auto start = Clock::now();
    if (!runStep(steps_[i], bases, inputs)) return false;
    const int64_t time = std::chrono::nanoseconds(Clock::now() - start).count();
    int64_t least = least_times_[i].load(std::memory_order_relaxed);
    while ((least == 0 || time < least) &&
           !least_times_[i].compare_exchange_weak(least, time, std::memory_order_relaxed)) {
    }
  }
  return true;
}

bool Launch::runStep(const Step& step, std::span<std::byte* const> bases, const c10::IValue* inputs) const {
  c10::SmallVector<void*, 16> buffers;
  c10::SmallVector<uint64_t, 8> numbers;
  for (const Buffer& buffer : step.buffers) buffers.push_back(bases[buffer.base] + buffer.offset);
  for (const size_t input : step.numbers) numbers.push_back(wordOf(inputs[input]));
  for (const int64_t number : step.more_numbers) numbers.push_back(static_cast<uint64_t>(number));
  const codegen::KernelFunction function = step.kernel->function();
  if (temporary_bytes_ > 0) poisonAround(bases.back(), temporary_bytes_, step.temporaries);
  std::atomic<bool> failed{false};
  const auto call = [&](void* const* own, int64_t begin, int64_t end) {
    if (function(own, step.sizes.data(), step.strides.data(), numbers.data(), begin, end) != 0)
      failed.store(true, std::memory_order_relaxed);
  };
  const auto runPart = [&](int64_t begin, int64_t end) {
    if (!step.scratch.empty()) {
      static thread_local ThreadMemory kept;
      std::byte* scratch = kept.get(step.scratch_bytes);
      poisonAround(scratch, step.scratch_bytes, step.scratch);
      c10::SmallVector<void*, 16> own(buffers.begin(), buffers.end());
      for (const MemoryPiece& piece : step.scratch) own.push_back(scratch + piece.offset);
      return call(own.data(), begin, end);
    }
    call(buffers.data(), begin, end);
  };
  if (!step.is_divisible || step.elements < kElementsPerThread || at::in_parallel_region() ||
      at::get_num_threads() == 1) {
    runPart(0, step.sizes[0]);
  } else {
    const int64_t inner = step.elements / step.sizes[0];
    at::parallel_for(0, step.sizes[0], std::max<int64_t>(1, kElementsPerThread / inner), runPart);
  }
  return !failed.load(std::memory_order_relaxed);
}

Launch::Report Launch::report(const codegen::Sequence& sequence) const {
  Report report{layouts_.sizesToString(), num_calls_.load(std::memory_order_relaxed), {}};
  report.items.resize(sequence.items.size());
  std::vector<double> by_memory(report.items.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    ItemReport& item = report.items[steps_[i].item];
    const KernelWork work = workOf(steps_[i].kernel->kernel(), steps_[i].sizes);
    item.work.bytes += work.bytes;
    item.work.flops += work.flops;
    item.nanoseconds += static_cast<double>(least_times_[i].load(std::memory_order_relaxed));
    const TimeLimit limit = timeLimit(work);
    item.limit += limit.nanoseconds;
    if (limit.by_memory) by_memory[steps_[i].item] += limit.nanoseconds;
    item.by_memory = 2 * by_memory[steps_[i].item] >= item.limit;
  }
  return report;
}

std::string Launch::toString() const {
  std::string text;
  for (const Step& step : steps_) text += step.kernel->kernel().toString();
  return text;
}

}  // namespace cresset
