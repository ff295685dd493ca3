#include "cresset/analysis/fact_functions.h"

#include <algorithm>
#include <unordered_map>

#include "cresset/ops/row_helpers.h"

namespace cresset {

namespace fact_functions {

Fact argument(Facts a, size_t i) {
  return i < a.size() ? a[i] : Fact::none();
}

std::optional<at::ScalarType> dtypeOf(const Fact& t) {
  if (t.kind == Kind::Int && t.number && isScalarType(*t.number)) return static_cast<at::ScalarType>(*t.number);
  return t.isTensor() || t.kind == Kind::Dtype ? t.dtype : std::nullopt;
}

std::optional<Sizes> sizesOf(const Fact& s) {
  switch (s.kind) {
    case Kind::Int:
    case Kind::Float:
    case Kind::Bool:
    case Kind::Complex:
      return Sizes();
    case Kind::Tensor:
      return s.has_sizes ? std::optional(s.elements) : std::nullopt;
    case Kind::List:
      return s.elements;
    default:
      return std::nullopt;
  }
}

Size product(const Sizes& sizes) {
  Size all = Size::constant(1);
  for (const Fact& size : sizes) all = all * size.asSize();
  return all;
}

Fact anyInt() {
  return Fact::integer(std::nullopt);
}

Fact unknownSizes(size_t rank) {
  return Fact::list(Sizes(rank, anyInt()));
}

std::optional<size_t> wrapped(const Fact& dim, size_t rank) {
  const auto number = dim.asNumber();
  const auto size = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (!number || *number < -size || *number >= size) return std::nullopt;
  return static_cast<size_t>(*number < 0 ? *number + size : *number);
}

}  // namespace fact_functions

FactFunction factFunction(std::string_view name) {
  namespace themes = fact_functions;
  static const auto* functions = [] {
    auto* all = new std::unordered_map<std::string_view, FactFunction>;
    for (const auto theme : {themes::ofTensors(), themes::ofDtypes(), themes::ofSizes(), themes::ofDimensions()}) {
      for (const themes::Function& function : theme) all->emplace(function.name, function.compute);
    }
    return all;
  }();
  const auto found = functions->find(name);
  return found == functions->end() ? nullptr : found->second;
}

}  // namespace cresset
