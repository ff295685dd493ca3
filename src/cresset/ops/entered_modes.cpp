#include "cresset/ops/entered_modes.h"

#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>

#include <memory>
#include <utility>

#include "cresset/ops/nesting.h"
#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace {

namespace autocast = at::autocast;

struct AutocastState {
  c10::DeviceType device;
  bool enabled;
  at::ScalarType dtype;
  bool caches;

  static AutocastState of(c10::DeviceType device) {
    return {
        device, autocast::is_autocast_enabled(device), autocast::get_autocast_dtype(device),
        autocast::is_autocast_cache_enabled()};
  }
  /// At the end of a block.
  void restore() const {
    if (autocast::decrement_nesting() == 0) autocast::clear_cache();
    autocast::set_autocast_enabled(device, enabled);
    autocast::set_autocast_dtype(device, dtype);
    autocast::set_autocast_cache_enabled(caches);
  }
};

/// Of a thread, innermost last. An inference mode restores what was before when it goes.
struct Modes {
  std::vector<std::unique_ptr<c10::InferenceMode>> inference;
  std::vector<AutocastState> autocast;
};

Modes& modesOfThread() {
  static thread_local Modes modes;
  return modes;
}

at::ScalarType autocastDtype(int64_t number) {
  const auto dtype = static_cast<at::ScalarType>(number);
  if (number < 0 || number >= static_cast<int64_t>(at::ScalarType::Undefined) || !c10::isFloatingType(dtype))
    raise("RuntimeError", "autocast expects a floating dtype, not the number " + std::to_string(number));
  return dtype;
}

}  // namespace

void EnteredModes::count() {
  const Modes& modes = modesOfThread();
  if (modes.inference.size() + modes.autocast.size() >= kMaxValueNesting)
    raise("RecursionError", "modes of the thread nest too deep");
  num_entered_.fetch_add(1, std::memory_order_relaxed);
}

void EnteredModes::enterInferenceMode(bool mode) {
  count();
  modesOfThread().inference.push_back(std::make_unique<c10::InferenceMode>(mode));
}

void EnteredModes::exitInferenceMode() {
  auto& modes = modesOfThread().inference;
  if (modes.empty()) raise("RuntimeError", "exit_inference_mode without enter_inference_mode");
  modes.pop_back();
  num_entered_.fetch_sub(1, std::memory_order_relaxed);
}

std::vector<int64_t> EnteredModes::enterAutocast(
    const std::string& device_type, const c10::IValue& dtype, bool enabled, const c10::IValue& caches) {
  const c10::DeviceType device = c10::Device(device_type).type();
  const AutocastState previous = AutocastState::of(device);
  const at::ScalarType wanted = dtype.isNone() ? previous.dtype : autocastDtype(dtype.toInt());
  count();
  modesOfThread().autocast.push_back(previous);
  autocast::set_autocast_enabled(device, enabled);
  autocast::set_autocast_dtype(device, wanted);
  if (!caches.isNone()) autocast::set_autocast_cache_enabled(caches.toBool());
  autocast::increment_nesting();
  return {previous.enabled, static_cast<int64_t>(previous.dtype), previous.caches};
}

void EnteredModes::exitAutocast(const std::string& device_type, const std::vector<int64_t>& previous) {
  if (previous.size() != 3) raise("RuntimeError", "exit_autocast expects what enter_autocast returned");
  const AutocastState state{
      c10::Device(device_type).type(), previous[0] != 0, autocastDtype(previous[1]), previous[2] != 0};
  auto& modes = modesOfThread().autocast;
  if (modes.empty()) raise("RuntimeError", "exit_autocast without enter_autocast");
  modes.pop_back();
  num_entered_.fetch_sub(1, std::memory_order_relaxed);
  state.restore();
}

void EnteredModes::exitAllOfThread() {
  Modes& modes = modesOfThread();
  while (!modes.inference.empty()) exitInferenceMode();
  while (!modes.autocast.empty()) {
    modes.autocast.back().restore();
    modes.autocast.pop_back();
    num_entered_.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace cresset
