// Functions that derivative rules share, in the script language (ops/table).
#pragma once

#include <string_view>

namespace cresset {

extern const std::string_view kFormulas;

}  // namespace cresset
