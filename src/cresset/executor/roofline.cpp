#include "cresset/executor/roofline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "cresset/codegen/kernel_builder.h"
#include "cresset/codegen/loops.h"
#include "cresset/executor/kernel_cache.h"

namespace cresset {

namespace {

double flopsOf(const codegen::Instruction& instruction) {
  if (!codegen::isFloating(instruction.type)) return 0;
  switch (instruction.opcode) {
    case codegen::Opcode::Fma:
    case codegen::Opcode::Dot:
      return 2;
    default:
      break;
  }
  const bool accumulates = codegen::isReduction(instruction.opcode);
  const bool computes = instruction.opcode >= codegen::Opcode::Add && instruction.opcode <= codegen::Opcode::Scale;
  const bool adds = instruction.opcode == codegen::Opcode::AddTo;
  return accumulates || computes || adds ? 1 : 0;
}

/// Measured rates of one core.
struct CoreRates {
  struct Reading {
    double bytes;           // that are read again and again
    double per_nanosecond;  // bytes
  };
  std::vector<Reading> readings;  // from small to large
  double flops_per_nanosecond = 0;
};

/// The least time of a few calls, in nanoseconds.
template <typename F>
double leastTime(int rounds, const F& call) {
  double least = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    least = i == 0 ? time.count() : std::min(least, time.count());
  }
  return least;
}

/// Calls a kernel of one input and one output, both of floats.
class Probe {
 public:
  Probe(const std::vector<codegen::Instruction>& code, const codegen::LoopNest& nest) : nest_(nest) {
    kernel_ = sharedKernel(
        codegen::makeKernel({{at::kFloat}, {at::kFloat}, {}, code, {}}, nest, /*keeps=*/false), /*now=*/true);
    for (const codegen::Sizes& strides : nest_.strides) strides_.insert(strides_.end(), strides.begin(), strides.end());
  }

  bool isReady() const { return kernel_->function() != nullptr; }

  void call(const float* input, float* output) const {
    const std::array<void*, 2> buffers = {const_cast<float*>(input), output};
    kernel_->function()(buffers.data(), nest_.sizes.data(), strides_.data(), nullptr, 0, nest_.sizes[0]);
  }

 private:
  const codegen::LoopNest nest_;
  std::shared_ptr<SharedKernel> kernel_;
  std::vector<int64_t> strides_;
};

constexpr std::array<at::ScalarType, 2> kFloats = {at::kFloat, at::kFloat};

void measureReading(CoreRates& rates) {
  constexpr int64_t kBytes = sizeof(float);
  constexpr std::array<int64_t, 5> kSizes = {4 << 10, 64 << 10, 512 << 10, 4 << 20, 8 << 20};  // elements
  constexpr int64_t kReads = 8 << 20;
  std::vector<float> input(static_cast<size_t>(kSizes.back()), 1.0F);
  std::vector<float> output(1);
  codegen::KernelBuilder builder;
  builder.store(1, builder.add(codegen::Opcode::Sum, builder.load(0, at::kFloat)));
  for (const int64_t size : kSizes) {
    const codegen::ReducedDims reduced = {{size, {kBytes, 0}}};
    const auto nest = codegen::makeLoopNest({}, std::span(&reduced, 1), /*contracts=*/false, kFloats, 1);
    if (!nest) return;
    const Probe probe(builder.code(), *nest);
    if (!probe.isReady()) return;
    const auto repeats = kReads / size;
    const double time = leastTime(4, [&] {
      for (int64_t i = 0; i < repeats; ++i) probe.call(input.data(), output.data());
    });
    const auto bytes = static_cast<double>(size * kBytes);
    rates.readings.push_back({bytes, bytes * static_cast<double>(repeats) / time});
  }
  // A rate that a busy machine spoilt: smaller memory is not slower.
  for (size_t i = rates.readings.size(); i-- > 1;) {
    rates.readings[i - 1].per_nanosecond =
        std::max(rates.readings[i - 1].per_nanosecond, rates.readings[i].per_nanosecond);
  }
}

void measureComputing(CoreRates& rates) {
  // Each element goes through chains that do not wait for each other.
  constexpr int64_t kSize = 4096;
  constexpr int kChains = 8, kLength = 32, kRepeats = 16;
  codegen::KernelBuilder builder;
  const codegen::Register x = builder.load(0, at::kFloat);
  std::array<codegen::Register, kChains> chains{};
  for (int k = 0; k < kChains; ++k)
    chains[size_t(k)] = builder.add(codegen::Opcode::Add, x, builder.constant(at::kFloat, 0.5 + k));
  for (int i = 0; i < kLength; ++i) {
    for (auto& chain : chains) chain = builder.add(codegen::Opcode::Fma, chain, x, chain);
  }
  codegen::Register sum = chains[0];
  for (size_t k = 1; k < chains.size(); ++k) sum = builder.add(codegen::Opcode::Add, sum, chains[k]);
  builder.store(1, sum);
  const std::vector<codegen::LoopDim> dims = {{kSize, {sizeof(float), sizeof(float)}}};
  const auto nest = codegen::makeLoopNest(dims, {}, /*contracts=*/false, kFloats, 1);
  if (!nest) return;
  const Probe probe(builder.code(), *nest);
  if (!probe.isReady()) return;
  const std::vector<float> input(kSize, 0.0F);
  std::vector<float> output(kSize);
  const double time = leastTime(8, [&] {
    for (int i = 0; i < kRepeats; ++i) probe.call(input.data(), output.data());
  });
  rates.flops_per_nanosecond = 2.0 * kChains * kLength * kSize * kRepeats / time;
}

const CoreRates& coreRates() {
  static const CoreRates rates = [] {
    CoreRates measured;
    measureReading(measured);
    measureComputing(measured);
    return measured;
  }();
  return rates;
}

}  // namespace

KernelWork workOf(const codegen::Kernel& kernel, std::span<const int64_t> sizes) {
  KernelWork work;
  const size_t num_buffers = kernel.inputs.size() + kernel.outputs.size();
  std::vector<double> read(num_buffers);  // elements by index
  std::vector<double> iterations = {1};
  const std::vector<size_t> rare = codegen::rareInstructions(kernel);
  for (size_t number = 0; number < kernel.code.size(); ++number) {
    const codegen::Instruction& instruction = kernel.code[number];
    if (rare[number] != codegen::kNotRare) continue;
    if (instruction.opcode == codegen::Opcode::For) {
      const auto size = static_cast<double>(sizes[instruction.immediate]);
      // A loop from one bound to the next: all of them together go over the dimension once.
      const double outer =
          codegen::hasBounds(instruction) ? iterations.back() / static_cast<double>(sizes[0]) : iterations.back();
      iterations.push_back(outer * size);
    } else if (instruction.opcode == codegen::Opcode::End) {
      iterations.pop_back();
    } else {
      if (instruction.opcode == codegen::Opcode::Read && instruction.immediate < num_buffers)
        read[instruction.immediate] += iterations.back();
      if (instruction.opcode == codegen::Opcode::AddTo) read[instruction.immediate] += 2 * iterations.back();
      work.flops += iterations.back() * flopsOf(instruction);
    }
  }
  for (size_t i = 0; i < num_buffers; ++i) {
    const codegen::Buffer& buffer = kernel.buffer(i);
    double elements = 1;
    for (size_t d = 0; d < buffer.steps.size(); ++d) {
      if (buffer.steps[d] != codegen::Step::None) elements *= static_cast<double>(sizes[d]);
    }
    work.bytes += (read[i] > 0 ? read[i] : elements) * static_cast<double>(c10::elementSize(buffer.dtype));
  }
  return work;
}

TimeLimit timeLimit(const KernelWork& work) {
  const CoreRates& rates = coreRates();
  TimeLimit limit;
  if (rates.readings.empty() || rates.flops_per_nanosecond == 0) return limit;
  const auto fits = std::find_if(
      rates.readings.begin(), rates.readings.end(), [&](const auto& reading) { return work.bytes <= reading.bytes; });
  const auto& reading = fits == rates.readings.end() ? rates.readings.back() : *fits;
  const double moving = work.bytes / reading.per_nanosecond, computing = work.flops / rates.flops_per_nanosecond;
  limit.by_memory = moving >= computing;
  limit.nanoseconds = std::max(moving, computing);
  return limit;
}

}  // namespace cresset
