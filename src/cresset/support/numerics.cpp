#include "cresset/support/numerics.h"

#include "cresset/support/options.h"

namespace cresset {

namespace {
thread_local bool exact = false;
}  // namespace

ExactNumerics::ExactNumerics() noexcept : before_(exact) {
  exact = true;
}

ExactNumerics::~ExactNumerics() {
  exact = before_;
}

bool wantsExactNumerics() noexcept {
  return exact || options::numerics() == Numerics::Exact;
}

}  // namespace cresset
