// The inference modes that scripts enter and leave: with torch.inference_mode().
//
// Thread-safety: each thread has its own.
#pragma once

#include <atomic>

namespace cresset {

class ScriptInferenceModes {
 public:
  /// Throws if they nest too deep.
  static void enter(bool mode);
  /// Restores what was before the last one. Throws if there is none.
  static void exit();
  /// At the end of the outermost run on a thread: those that the program has not left.
  static void exitAll() {
    if (num_entered_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      exitAllOfThread();
  }

 private:
  static void exitAllOfThread();
  static inline std::atomic<int> num_entered_{0};  // on all threads
};

}  // namespace cresset
