// Functions that derivative rules share, in the script language (autodiff/derivatives.def).
#pragma once

#include <string_view>

namespace cresset {

extern const std::string_view kFormulas;

}  // namespace cresset
