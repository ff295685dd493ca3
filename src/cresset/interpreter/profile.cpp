// Events for torch.profiler. See profile.h.
#include "cresset/interpreter/profile.h"

#include <torch/csrc/profiler/orchestration/observer.h>

namespace cresset {

namespace {

std::unique_ptr<at::RecordFunction> eventOf(const Code& code) {
  auto event = std::make_unique<at::RecordFunction>(at::RecordScope::TORCHSCRIPT_FUNCTION);
  if (event->isActive()) event->before(std::string_view(code.name));
  return event;
}

std::string lineName(const Code& code, const Instruction& instruction) {
  const SourceRange range = code.origin(&instruction);
  if (!range) return code.name;
  const std::string& file = range.source->name();
  return (file.empty() ? "<string>" : file) + "(" + std::to_string(range.source->lineNumber(range.begin)) +
         "): " + code.name;
}

}  // namespace

ScriptProfile::ScriptProfile() : with_lines_(false) {
  using torch::profiler::impl::ProfilerStateBase;
  if (ProfilerStateBase* state = ProfilerStateBase::get()) with_lines_ = state->config().with_stack;
}

void ScriptProfile::enter(const Code& code) {
  frames_.push_back(eventOf(code));
}

void ScriptProfile::leave() {
  if (!frames_.empty()) frames_.pop_back();
}

ScriptProfile::~ScriptProfile() {
  while (!frames_.empty()) frames_.pop_back();
}

ScriptProfile::Operation::Operation(
    const ScriptProfile& profile, const Code& code, const Instruction& instruction, const Operator& op,
    std::span<const c10::IValue> inputs) {
  if (profile.with_lines_) {
    line_name_ = lineName(code, instruction);
    line_.emplace(at::RecordScope::TORCHSCRIPT_FUNCTION);
    if (line_->isActive()) line_->before(std::string_view(line_name_));
  }
  if (op.isOfDispatcher()) return;
  op_.emplace(at::RecordScope::FUNCTION);
  if (!op_->isActive()) return;
  const auto& schema = std::cref(op.schema());
  if (op_->needsInputs()) {
    op_->before(schema, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
  } else {
    op_->before(schema);
  }
}

}  // namespace cresset
