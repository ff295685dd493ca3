#include "cresset/interpreter/bailout.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <charconv>

#include "cresset/interpreter/run.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

constexpr uint64_t packed(FailingGuard failing) {
  return uint64_t(uint32_t(failing.index)) << 32 | uint32_t(failing.every);
}

/// "2", "2:3"; "" for none.
FailingGuard parseFailingGuard(const std::string& text) {
  FailingGuard failing;
  if (text.empty()) return failing;
  const char* end = text.data() + text.size();
  std::from_chars_result read = std::from_chars(text.data(), end, failing.index);
  if (read.ec == std::errc() && read.ptr != end && *read.ptr == ':')
    read = std::from_chars(read.ptr + 1, end, failing.every);
  if (read.ec != std::errc() || read.ptr != end || failing.index < 0 || failing.every < 1)
    throw UserError("The option fail_guard is INDEX or INDEX:EVERY, as in 2 or 2:3, not '" + text + "'.");
  return failing;
}

const OptionHook fail_guard_hook(Option::fail_guard, [](const std::string& text) {
  detail::failing_guard.store(packed(parseFailingGuard(text)), std::memory_order_relaxed);
});

}  // namespace

constinit std::atomic<uint64_t> detail::failing_guard{packed({})};

void setFailingGuard(FailingGuard failing) {
  setOption(
      Option::fail_guard,
      failing.index < 0 ? std::string() : std::to_string(failing.index) + ":" + std::to_string(failing.every));
}

const Code& DeoptimizationTarget::code() const {
  const std::lock_guard lock(mutex_);
  if (!code_) code_ = emitCode(*graph_, name_, program_);
  return *code_;
}

BailOutSite::BailOutSite(
    size_t index, const std::vector<GuardedValue>& values, std::shared_ptr<const DeoptimizationTarget> target,
    std::shared_ptr<std::atomic<bool>> revise)
    : index_(index), target_(std::move(target)), revise_(std::move(revise)) {
  for (const GuardedValue& value : values) values_.emplace_back(value);
}

std::optional<ValueKind> BailOutSite::promised(size_t value) const {
  const uint64_t word = values_[value].promised;
  return word == kNothing ? std::nullopt : std::optional(ValueKind::of(word));
}

bool BailOutSite::promisesAny() const {
  return std::any_of(values_.begin(), values_.end(), [](const Watched& value) { return value.promised != kNothing; });
}

bool BailOutSite::mustFailNow() {
  const FailingGuard failing = failingGuard();
  return failing.index == static_cast<int>(index_) &&
         (visits_.fetch_add(1, std::memory_order_relaxed) + 1) % failing.every == 0;
}

void BailOutSite::Watched::see(uint64_t word) {
  uint64_t before = kNothing;
  if (!seen.compare_exchange_strong(before, word, std::memory_order_relaxed) && before != word)
    seen.store(kVaries, std::memory_order_relaxed);
}

std::optional<ValueKind> BailOutSite::observed(size_t value) const {
  const uint64_t seen = values_[value].seen.load(std::memory_order_relaxed);
  if (seen == kNothing || seen == kVaries) return std::nullopt;
  return ValueKind::of(seen);
}

const Code& BailOutSite::fail() {
  if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 == kMaxFailures && promisesAny())
    revise_->store(true, std::memory_order_release);
  return target_->code();
}

void Run::bailOut(const Instruction& instruction) {
  Frame& frame = frames_.back();
  const Code& target = frame.code->guards[instruction.b]->fail();
  const uint32_t* operands = frame.code->pool.data() + instruction.a + instruction.n;
  CRESSET_CHECK(target.num_inputs == instruction.c, target.name);
  for (uint32_t i = 0; i < instruction.c; ++i) stack_.push_back(take(operands[i]));
  clearRegisters(frame);
  registers_.require(frame.base + target.num_registers);
  c10::IValue* regs = registers_.data() + frame.base;
  for (uint32_t i = 0; i < instruction.c; ++i) new (&regs[i]) c10::IValue(std::move(stack_[i]));
  stack_.clear();
  frame.code = &target;
  frame.pc = target.instructions.data();
}

}  // namespace cresset
