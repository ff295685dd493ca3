// Functions that derivative rules share, in the script language (ops/table), by theme.
//
// Loops over dimensions are unrolled where ranks are known, which they mostly are; what is asked of a tensor by size()
// or numel() only is kept instead of the tensor.
#pragma once

#include <string>
#include <string_view>

namespace cresset {

namespace formulas {

extern const std::string_view kElements;
extern const std::string_view kMatrices;
extern const std::string_view kShapes;
extern const std::string_view kLayers;
extern const std::string_view kLosses;

}  // namespace formulas

/// All of them, as one source.
std::string allFormulas();

}  // namespace cresset
