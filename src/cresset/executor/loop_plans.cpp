#include "cresset/executor/loop_plans.h"

#include <algorithm>

#include "cresset/executor/mode.h"
#include "cresset/executor/rest_of_program.h"
#include "cresset/interpreter/profile.h"
#include "cresset/ops/limits.h"

namespace cresset {

LoopPlans::LoopPlans(Function& function) : function_(function) {
  num_polls = loopsAlways() ? 1 : static_cast<uint32_t>(options::hot_loop());
}

const std::vector<uint32_t>* LoopPlans::needed(const LoopEntry& entry) const {
  if (executionMode() != ExecutionMode::Optimize || !getGraphExecutorOptimize()) return nullptr;
  if (threadLimits().any() || ScriptProfile::isWanted()) return nullptr;
  const Loop* loop = loopOf(entry);
  return loop && loop->plans ? &loop->registers : nullptr;
}

std::shared_ptr<const Code> LoopPlans::enter(const LoopEntry& entry, Stack& values) const {
  const Loop* loop = loopOf(entry);
  WithoutPlan why;
  const PlanPtr plan = loop->plans->planFor(values, why);
  if (!plan) return nullptr;
  entered_.fetch_add(1, std::memory_order_relaxed);
  return plan->code;
}

const LoopPlans::Loop* LoopPlans::loopOf(const LoopEntry& entry) const {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find(entry.loop);
  if (found != loops_.end()) return found->second.get();
  if (loops_.size() >= kMaxLoops) return nullptr;
  return (loops_[entry.loop] = make(entry)).get();
}

std::unique_ptr<LoopPlans::Loop> LoopPlans::make(const LoopEntry& entry) const {
  auto loop = std::make_unique<Loop>();
  const Block* body = entry.loop->blocks()[0];
  const RestOfProgram rest = restOfProgram(body->paramNode());
  for (const Value* value : rest.taken) {
    while (value->node()->kind() == prim::unchecked_cast) value = value->node()->input(size_t(0));  // one variable
    const auto held = std::find_if(
        entry.held.begin(), entry.held.end(), [&](const auto& pair) { return pair.first == value->unique(); });
    if (held == entry.held.end()) return loop;
    loop->registers.push_back(held->second);
  }
  loop->plans = std::make_unique<PlanSet>(
      function_, [this, graph = rest.graph] { return prepareGraph(function_, graph->copy()); },
      size_t(options::plans_per_loop()));
  return loop;
}

std::vector<std::pair<const Node*, const PlanSet*>> LoopPlans::loops() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<const Node*, const PlanSet*>> all;
  for (const auto& [node, loop] : loops_) {
    if (loop->plans) all.emplace_back(node, loop->plans.get());
  }
  return all;
}

}  // namespace cresset
