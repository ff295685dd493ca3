#include "cresset/interpreter/hot_loops.h"

#include <algorithm>

#include "cresset/interpreter/run.h"

namespace cresset {

int Run::countHotPoll(int budget) {
  // The next back-edge is to come here at once: of the frame, or of one that called it. If it were left to chance, a
  // loop whose operators are in functions that it calls could take its polls there, and never at a back-edge.
  constexpr size_t kCallers = 16;
  ++hot_polls_;
  for (size_t i = 0; i < std::min(kCallers, frames_.size()); ++i) {
    const Code& code = *frames_[frames_.size() - 1 - i].code;
    if (!code.loops.empty()) return hot_polls_ >= code.hot_loops->num_polls ? 1 : budget;
  }
  return budget;
}

bool Run::enterPlan(uint32_t target) {
  Frame& frame = frames_.back();
  const Code& code = *frame.code;
  if (hot_polls_ < code.hot_loops->num_polls) return false;
  hot_polls_ = 0;
  // Open `with`s of the frame are not part of its code's values; runs that are observed look at each operator.
  if (observed_ || handlers_.size() > frame.num_handlers) return false;
  const auto entry =
      std::find_if(code.loops.begin(), code.loops.end(), [&](const LoopEntry& loop) { return loop.start == target; });
  if (entry == code.loops.end()) return false;
  const auto* needed = code.hot_loops->needed(*entry);
  if (!needed) return false;
  const c10::IValue* held = registers_.data() + frame.base;
  Stack values;
  for (uint32_t reg : *needed) values.push_back(held[reg]);
  const std::shared_ptr<const Code> plan = code.hot_loops->enter(*entry, values);
  if (!plan) return false;
  CRESSET_CHECK(plan->num_inputs == values.size(), plan->name);
  clearRegisters(frame);
  registers_.require(frame.base + plan->num_registers);
  c10::IValue* regs = registers_.data() + frame.base;
  for (size_t i = 0; i < values.size(); ++i) new (&regs[i]) c10::IValue(std::move(values[i]));
  frame.code = plan.get();
  frame.pc = plan->instructions.data();
  if (std::find(entered_.begin(), entered_.end(), plan) == entered_.end()) entered_.push_back(plan);
  return true;
}

}  // namespace cresset
