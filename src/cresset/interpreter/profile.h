// A run as torch.profiler sees it, through at::RecordFunction.
//
// Each frame is an event with the function's name, each call of a row of Cresset's own one with the operator's schema
// (those of the dispatcher record themselves). Where the profiler records stacks, each operation lies in an event
// "model.py(7): forward", the form that its tools know from Python's lines.
#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/interpreter/code.h"

namespace cresset {

class ScriptProfile {
 public:
  /// Whether a profiler records on this thread. Asked once per run: what starts while it runs sees the next one.
  static bool isWanted() { return at::getStepCallbacksUnlessEmpty(at::RecordScope::TORCHSCRIPT_FUNCTION).has_value(); }
  ScriptProfile();
  /// Ends the events that are open: they belong to this thread, and a suspended run continues elsewhere.
  ~ScriptProfile();
  ScriptProfile(const ScriptProfile&) = delete;
  ScriptProfile& operator=(const ScriptProfile&) = delete;

  void enter(const Code& code);
  void leave();

  /// The events around one operation.
  class Operation {
   public:
    Operation(
        const ScriptProfile& profile, const Code& code, const Instruction& instruction, const Operator& op,
        std::span<const c10::IValue> inputs);

   private:
    std::string line_name_;  // outlives line_, which refers to it
    std::optional<at::RecordFunction> line_, op_;
  };

 private:
  std::vector<std::unique_ptr<at::RecordFunction>> frames_;
  bool with_lines_;
};

}  // namespace cresset
