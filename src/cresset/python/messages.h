// Messages of errors that the extension has at several places, each written once. What one place says alone stands
// there.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <string>

namespace cresset::messages {

inline std::string attributeCast(const std::string& name, const c10::Type& type, const std::string& reason) {
  return "Could not cast attribute '" + name + "' to type " + type.repr_str() + ": " + reason;
}

}  // namespace cresset::messages
