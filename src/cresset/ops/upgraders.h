// Upgraders: what operators meant in older file formats of archives, where that differs from what they mean now.
//
// A call in the code of an old archive is matched against the operator's historic schema, and becomes a call of a
// function, written here in TorchScript on top of today's operators. The facts are torch's version map; an operator
// that changed twice would have two rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cresset {

struct Upgrader {
  std::string_view op;      // full name of the operator: "aten::div.Tensor"
  int64_t since;            // the first file format in which the operator means what it means today
  std::string_view schema;  // as it was before
  std::string_view name;    // of the function
  std::string_view code;    // its parameters are the schema's arguments, in order
};

/// In the order in which schema matching tries them.
std::span<const Upgrader> upgraders();

}  // namespace cresset
