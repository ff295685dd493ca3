// How the clients print: every bit of a number, so that outputs can be compared.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdio>
#include <string>

inline void print(const std::string& name, double value) {
  std::printf("%s %a\n", name.c_str(), value);
}

inline void print(const std::string& name, const at::Tensor& tensor) {
  std::printf("%s %s [", name.c_str(), c10::toString(tensor.scalar_type()));
  for (int64_t size : tensor.sizes()) std::printf(" %lld", static_cast<long long>(size));
  std::printf(" ]");
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  const double* values = flat.const_data_ptr<double>();
  for (int64_t i = 0; i < flat.numel(); ++i) std::printf(" %a", values[i]);
  std::printf("\n");
}
