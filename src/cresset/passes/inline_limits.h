// What limits code may be inlined under.
#pragma once

#include "cresset/ops/limits.h"

namespace cresset {

/// While this lives, calls are inlined on this thread for a program with these limits: functions of programs with other
/// ones stay calls, since a call is what their limits hold for. Without a scope, functions with limits stay calls.
class InliningUnder {
 public:
  explicit InliningUnder(const Limits& limits);
  ~InliningUnder();
  InliningUnder(const InliningUnder&) = delete;
  InliningUnder& operator=(const InliningUnder&) = delete;

 private:
  Limits previous_;
};

}  // namespace cresset
