#include "cresset/interpreter/hot_loops.h"

#include <algorithm>

#include "cresset/interpreter/run.h"

namespace cresset {

namespace {

/// How often the clock is looked at before a plan is asked for: each time stands for 8 operators of the dispatcher or
/// 256 scalar instructions, so that making a plan costs about as much as was spent already.
constexpr uint32_t kHotPolls = 64;

}  // namespace

int Run::countHotPoll(int budget) {
  // The next back-edge is to come here at once.
  return ++hot_polls_ >= kHotPolls && !frames_.back().code->loops.empty() ? 1 : budget;
}

bool Run::enterPlan(uint32_t target) {
  if (hot_polls_ < kHotPolls) return false;
  hot_polls_ = 0;
  Frame& frame = frames_.back();
  const Code& code = *frame.code;
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
