#include "cresset/ops/inference_modes.h"

#include <c10/core/InferenceMode.h>

#include <memory>
#include <vector>

#include "cresset/ops/nesting.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

/// Of this thread; each restores what was before when it goes.
std::vector<std::unique_ptr<c10::InferenceMode>>& entered() {
  static thread_local std::vector<std::unique_ptr<c10::InferenceMode>> modes;
  return modes;
}

}  // namespace

void ScriptInferenceModes::enter(bool mode) {
  if (entered().size() >= kMaxValueNesting) raise("RecursionError", "inference modes nest too deep");
  entered().push_back(std::make_unique<c10::InferenceMode>(mode));
  num_entered_.fetch_add(1, std::memory_order_relaxed);
}

void ScriptInferenceModes::exit() {
  if (entered().empty()) raise("RuntimeError", "exit_inference_mode without enter_inference_mode");
  entered().pop_back();
  num_entered_.fetch_sub(1, std::memory_order_relaxed);
}

void ScriptInferenceModes::exitAllOfThread() {
  while (!entered().empty()) exit();
}

}  // namespace cresset
