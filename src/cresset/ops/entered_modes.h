// The modes of a thread that scripts enter and leave: `with torch.inference_mode()`, `with torch.autocast(...)`. They
// end with the outermost run on the thread at the latest, whatever the program does.
//
// Thread-safety: each thread has its own.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace cresset {

class EnteredModes {
 public:
  static void enterInferenceMode(bool mode);
  /// Restores what was before the last one. Throws if there is none.
  static void exitInferenceMode();

  /// `dtype` and `caches` may be None, which changes nothing. What was before, for exitAutocast.
  static std::vector<int64_t> enterAutocast(
      const std::string& device_type, const c10::IValue& dtype, bool enabled, const c10::IValue& caches);
  static void exitAutocast(const std::string& device_type, const std::vector<int64_t>& previous);

  /// At the end of the outermost run on a thread: those that the program has not left.
  static void exitAll() {
    if (num_entered_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      exitAllOfThread();
  }

 private:
  static void exitAllOfThread();
  static void count();
  static inline std::atomic<int> num_entered_{0};  // on all threads
};

}  // namespace cresset
