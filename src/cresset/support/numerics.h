// Which bits programs may return: the option `numerics`, and calls that want eager PyTorch's whatever it says.
#pragma once

namespace cresset {

/// While one lives, plans that this thread makes, and operators that it runs, have eager PyTorch's bits.
class ExactNumerics {
 public:
  ExactNumerics() noexcept;
  ~ExactNumerics();
  ExactNumerics(const ExactNumerics&) = delete;
  ExactNumerics& operator=(const ExactNumerics&) = delete;

 private:
  const bool before_;
};

/// By the option, or because this thread has an ExactNumerics.
bool wantsExactNumerics() noexcept;

}  // namespace cresset
