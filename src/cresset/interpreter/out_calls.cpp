// Calls of out variants.
#include "cresset/interpreter/out_variant.h"

#include <c10/util/SmallVector.h>

#include "cresset/interpreter/operation_times.h"
#include "cresset/interpreter/run.h"
#include "cresset/support/error.h"

namespace cresset {

void Run::callOut(const Instruction& instruction) {
  const Code& code = *frames_.back().code;
  const OutSite& site = code.out_sites[instruction.b];
  c10::IValue* regs = registers_.data() + frames_.back().base;
  const uint32_t* results = code.pool.data() + instruction.a;
  const uint32_t num_results = instruction.n;
  const BorrowedOperands inputs = borrowOperands(results + num_results, instruction.c);
  if (memory_->isWatched()) [[unlikely]]
    memory_->beforeCall(site.index);
  c10::SmallVector<at::Tensor, 2> own;  // results that lie in no slot
  c10::SmallVector<at::Tensor*, 4> outputs;
  own.reserve(num_results);
  for (uint32_t i = 0; i < num_results; ++i)
    outputs.push_back(site.slots[i] == OutSite::kNoSlot ? &own.emplace_back() : &memory_->slot(site.slots[i]));
  const OperationTimes::Operation timed(times_, code, instruction);
  const bool in_place = site.variant->call(OutArguments(inputs, outputs), stack_);
  timed.end();
  if (!in_place) return popResults(results, num_results);
  for (uint32_t i = 0; i < num_results; ++i) {
    if (results[i] != kNoRegister) new (&regs[results[i]]) c10::IValue(*outputs[i]);
  }
}

}  // namespace cresset
