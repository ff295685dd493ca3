// "Did you mean": the known name that is most like a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cresset {

/// How many letters must be put in, left out, replaced or swapped with the next to make one of the other; `limit + 1`
/// if it is more than `limit`.
size_t editDistance(std::string_view a, std::string_view b, size_t limit);

/// "append" for "apend"; "" if no candidate is like it.
std::string similarName(std::string_view name, std::span<const std::string> candidates);
/// "; did you mean 'append'?", or "".
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

}  // namespace cresset
