// Calls of out variants.
#include "cresset/interpreter/out_variant.h"

#include <c10/util/SmallVector.h>
#include <c10/util/safe_numerics.h>

#include <array>

#include "cresset/interpreter/operation_times.h"
#include "cresset/interpreter/run.h"
#include "cresset/support/error.h"

namespace cresset {

at::Tensor& OutArguments::resized(size_t i, c10::IntArrayRef sizes) const {
  at::Tensor& tensor = *outputs_[i];
  if (!tensor.defined()) return tensor;
  uint64_t count = 0, bytes = 0;
  const bool is_too_much =
      c10::safe_multiplies_u64(sizes, &count) || c10::mul_overflows(count, uint64_t(tensor.itemsize()), &bytes);
  // What has no elements has strides of which kernels have views of their own.
  if (!is_too_much && bytes > 0 && bytes <= tensor.unsafeGetTensorImpl()->unsafe_storage().nbytes()) {
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    return tensor;
  }
  return output(i);
}

/// Most calls compute one result into a slot, and nothing else is to be done.
void Run::callOut(const Instruction& instruction) {
  constexpr size_t kFewInputs = 8;
  const Frame& frame = frames_.back();
  const Code& code = *frame.code;
  const OutSite& site = code.out_sites[instruction.b];
  const size_t count = instruction.c;
  if (instruction.n != 1 || count > kFewInputs || site.has_own || memory_->isWatched() || times_) [[unlikely]]
    return callAnyOut(instruction);
  if (site.turns) [[unlikely]]
    memory_->turn(site.slots[0]);
  const uint32_t* results = code.pool.data() + instruction.a;
  std::array<const c10::IValue*, kFewInputs> inputs;
  c10::IValue* regs = registers_.data() + frame.base;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t operand = results[1 + i], index = operand & kIndexMask;
    inputs[i] = operand & kBorrowedBit   ? &memory_->borrowed(index)
                : operand & kConstantBit ? &code.constants[index]
                                         : &regs[index];
  }
  at::Tensor* output = &memory_->slot(site.slots[0]);
  if (!site.variant->call(OutArguments({inputs.data(), count}, {&output, 1}), stack_)) [[unlikely]]
    return popOutResults(results, 1);
  if (!(results[0] & kBorrowedBit))  // nor kNoRegister
    new (registers_.data() + frames_.back().base + results[0]) c10::IValue(*output);
}

void Run::callAnyOut(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const OutSite& site = code.out_sites[instruction.b];
  const uint32_t* results = code.pool.data() + instruction.a;
  const uint32_t num_results = instruction.n;
  const BorrowedOperands inputs = borrowOperands(results + num_results, instruction.c);
  if (memory_->isWatched()) [[unlikely]]
    memory_->beforeCall(site.index);
  c10::SmallVector<at::Tensor, 2> own;  // results that lie in no slot
  c10::SmallVector<at::Tensor*, 4> outputs;
  outputs.resize_for_overwrite(num_results);
  if (site.has_own) [[unlikely]]
    own.reserve(num_results);
  for (uint32_t i = 0; site.turns && i < num_results; ++i) {
    if (site.slots[i] != OutSite::kNoSlot && !site.keeps[i]) memory_->turn(site.slots[i]);
  }
  for (uint32_t i = 0; i < num_results; ++i)
    outputs[i] = site.slots[i] == OutSite::kNoSlot ? &own.emplace_back() : &memory_->slot(site.slots[i]);
  const OutArguments arguments(inputs, outputs);
  const OperationTimes::Operation timed(times_, code, instruction);
  const bool in_place = site.variant->call(arguments, stack_);
  timed.end();
  if (!in_place) return popOutResults(results, num_results);
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < num_results; ++i) {
    if (!(results[i] & kBorrowedBit)) new (&regs[results[i]]) c10::IValue(*outputs[i]);  // nor kNoRegister
  }
}

void Run::popOutResults(const uint32_t* results, uint32_t count) {
  if (stack_.size() != count) [[unlikely]]
    reportResults(count);
  c10::IValue* regs = registers_.data() + frames_.back().base;
  for (uint32_t i = 0; i < count; ++i) {
    if (results[i] == kNoRegister)
      release(stack_[i]);
    else if (results[i] & kBorrowedBit)
      memory_->replace(results[i] & kIndexMask, std::move(stack_[i]));
    else
      new (&regs[results[i]]) c10::IValue(std::move(stack_[i]));
  }
  stack_.clear();
}

}  // namespace cresset
