// What rows share: making lists, slice bounds.
#include "cresset/ops/row_helpers.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>

namespace cresset {

IValue newStringList(std::vector<std::string> elements) {
  std::vector<IValue> values;
  values.reserve(elements.size());
  for (auto& element : elements) values.emplace_back(std::move(element));
  return newList(std::move(values), c10::StringType::get());
}

IValue newIntList(at::IntArrayRef elements) {
  return newList(std::vector<IValue>(elements.begin(), elements.end()), c10::IntType::get());
}

SliceRange sliceRange(size_t size, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  if (step == 0) fail("List slice should have non-zero step");
  if (step == std::numeric_limits<int64_t>::min()) fail("List slice step is out of bounds");
  auto n = static_cast<int64_t>(size);
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  auto clamp = [&](std::optional<int64_t> bound, int64_t missing) {
    if (!bound) return missing;
    int64_t v = *bound < 0 ? (*bound < -n ? -1 : *bound + n) : *bound;
    return std::clamp(v, low, high);
  };
  int64_t from = clamp(start, step > 0 ? low : high);
  int64_t to = clamp(end, step > 0 ? high : low);
  if (start && *start < -n) from = low;
  if (end && *end < -n) to = low;
  uint64_t distance = step > 0 ? (to > from ? static_cast<uint64_t>(to - from) : 0)
                               : (from > to ? static_cast<uint64_t>(from - to) : 0);
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  int64_t count = distance ? static_cast<int64_t>(1 + (distance - 1) / stride) : 0;
  return {from, step, count};
}

at::ScalarType scalarTypeOf(int64_t number) {
  if (!isScalarType(number)) fail("The number " + std::to_string(number) + " is no dtype");
  return static_cast<at::ScalarType>(number);
}

bool isScalarType(int64_t number) {
  return number >= 0 && number < static_cast<int64_t>(at::ScalarType::NumOptions) &&
         number != static_cast<int64_t>(at::ScalarType::Undefined);
}

}  // namespace cresset
